"""Passages are read out of every layout, and what is wrong is named with its line."""

import gzip
import json

import pytest

from polyclinic.errors import BadInput, UserError
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.retrieval.passage_files import MOST, parse_passage_fields, read_passage_files, read_passages
from polyclinic.retrieval.store import NewPassage


@pytest.fixture
def write(tmp_path):
    def write(name, *records):
        path = tmp_path / name
        lines = "".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) + "\n" for one in records)
        path.write_bytes(gzip.compress(lines.encode()) if name.endswith(".gz") else lines.encode())
        return path

    return write


def test_our_own_layout(write):
    path = write("a.jsonl", {"id": 7, "title": "Gout", "text": "A toe.\n"}, {"text": "Nameless", "more": [1]})
    assert list(read_passages([path])) == [NewPassage("7", "Gout", "A toe."), NewPassage("a.jsonl-2", "", "Nameless")]


def test_medrag(write):
    record = {"id": "Anatomy_Gray_0", "title": "Anatomy_Gray", "content": "What is anatomy?", "contents": "Both."}
    assert list(read_passages([write("a.jsonl", record)])) == [
        NewPassage("Anatomy_Gray_0", "Anatomy_Gray", "What is anatomy?")
    ]


def test_medquad(write):
    one = {"id": "0000013_2-1", "source": "CancerGov", "question": "What is X ?", "answer": "A.", "focus": "X"}
    path = write("m.jsonl.gz", one, one | {"answer": "B."}, one | {"id": "0000013-2"})
    assert [p.id for p in read_passages([path])] == [
        "CancerGov_0000013_2_Sec1",
        "CancerGov_0000013_2_Sec1~2",
        "CancerGov_0000013_Sec2",
    ]


def test_the_whole_of_medquad(shared_data):
    passages = list(read_passages([shared_data / "corpus" / "medquad" / "medquad.jsonl.gz"]))
    assert len(passages) == len({p.id for p in passages}) == 16_407
    assert all(p.title and p.text for p in passages)


def test_any_fields(write):
    path = write("a.jsonl", {"_id": "x", "head": "Gout", "body": "A toe."})
    fields = parse_passage_fields("id=_id, title=head,text=body")
    assert list(read_passages([path], fields=fields)) == [NewPassage("x", "Gout", "A toe.")]
    assert next(read_passages([path], fields={"text": "body"})) == NewPassage("a.jsonl-1", "", "A toe.")


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ("nojson\n", "not JSON"),
        ([1], "not a passage"),
        ({"id": "9"}, "there is no field 'text'; there are: 'id'"),
        ({"text": 3}, "$.text: a text is needed"),
        ({"text": " "}, "$.text: a text is needed"),
        ({"title": "Gout", "text": "\t\n"}, "$.text: a text is needed"),
        ({"text": None}, "$.text: a text is needed"),
        ({"text": ["a"]}, "$.text: a text is needed"),
        ({"text": "a", "title": None}, "$.title: a text is needed; a title may be left out"),
        ({"id": None, "text": "a", "title": 4}, "$.title: a text is needed"),
        ({"id": "a\nb", "text": "a"}, "$.id: an id is a text or a whole number, without control characters"),
        ({"id": True, "text": "a"}, "$.id: an id is a text or a whole number"),
        ({"id": "1", "text": "again"}, "the id '1' stands in line 1 already"),
        ('"\\ud800"\n', "line 17"),
    ],
)
def test_a_file_that_is_broken_in_line_17(write, record, told):
    path = write("a.jsonl", *({"id": str(n), "text": "fine"} for n in range(1, 17)), record)
    with pytest.raises(BadInput) as raised:
        list(read_passages([path]))
    assert f"{path}, line 17" in str(raised.value) and told in str(raised.value)


def test_what_cannot_be_read_says_what_was_allowed(write, tmp_path):
    unknown = write("a.jsonl", {"frage": "x", "antwort": "y"})
    with pytest.raises(BadInput, match=r"the keys that came: 'frage', 'antwort'; name them: corpus\.fields=id=KEY"):
        list(read_passages([unknown]))
    with pytest.raises(BadInput, match="cannot be unpacked"):
        list(read_passages([write("a.jsonl", "x").rename(tmp_path / "b.jsonl.gz")]))
    with pytest.raises(BadInput, match="no file in this folder ends in"):
        (tmp_path / "empty").mkdir()
        list(read_passages([tmp_path / "empty"]))
    with pytest.raises(UserError, match="no layout of passages is called 'x'"):
        list(read_passages([unknown], layout="x"))
    one, two = (write(name, {"id": "1", "text": "a"}) for name in ("c.jsonl", "d.jsonl"))
    with pytest.raises(BadInput, match=f"stands in {one} already"):
        list(read_passages([one, two]))
    with pytest.raises(BadInput, match="headings only; a text is needed"):
        list(read_passages([write("h.md", "# Only\n\n## Headings\n")]))
    with pytest.raises(BadInput, match=r"ends in .pdf; allowed: .jsonl, .ndjson, .json, .txt, .text, .md"):
        list(read_passages([write("p.pdf", "%PDF")]))
    with pytest.raises(BadInput, match="cannot be read"):
        list(read_passages([tmp_path / ("x" * 5000)]))
    for fields in ("id=x", "text", "text=a,text=b", "colour=a,text=b", ""):
        with pytest.raises(UserError, match=r"corpus\.fields"):
            parse_passage_fields(fields)


def test_markdown_is_cut_at_its_headings_and_paragraphs(write):
    text = "# Joints\n\nAbout joints.\n\n## Gout\nA toe.\nIt hurts.\n\n```\n# no heading\n```\n# Lungs #\nAsthma.\n"
    found = list(read_passages([write("book.md", text)]))
    assert found == [
        NewPassage("book.md-1", "Joints", "About joints."),
        NewPassage("book.md-2", "Joints > Gout", "A toe.\nIt hurts.\n\n```\n# no heading\n```"),
        NewPassage("book.md-3", "Lungs", "Asthma."),
    ]


@pytest.mark.parametrize("sentence", ["The toe is red and swollen. ", "关节红肿，夜间剧痛。", "unbroken", "没有标点"])
def test_long_text_is_cut_and_nothing_is_lost(write, sentence):
    text = "\n\n".join([sentence * 300, "Short.", sentence * 10])
    found = list(read_passages([write("book.txt", text)]))
    assert all(0 < len(p.text) <= MOST and p.title == "book" for p in found)
    assert "".join("".join(p.text for p in found).split()) == "".join(text.split())
    if sentence[-1] in ". 。":
        assert all(p.text[-1] in ".。" for p in found)


def test_a_folder_is_its_files(write, tmp_path):
    write("b.txt", "Second.")
    write("a.jsonl", {"text": "First."})
    write("picture.png", "no text")
    assert [p.text for p in read_passages([tmp_path])] == ["First.", "Second."]


def test_the_knowledge_is_a_corpus_in_both_languages():
    passages = {p.id: p for p in read_passages(["knowledge"])}
    assert len(passages) == 8 * len(read_knowledge().diseases)
    assert all(p.text and "{" not in p.text + p.title for p in passages.values())
    assert "finger" not in passages["gout/treatment/en"].text
    assert "coloured rings" in passages["acute-angle-closure-glaucoma/symptoms/en"].text
    assert "青光眼" in passages["acute-angle-closure-glaucoma/names/zh"].text


def test_files_are_called_by_what_of_their_path_tells_them_apart(tmp_path):
    names = ("a/notes.md", "b/notes.md", "deep/a/notes.md", "b/other.md", "b/n.jsonl", "deep/n.jsonl", "b/o\x1b.md")
    paths = {name: tmp_path / name for name in names}
    for path in paths.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"text": "Something."}))
    above = tmp_path.name
    found = [p.id for p in read_passages(paths.values())]
    called = [f"{above}/a/notes.md", "b/notes.md", "deep/a/notes.md", "other.md", "b/n.jsonl", "deep/n.jsonl", "o?.md"]
    assert found == [f"{name}-1" for name in called]
    assert not any(str(tmp_path) in id for id in found)
    # The same file by other names, and a link to it in another folder, are it; a link of another name is another file.
    (tmp_path / "c").symlink_to(tmp_path / "a")
    (tmp_path / "named.md").symlink_to(tmp_path / "a" / "notes.md")
    some = [paths["a/notes.md"], tmp_path / "b" / ".." / "a" / "notes.md", tmp_path / "c" / "notes.md"]
    assert [p.id for p in read_passages([*some, tmp_path / "named.md"])] == ["notes.md-1", "named.md-1"]
    # A corpus's own keep their names, and nobody else gets them.
    first = read_passage_files([paths["a/notes.md"]])
    known = {file.key: file.name for file in first}
    again = read_passage_files([paths["b/notes.md"], paths["a/notes.md"]], known=known)
    assert [file.name for file in again] == ["b/notes.md", "notes.md"]
    ends = {str(number): "/".join(paths["b/notes.md"].parts[-number:]).lstrip("/") for number in range(1, 40)}
    (last,) = read_passage_files([paths["b/notes.md"]], known=ends)
    assert last.name == f"{str(paths['b/notes.md'])[1:]}~2"
