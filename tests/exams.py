"""Exams of which every answer is known, for tests of what is done with the questions."""

import json
from collections.abc import Iterable
from pathlib import Path


def write_exam(path: Path, numbers: Iterable[int], *, text: str = "number {}?") -> Path:
    """Writes questions in MedQA's layout, one a number, each of four options, and A is right; returns the path."""
    options = {letter: f"finding {letter}" for letter in "ABCD"}
    lines = ({"question": text.format(number), "options": options, "answer_idx": "A"} for number in numbers)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path
