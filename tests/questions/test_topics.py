"""Questions about one thing are known by what they ask, and their list holds no text."""

import re
from pathlib import Path

import msgspec
import pytest

from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput
from polyclinic.questions import layouts as topics
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.layouts import read_exam


def test_the_respiratory_questions_of_medqa(shared_data):
    questions = read_exam(shared_data / "qa" / "medqa" / "phrases_no_exclude_test.jsonl", layout="medqa")
    found = topics.of_topic(questions, "respiratory", "medqa")
    known = topics.known_hashes("respiratory", "medqa")
    assert [one.question.id for one in found] == list(known.values())
    assert len(found) == 79
    elsewhere = [msgspec.structs.replace(one.question, id="x", stem=f" {one.question.stem.upper()} ") for one in found]
    assert all(topics.hash_of(one) in known for one in elsewhere)


def test_the_list_holds_ids_and_hashes_alone():
    lines = Path(topics.__file__).with_name("data").joinpath("medqa_respiratory.txt").read_text().splitlines()
    assert all(re.fullmatch(r"medqa-\d{4} [0-9a-f]{12}", line) for line in lines if not line.startswith("#"))
    assert "How they were chosen" in "\n".join(lines)


def test_questions_of_something_else_are_refused():
    other = ExamQuestion(question=Question(id="1", stem="Which valve?", options={"A": "x"}), key=("A",))
    with pytest.raises(BadInput, match="none of the 1 questions is one of the 79 respiratory ones of medqa"):
        topics.of_topic([other], "respiratory", "medqa")
