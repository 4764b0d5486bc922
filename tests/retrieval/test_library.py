"""Corpora have plain names, and nothing leads out of the folder that holds them."""

import pytest
from tests.tables import each_row

from polyclinic.errors import BadInput, UserError
from polyclinic.retrieval.corpus import Corpus
from polyclinic.retrieval.library import Library, find_corpus


@each_row(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "/etc",
        "a/b",
        "a\\b",
        "-x",
        ".hidden",
        "_x",
        "a b",
        "a\n",
        "x" * 65,
        "x" * 5000,
        "\U00020000" * 64,
        "a\x1b[31m",
        "a\0",
        "a.",
        "~",
        "a:b",
    ],
)
def test_a_name_that_is_no_plain_one(tmp_path, name):
    with pytest.raises(UserError, match="is no name of a corpus") as refused:
        Library(tmp_path / "corpora").place(name)
    assert len(str(refused.value)) < 300 and str(refused.value).isprintable()


def test_corpora_are_kept_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    library = Library()
    assert library.folder == tmp_path / "polyclinic" / "corpora"
    assert list(library.names()) == []
    for name in ("书", "book-2.1"):
        Corpus(library.place(name)).close()
    (library.folder / "letters").mkdir()
    assert list(library.names()) == ["book-2.1", "书"]
    assert find_corpus("书") == find_corpus(str(library.folder / "书")) == library.find("书")
    library.remove("书")
    with pytest.raises(
        UserError, match=r"no corpus '书' .* there are: book-2.1; make it with: polyclinic corpus add 书 FILE"
    ):
        find_corpus("书")
    with pytest.raises(UserError, match="corpus add knowledge knowledge"):
        find_corpus("knowledge")
    with pytest.raises(UserError, match=r"no corpus 'letters'"):
        library.remove("letters")
    with pytest.raises(BadInput, match="no corpus is here"):
        find_corpus(str(tmp_path / "nowhere"))
    for path in ("/" + "x" * 5000, "~nobody-of-that-name/x"):
        with pytest.raises(BadInput, match="cannot be used"):
            find_corpus(path)


def test_a_link_is_not_followed(tmp_path):
    Corpus(tmp_path / "elsewhere").close()
    library = Library(tmp_path / "corpora")
    library.folder.mkdir()
    (library.folder / "book").symlink_to(tmp_path / "elsewhere")
    assert list(library.names()) == []
    with pytest.raises(BadInput, match="this is a link"):
        library.remove("book")
    assert (tmp_path / "elsewhere" / "corpus.sqlite").is_file()
