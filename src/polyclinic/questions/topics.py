"""Questions of a data set that are about one thing; which they are is data: hashes of what they ask, no text."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput
from polyclinic.questions.exam import ExamQuestion

Topic = Literal["respiratory"]

_FILES = Path(__file__).parent / "data"


def of_topic(questions: Sequence[ExamQuestion], topic: Topic, dataset: str) -> list[ExamQuestion]:
    """Returns the questions of a data set that are about a topic, in their order.

    A question is known by what it asks, so that it is found in any part of its data set, and in any order.
    """
    known = known_hashes(topic, dataset)
    found = [one for one in questions if hash_of(one.question) in known]
    if not found:
        raise BadInput(f"none of the {len(questions):,} questions is one of the {len(known)} {topic} ones of {dataset}")
    return found


@functools.cache
def known_hashes(topic: Topic, dataset: str) -> dict[str, str]:
    """Returns the hashes of the questions about a topic, each with the question's id in the file as published."""
    lines = (_FILES / f"{dataset}_{topic}.txt").read_text("utf-8").splitlines()
    pairs = (line.split() for line in lines if line.strip() and not line.startswith("#"))
    return {hashed: id for id, hashed in pairs}


def hash_of(question: Question) -> str:
    """Returns what a question is known by: of its words, in lower case."""
    words = " ".join(re.findall(r"\w+", question.stem.casefold()))
    return hashlib.blake2b(words.encode(), digest_size=6).hexdigest()
