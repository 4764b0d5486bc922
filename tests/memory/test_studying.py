"""Reading: which questions on a passage are refused, which answers are kept, and that a file goes on where it ended."""

import json

import msgspec
import numpy as np
import pytest

from polyclinic.errors import BadInput, TimedOut
from polyclinic.memory.entries import ClinicalTask
from polyclinic.memory.library import DIMENSIONS, CaseWordsEmbedder
from polyclinic.memory.memory import About
from polyclinic.memory.reading import (
    PassageRead,
    ReadingLibrary,
    Studied,
    WrittenQuestion,
    open_reading,
    problem_of,
    study,
)
from polyclinic.memory.remembering import Recollection, Situation, read_once, remembered_text
from polyclinic.models.scripted import Scripted
from polyclinic.retrieval.retriever import Passage

TEXT = {
    "en": "Influenza begins suddenly with fever and muscle pain. Rest and fluids are enough for most. === end",
    "zh": "流感起病急，伴有发热和肌肉酸痛。多数患者休息、多饮水即可。",
}
STEM = {"en": "How does influenza begin?", "zh": "流感通常如何起病？"}
OPTIONS = {"en": ("suddenly", "slowly", "after years", "never"), "zh": ("急", "慢", "多年后", "从不")}
EVIDENCE = {"en": "Influenza begins suddenly", "zh": "流感起病急"}
ABOUT = About(embedder="case-words", dimensions=DIMENSIONS)


def written(language="en", **fields):
    whole = {"stem": STEM[language], "options": OPTIONS[language], "answer": OPTIONS[language][0]}
    return {**whole, "evidence": EVIDENCE[language], **fields}


def model(*questions, check=None, answer=None, seen=None):
    """Returns a model that writes these, and answers what the right option's text says unless told otherwise."""

    def say(messages):
        system, user = (text for _, text in messages)
        if seen is not None:
            seen.append((system, user))
        if "`questions`" in system:
            return {"questions": list(questions)}
        checks = "=== passage" in user or "=== 段落" in user
        key = next(line[0] for line in user.splitlines() if line[1:2] == "." and line[3:] in ("suddenly", "急"))
        wanted = (check if checks else answer) or key
        if isinstance(wanted, Exception):
            raise wanted
        return {"answer": wanted} if checks else {"reasoning": "as it is known", "answer": wanted}

    return Scripted(say)


async def read(*questions, language="en", writer=None, **said):
    passage = Passage(id="flu", score=0.0, title="Influenza", text=TEXT[language], corpus="book")
    doctor = model(**said)
    return await study(passage, writer=writer or model(*questions, **said), doctor=doctor, language=language)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_what_is_answered_rightly_is_kept_with_where_it_is_from(language):
    seen = []
    studied = await read(language=language, writer=model(written(language), seen=seen))
    (record,) = studied.records
    assert (record.passage, record.written_by, record.answered_by) == ("book#flu", "scripted", "scripted")
    assert record.question.options[record.key] == OPTIONS[language][0]
    assert (record.evidence, record.reasoning) == (EVIDENCE[language], "as it is known")
    assert (len(studied.records), studied.wrong, studied.refused) == (1, 0, {})
    assert seen[0][1].count("===") == 4  # a passage cannot end itself


async def test_the_doctor_does_not_see_the_passage():
    seen = []
    passage = Passage(id="flu", score=0.0, text=TEXT["en"], corpus="book")
    await study(passage, writer=model(written()), doctor=model(seen=seen), language="en")
    assert len(seen) == 1
    assert "muscle pain" not in seen[0][1]


def test_what_is_wrong_with_a_question():
    for fields, problem in (
        ({}, None),
        ({"options": ("suddenly", "slowly")}, "options"),
        ({"options": ("suddenly", "slowly", "Slowly!", "never")}, "options"),
        ({"stem": " "}, "options"),
        ({"answer": "at night"}, "answer"),
        ({"stem": "How does influenza begin according to the passage?"}, "speaks of the passage"),
        ({"stem": "Does influenza begin suddenly?"}, "gives itself away"),
        ({"evidence": "Influenza begins slowly"}, "evidence"),
        ({"evidence": ""}, "evidence"),
    ):
        assert problem_of(msgspec.convert(written(**fields), WrittenQuestion), TEXT["en"]) == problem, fields


async def test_what_is_refused_or_wrong_is_counted():
    for said, refused, wrong in (
        ({"check": "none"}, {"contradicts itself": 1}, 0),
        ({"check": "E"}, {"unreadable": 1}, 0),
        ({"answer": "no letter"}, {}, 1),
    ):
        studied = await read(written(), **said)
        assert (studied.records, studied.refused, studied.wrong) == ((), refused, wrong), said
    wrong_key = {"A": "B", "B": "C", "C": "D", "D": "A"}
    right = (await read(written())).records[0].key
    assert (await read(written(), answer=wrong_key[right])).wrong == 1
    assert (await read(writer=Scripted(lambda _: "no JSON"))).refused == {"unreadable": 2}
    with pytest.raises(TimedOut):
        await read(writer=Scripted([TimedOut("late")]))


async def test_it_is_kept_once_found_again_and_comes_to_mind(tmp_path):
    studied = await read(written())
    vectors = CaseWordsEmbedder().vectors([record.query for record in studied.records])
    with open_reading(tmp_path, ABOUT) as library:
        library.commit([PassageRead(studied, vectors)])
        library.commit([PassageRead(studied, vectors)])
        assert len(library) == 1
    with open_reading(tmp_path) as library:
        assert library.records == list(studied.records)
        assert library.passages == {"book#flu": Studied(passage="book#flu")}
        recollection = Recollection(None, None, reading=library, read_with=CaseWordsEmbedder())
        came = await recollection.bring(Situation(ClinicalTask.DIAGNOSIS, "x", STEM["en"], "en"))
    assert came.read[0][1] == pytest.approx(1.0)
    first, second = read_once([came, came])
    assert (len(first.read), len(second.read)) == (1, 0)
    text = remembered_text(came, "en")
    assert "suddenly" in text
    assert came.passages()[0].source == "book#flu"


def test_a_library_of_something_else_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"holds no reading\.sqlite"), open_reading(tmp_path):
        pass
    with open_reading(tmp_path, ABOUT):
        pass
    other = About(embedder="wordllama", dimensions=256)
    with (
        pytest.raises(BadInput, match=r"was made with embedder case-words, and is asked for with wordllama"),
        open_reading(tmp_path, other),
    ):
        pass
    assert not ReadingLibrary(ABOUT).nearest(np.zeros(DIMENSIONS, "f4"), 3)


def test_the_command_reads_a_corpus_and_goes_on_behind_what_was_read(run, complaint, serving, tmp_path):
    lines = [{"id": str(n), "title": "Influenza", "text": f"{TEXT['en']} {n}"} for n in range(3)]
    (tmp_path / "book.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    library = {"XDG_DATA_HOME": str(tmp_path)}
    run("corpus", "add", "book", tmp_path / "book.jsonl", env=library)
    script = model(written(), written(evidence="no word of it"))._script

    def answers(body):
        return script([(one["role"], one["content"]) for one in body["messages"]])

    words = ("memory", "read", tmp_path / "m", "--corpus", "book", "--embedder", "case-words", "--json")
    with serving(answers) as endpoint:
        asked = (*words, "--doctor", "direct/x", "--base-url", endpoint.url)
        # All that there can be, whatever is refused: written, and each of two checked and answered.
        foreseen = run(*asked, "--dry-run", env=library)
        assert json.loads(foreseen.stdout)["calls"] == 3 * (1 + 2 * 2) and "what was read" not in foreseen.stderr
        assert not endpoint.requests
        first = json.loads(run(*asked, "--limit", 2, env=library).stdout)
        assert (first["passages"], first["questions"], first["records"]) == (2, 4, 2)
        assert first["refused"] == {"evidence": 2}
        again = json.loads(run(*asked, env=library).stdout)
        assert (again["passages"], again["new"], again["records"]) == (3, 1, 3)
        assert endpoint.requests == 9
    assert "3 questions on documents" in run("memory", "show", tmp_path / "m").stdout
    run("memory", "build", tmp_path / "m", tmp_path / "m", "--out", tmp_path / "both")
    assert "3 questions on documents" in run("memory", "show", tmp_path / "both").stdout
    run("memory", "show", tmp_path / "both", "--out", tmp_path / "all.jsonl")
    assert [json.loads(line)["kind"] for line in (tmp_path / "all.jsonl").read_text().splitlines()] == ["reading"] * 3
    assert "'recall' cannot read" in complaint(*words, "--doctor", "recall", env=library)
