"""A memory on the command line of exams: which methods take it, the topic, and the study of the paper's tables."""

import json

import numpy as np
import pytest

from polyclinic.memory.case_words import DIMENSIONS
from polyclinic.memory.entries import AskedTask, ClinicalTask, Experience
from polyclinic.memory.memory import About, New, Note, open_memory

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


def test_the_study_and_the_method(run, files, serving):
    with serving(answers) as endpoint:
        model = ("--model", "direct/x", "--base-url", endpoint.url, "--questions", files / "exam.jsonl")
        study = ("study", "medagent-zero", *model, "--memory", files / "m", "--snapshots", 2)
        done = run(*study, "--json")
        document = json.loads(done.stdout)
        assert [[row["name"] for row in one["rows"]] for one in document["tables"]][1:] == [
            ["records", "experience", "records and experience"],
            ["0", "2", "4"],
        ]
        assert document["patients"] == 4
        assert "0 records of documents, 4 principles from patients; polyclinic memory read" in done.stderr
        words = ("eval", "medqa", *model, "--method", "medagent_zero", "--memory", f"{files / 'm'}@3")
        exam = json.loads(run(*words, "--k-records", 0, "--json").stdout)
        assert exam["methods"][0]["name"] == "medagent_zero (records=0)"
        assert exam["methods"][0]["cost"]["calls"] == 2


def test_what_is_wrong_is_one_line(complaint, files):
    model = ("--model", "direct/x", "--questions", files / "exam.jsonl")
    memory = ("--memory", files / "m")
    for words, problem in (
        (("eval", "medqa", *model, "--method", "medagent_zero"), "name it with --memory DIR"),
        (("eval", "medqa", *model, *memory), "no effect without a method that remembers"),
        (("eval", "medqa", *model, "--topic", "respiratory"), "none of the 1 questions is one of the 79"),
        (("eval", "exam", *model, "--topic", "respiratory"), "is known of MedQA alone"),
        (("study", "medagent-zero", *model), "name it with --memory DIR"),
        (("study", "medagent-zero", *model, *memory, "--k-records", 1), "one number for both"),
    ):
        assert problem in complaint(*words), words
