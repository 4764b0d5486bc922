"""`polyclinic corpus` as a user meets it."""

import json

import pytest
from tests.tables import each_row

BOOK = [
    {"id": "gout", "title": "Gout", "text": "A red and swollen toe."},
    {"id": "asthma", "title": "Asthma", "text": "Wheezing at night."},
]


@pytest.fixture(autouse=True)
def _libraries():
    for name in ("tantivy", "rjieba", "wordllama"):
        pytest.importorskip(name, reason=f"{name} of the extra 'retrieval' is not installed")


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "book.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in BOOK))
    return path


@pytest.fixture
def home(tmp_path):
    return {"XDG_DATA_HOME": str(tmp_path / "home")}


@pytest.mark.slow
def test_from_a_file_to_an_answer_and_away_again(run, book, home, tmp_path):
    added = json.loads(run("corpus", "add", "book", book, "--json", env=home).stdout)
    assert (added["passages"], added["new"], added["embedded"]) == (2, 2, 0)
    assert added["folder"] == str(tmp_path / "home" / "polyclinic" / "corpora" / "book")
    for by in ("bm25", "dense", "hybrid"):
        found = json.loads(
            run("corpus", "search", "book", "swollen toe", "--limit", 1, "--by", by, "--json", env=home).stdout
        )
        assert found == [{"id": "gout", "score": found[0]["score"], "title": "Gout", "text": "A red and swollen toe."}]
    shown = run("corpus", "search", "book", "swollen toe", env=home).stdout
    assert shown.startswith("1. Gout") and "A red and swollen toe." in shown
    assert "nothing in book" in run("corpus", "search", "book", "zebra", env=home).stdout
    assert json.loads(run("corpus", "search", "book", "zebra", "--json", env=home).stdout) == []
    again = run("corpus", "add", "book", book, env=home).stdout
    assert "0 passages added, 0 changed, 2 there already; 2 in all, 2 with vectors" in again
    listed = json.loads(run("corpus", "search", "--json", env=home).stdout)
    assert [(one["name"], one["passages"], one["embedder"]) for one in listed] == [("book", 2, "wordllama")]
    assert "1 corpus in" in run("corpus", "search", env=home).stdout
    assert "1 passage removed, 1 left" in run("corpus", "remove", "book", "gout", env=home).stdout
    assert json.loads(run("corpus", "remove", "book", "--json", env=home).stdout)["removed"] == 1
    assert "0 corpora in" in run("corpus", "search", env=home).stdout
    assert not (tmp_path / "home" / "polyclinic" / "corpora" / "book").exists()


def test_files_of_one_name_stand_beside_one_another_and_one_that_changed_is_replaced(run, home, tmp_path):
    for folder, text in (("a", "Gout of the toe.\n\n# B\n\nAsthma."), ("b", "Migraine.")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "notes.md").write_text(text)

    def ids():
        found = run("corpus", "search", "n", "gout asthma migraine angina", "--json", env=home).stdout
        return sorted(one["id"] for one in json.loads(found))

    run("corpus", "add", "n", "a/notes.md", env=home, cwd=tmp_path)
    run("corpus", "add", "n", "notes.md", env=home, cwd=tmp_path / "b")
    assert ids() == ["b/notes.md-1", "notes.md-1", "notes.md-2"]
    (tmp_path / "a" / "notes.md").write_text("Angina.")
    told = run("corpus", "add", "n", "a/notes.md", env=home, cwd=tmp_path).stdout
    assert "0 passages added, 1 changed, 0 there already, 1 taken out that their file no longer holds; 2 in all" in told
    assert ids() == ["b/notes.md-1", "notes.md-1"]
    assert "1 passage removed, 1 left" in run("corpus", "remove", "n", "b/notes.md", env=home).stdout


def test_a_broken_corpus_hides_no_other_and_can_be_removed(run, complaint, book, home, tmp_path):
    for name in ("a", "b"):
        run("corpus", "add", name, book, env=home)
    (tmp_path / "home" / "polyclinic" / "corpora" / "a" / "corpus.sqlite").write_bytes(b"broken" * 99)
    listed = run("corpus", "search", "--json", env=home)
    assert [(one["name"], one["passages"]) for one in json.loads(listed.stdout)] == [("a", None), ("b", 2)]
    assert "cannot be used as a corpus" in listed.stderr and listed.stderr.count("\n") == 1
    assert "2 corpora in" in run("corpus", "search", env=home).stdout
    assert "cannot be used as a corpus" in complaint("corpus", "remove", "a", "gout", env=home)
    run("corpus", "remove", "a", env=home)
    assert [one["name"] for one in json.loads(run("corpus", "search", "--json", env=home).stdout)] == ["b"]


def test_a_library_of_ones_own_and_an_embedder_at_once(run, book, tmp_path):
    known = json.loads(
        run("corpus", "add", "b", book, "--library", tmp_path / "shelf", "--embedder", "wordllama", "--json").stdout
    )
    assert known["embedded"] == 2 and known["folder"] == str(tmp_path / "shelf" / "b")
    known = json.loads(run("corpus", "add", "b", "--rebuild", "--library", tmp_path / "shelf", "--json").stdout)
    assert (known["passages"], known["embedded"]) == (2, 0)
    found = run("corpus", "search", "b", "toe", "--library", tmp_path / "shelf", "--json").stdout
    assert [one["id"] for one in json.loads(found)] == ["gout"]


@pytest.mark.slow
def test_vectors_of_an_endpoint(run, complaint, book, serving, home, tmp_path):
    home |= {"OPENAI_API_KEY": "a-key-that-nobody-may-see", "OPENAI_BASE_URL": ""}
    missing = complaint("corpus", "add", "book", book, "--embedder", "direct/e5", env=home)
    assert "direct/e5 makes the vectors, and nobody said at which address; say so: --base-url URL" in missing
    wrong = complaint("corpus", "add", "book", book, "--embedder", "direct/e5", "--base-url", "x", env=home)
    assert "is no address of an endpoint" in wrong
    two = "http://127.0.0.1:1/v1,http://127.0.0.1:2/v1"
    wrong = complaint("corpus", "add", "book", book, "--embedder", "direct/e5", "--base-url", two, env=home)
    assert "is several addresses in one; name each by itself" in wrong
    assert json.loads(run("corpus", "search", "--json", env=home).stdout) == []
    search = ("corpus", "search", "book", "--by", "dense", "--limit", 1, "--json")
    with serving() as endpoint, serving() as elsewhere:
        run("corpus", "add", "book", book, "--embedder", "direct/e5", "--base-url", endpoint.url, env=home)
        asked = len(endpoint.bodies)
        # The address is kept; another that is general, or given for once, gives way, and one that is given comes first.
        general = home | {"OPENAI_BASE_URL": elsewhere.url}
        assert json.loads(run(*search, "wheezing", env=general).stdout)[0]["id"] == "asthma"
        assert (len(endpoint.bodies) > asked, elsewhere.bodies) == (True, [])
        asked = len(endpoint.bodies)
        run(*search, "a toe", "--base-url", elsewhere.url, env=home)
        run(*search, "the toe", env=home)
        assert (len(endpoint.bodies), len(elsewhere.bodies)) == (asked, 4)
        run("corpus", "add", "book", "--embedder", "direct/e5", "--base-url", endpoint.url, env=home)
        kept = b"".join(path.read_bytes() for path in tmp_path.rglob("corpus.sqlite*"))
        assert endpoint.url.encode() in kept and b"a-key-that-nobody-may-see" not in kept
        run(
            "corpus",
            "add",
            "asked",
            book,
            "--embedder",
            "direct/e5",
            "--base-url",
            f"{endpoint.url}?k=secret",
            env=home,
        )
        assert not any(b"secret" in path.read_bytes() for path in tmp_path.rglob("corpus.sqlite*"))
        run("corpus", "remove", "asked", env=home)
    complaint("corpus", "add", "book", "--embedder", "direct/other", env=home)
    # Refused before anything is added, and no empty corpus is left.
    (tmp_path / "more.txt").write_text("Mites.")
    assert "not by wordllama" in complaint(
        "corpus", "add", "book", tmp_path / "more.txt", "--embedder", "wordllama", env=home
    )
    with serving(key="another") as closed:
        at = ("--embedder", "direct/e5", "--base-url", closed.url)
        complaint("corpus", "add", "new", tmp_path / "more.txt", *at, env=home)
        complaint("corpus", "add", "book", tmp_path / "more.txt", *at, env=home)
    listed = json.loads(run("corpus", "search", "--json", env=home).stdout)
    assert [(one["name"], one["passages"]) for one in listed] == [("book", 2)]
    told = complaint("corpus", "add", "book", "--embedder", "wordllama", env=home)
    assert "made by direct/e5, not by wordllama; make them anew with: polyclinic corpus add book --rebuild" in told
    run("corpus", "add", "book", "--embedder", "wordllama", "--rebuild", env=home)


@pytest.mark.slow
@each_row(
    ("arguments", "told"),
    [
        (("search", "nobody", "toe"), "no corpus 'nobody'"),
        (("search", "../../etc", "toe"), "is no name of a corpus"),
        (("search", "book", " "), "QUERY is empty"),
        (("search", "book", "toe", "--limit", "0"), "--limit 0; allowed: 1 to 1,000"),
        (("search", "book", "toe", "--by", "magic"), "allowed: bm25, dense, hybrid"),
        (("add", "new"), "FILE is missing; name what to add, as there is no such corpus yet"),
        (("add", "book"), "FILE is missing"),
        (("add", "new", "nofile.jsonl"), "nofile.jsonl: no such file"),
        (("add", "new", "book.jsonl", "--embedder", "magic"), "no embedder 'magic'"),
        (("add", "a/b", "book.jsonl"), "is no name of a corpus"),
        (("add", "new", "book.jsonl", "--set", "corpus.fields=text"), "corpus.fields text; allowed: id=KEY"),
        (("add", "new", "book.jsonl", "--set", "corpus.layout=x"), "no layout of passages is called 'x'"),
        (("remove", "book", "nobody"), "corpus 'book' has no passage 'nobody'"),
        (("remove", "book", "gout", "nobody", "asthma", "none"), "no passage 'nobody', 'none'; nothing was removed"),
        (("remove", "nobody"), "no corpus 'nobody'"),
        (("add", "x" * 5000, "book.jsonl"), "is no name of a corpus"),
        (("add", "\U00020000" * 64, "book.jsonl"), "is no name of a corpus"),
        (("add", "new", "x" * 5000), "cannot be read (File name too long)"),
    ],
)
def test_what_cannot_be_done_is_one_line(run, complaint, book, home, tmp_path, arguments, told):
    run("corpus", "add", "book", book, env=home)
    assert told in complaint("corpus", *arguments, cwd=tmp_path, env=home)
    assert [one["name"] for one in json.loads(run("corpus", "search", "--json", env=home).stdout)][-1:] == ["book"]
    assert json.loads(run("corpus", "search", "--json", env=home).stdout)[-1]["passages"] == 2


def test_a_file_broken_in_line_17_leaves_no_corpus_behind(run, complaint, home, tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_text('{"text": "fine"}\n' * 16 + '{"text": \n')
    assert f"{path}, line 17: not JSON" in complaint("corpus", "add", "new", path, env=home)
    assert json.loads(run("corpus", "search", "--json", env=home).stdout) == []


def test_without_the_extra_one_line_says_what_to_install(complaint, book, home, monkeypatch):
    from polyclinic.retrieval.retriever import library

    library.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "tantivy", None)
    told = complaint("corpus", "add", "new", book, env=home)
    assert "tantivy, which finds passages by their words, is not installed: pip install 'polyclinic[retrieval]'" in told
    library.cache_clear()


def test_a_corpus_made_anew_keeps_its_embedder_and_its_address(run, book, serving, home):
    home |= {"OPENAI_BASE_URL": ""}
    search = ("corpus", "search", "book", "--by", "dense", "--limit", 1, "--json", "wheezing")
    with serving() as endpoint, serving() as elsewhere:
        run("corpus", "add", "book", book, "--embedder", "direct/e1", "--base-url", endpoint.url, env=home)
        known = json.loads(run("corpus", "add", "book", "--rebuild", "--json", env=home).stdout)
        assert (known["embedder"], known["embedded"]) == ("direct/e1", 0)
        asked = len(endpoint.bodies)
        run(*search, env=home)
        assert len(endpoint.bodies) > asked
        asked = len(endpoint.bodies)
        run("corpus", "add", "book", "--rebuild", "--base-url", elsewhere.url, env=home)
        run(*search, env=home)
        assert len(endpoint.bodies) == asked and elsewhere.bodies
        asked = len(elsewhere.bodies)
        known = json.loads(
            run("corpus", "add", "book", "--rebuild", "--embedder", "wordllama", "--json", env=home).stdout
        )
        assert (known["embedder"], known["embedded"]) == ("wordllama", 2)
        run(*search, env=home)
        assert len(elsewhere.bodies) == asked


def test_what_a_folder_holds_besides_passages_is_named(run, complaint, home, tmp_path):
    folder = tmp_path / "books"
    folder.mkdir()
    (folder / "gout.txt").write_text("Gout is pain in the big toe.")
    (folder / "qrels.txt").write_text("1 4 ADAM_0002818_Sec2.txt\n2 0 NIDDK_0000001_Sec1.txt\n")
    for n in range(6):
        (folder / f"r{n}.pdf").write_text("x")
    done = run("corpus", "add", "book", "books", cwd=tmp_path, env=home)
    assert "1 passage added" in done.stdout
    assert "7 files of the folder not read, being no passages: qrels.txt, r0.pdf, r1.pdf, r2.pdf, r3.pdf and 2" in (
        done.stderr
    )
    known = json.loads(run("corpus", "add", "book", "books", "--json", cwd=tmp_path, env=home).stdout)
    assert len(known["skipped"]) == 7
    assert "qrels.txt: judgements" in complaint("corpus", "add", "new", "books/qrels.txt", cwd=tmp_path, env=home)
    (folder / "zero.txt").write_bytes(bytes(100))
    assert "zero.txt, line 1: NUL bytes" in complaint("corpus", "add", "new", "books", cwd=tmp_path, env=home)


def test_vectors_are_asked_for_where_a_file_of_models_says(run, book, serving, home, tmp_path):
    with serving() as first, serving() as second:
        file = tmp_path / "models.toml"
        file.write_text(f"[models.'direct/e5']\nbase_url = ['{first.url}', '{second.url}']\n")
        run("corpus", "add", "book", book, "--embedder", "direct/e5", "--set", f"models.model-file={file}", env=home)
        found = run(
            "corpus",
            "search",
            "book",
            "wheezing",
            "--by",
            "dense",
            "--set",
            f"models.model-file={file}",
            "--json",
            env=home,
        )
        assert json.loads(found.stdout)
        # One space of vectors is one server's; which of them, their addresses say.
        assert bool(first.bodies) != bool(second.bodies)
