"""A memory on the command line of exams: which methods take it, the topic, and the study of the paper's tables."""

import json
import shutil

import numpy as np
import pytest

from polyclinic.cases.presentation import Question
from polyclinic.evaluations.memory_knowledge import say_other_knowledge
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.entries import AskedTask, ClinicalTask, Experience, name_of_choices
from polyclinic.memory.library import DIMENSIONS, CaseWordsEmbedder
from polyclinic.memory.memory import About, New, Note, open_memory
from polyclinic.memory.options import MemoryOptions
from polyclinic.memory.reading import PassageRead, Studied, StudyRecord, open_reading

QUESTION = {"question": "Which valve rumbles?", "options": {"A": "aortic", "B": "mitral"}, "answer_idx": "B"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exam")
    (folder / "exam.jsonl").write_text(json.dumps(QUESTION) + "\n")
    about = About(embedder="case-words", dimensions=DIMENSIONS, knowledge="8 diseases")
    with open_memory(folder / "m", about) as memory:
        new = []
        for n in (1, 2, 3, 4):
            asked = AskedTask(case=f"c{n}", number=n, query="fever", options=("x",))
            lesson = Experience(asked=asked, before="x", after="y", right=("y",), principle=f"look at valve {n}")
            new.append(New(ClinicalTask.DIAGNOSIS, lesson, np.zeros(DIMENSIONS, "f4")))
        memory.commit(new, [Note(4, "batch", b"")])
    return folder


def answers(body):
    return "It rumbles.\n\nAnswer: B" if "=== notes" not in body["messages"][-1]["content"] else {"numbers": [1]}


def test_parts_of_a_memory(run, files, serving):
    with serving(answers) as endpoint:
        model = ("--model", "direct/x", "--base-url", endpoint.url, "--questions", files / "exam.jsonl")
        memory = ("--memory", files / "m", "--match", "none")
        parts = ("--method", "medagent_zero", "medagent_zero experience=0", "medagent_zero patients=0|2")
        done = run("eval", "exam", "medqa", *model, *memory, *parts, "--json")
        document = json.loads(done.stdout)
        assert [one["name"] for one in document["methods"]] == [
            "medagent_zero",
            "medagent_zero (experience=0)",
            "medagent_zero (patients=0)",
            "medagent_zero (patients=2)",
        ]
        assert "0 records of documents, 4 principles from patients; polyclinic memory read" in done.stderr
        words = ("eval", "exam", "medqa", *model, "--method", "medagent_zero", "--memory", f"{files / 'm'}@3")
        exam = json.loads(run(*words, "--set", "memory.k-records=0", "--json").stdout)
        assert exam["methods"][0]["name"] == "medagent_zero (records=0)"
        assert exam["methods"][0]["cost"]["calls"] == 2


def test_experience_of_more_patients_than_there_were_is_refused(run, files, serving):
    with serving(answers) as endpoint:
        model = ("--model", "direct/x", "--base-url", endpoint.url, "--questions", files / "exam.jsonl")
        words = ("--method", "medagent_zero patients=9", "--memory", files / "m")
        done = run("eval", "exam", "medqa", *model, *words, code=2)
        assert done.stderr.endswith("patients=9: the memory has seen 4 patients; name at most so many\n")
        assert endpoint.requests == 0


def test_what_comes_to_mind_is_in_the_prompt_and_its_version_in_the_result(run, files, serving, tmp_path):
    read = Question(id="q", stem="Which murmur rumbles?", options={"A": "of the mitral valve", "B": "of none"})
    said = {"reasoning": "It is the turbulent inflow.", "evidence": "It rumbles."}
    by = {"written_by": "direct/w", "answered_by": "direct/d"}
    record = StudyRecord(passage="book#9", question=read, key="A", **said, **by)
    memory = tmp_path / "m"
    shutil.copytree(files / "m", memory)
    maker = CaseWordsEmbedder()
    with open_reading(memory, About(embedder=maker.name, dimensions=DIMENSIONS)) as library:
        library.commit([PassageRead(Studied(passage="book#9", records=(record,)), maker.vectors([read.stem]))])
    asked = []

    def answer(body):
        asked.append(json.dumps(body["messages"]))
        return "It rumbles.\n\nAnswer: B" if "=== notes" not in asked[-1] else {"numbers": [1, 2, 3, 4]}

    versions = []
    with serving(answer) as endpoint:
        model = ("--model", "direct/x", "--base-url", endpoint.url, "--questions", files / "exam.jsonl")
        for at, seen in (("", {1, 2, 3, 4}), ("@3", {1, 2, 3})):
            asked.clear()
            out = tmp_path / f"out{at}"
            words = (
                "--method",
                "medagent_zero",
                "--memory",
                f"{memory}{at}",
                "--set",
                f"memory.k-experience={4 - bool(at)}",
            )
            run("eval", "exam", "medqa", *model, *words, "--out", out)
            judged, answered = asked
            assert "turbulent inflow" in answered
            assert "turbulent inflow" not in judged
            for text in (judged, answered):
                assert {n for n in range(1, 5) if f"look at valve {n}" in text} == seen
            kept = json.loads((out / "results.json").read_text())["configuration"]
            assert kept["memory"] == f"{memory}{at}"
            versions.append(kept["memory_version"])
    assert len(set(versions)) == 2


def test_a_memory_of_another_knowledge_is_named_or_refused(complaint, files, tmp_path, capsys):
    say_other_knowledge(MemoryOptions(memory=files / "m"))
    assert "was made with another knowledge (8 diseases; here: 8 diseases, " in capsys.readouterr().err
    known = About(embedder="x", dimensions=2, knowledge=name_of_choices(read_knowledge().select("respiratory"), "zh"))
    with open_memory(tmp_path / "known", known):
        pass
    say_other_knowledge(MemoryOptions(memory=tmp_path / "known"))
    assert not capsys.readouterr().err
    town = (
        "run",
        "--hospital",
        "agent-hospital",
        "--visits",
        2,
        "--doctor",
        "recall",
        "--set",
        f"learning.memory={files / 'm'}",
    )
    assert "was made with knowledge 8 diseases, and is asked for with 8 diseases, " in complaint(*town)


def test_what_is_wrong_is_one_line(complaint, files):
    model = ("--model", "direct/x", "--questions", files / "exam.jsonl")
    memory = ("--memory", files / "m")
    for words, problem in (
        (("eval", "exam", "medqa", *model, "--method", "medagent_zero"), "name it with --memory DIR"),
        (("eval", "exam", "medqa", *model, *memory), "no effect without a method that remembers"),
        (("eval", "exam", "medqa", *model, "--topic", "respiratory"), "none of the 1 questions is one of the 79"),
        (("eval", "exam", "any", *model, "--topic", "respiratory"), "is known of MedQA alone"),
    ):
        assert problem in complaint(*words), words
