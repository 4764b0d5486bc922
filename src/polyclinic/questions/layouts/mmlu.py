"""MMLU's layout (Hendrycks et al., arXiv:2009.03300): CSV without header: question, options, letter.

The subject is the name of the file; `anatomy_test.csv` has the questions `mmlu-anatomy-0001` and so on.
"""

from __future__ import annotations

import csv
import io
import string
from collections.abc import Iterator
from pathlib import Path

from polyclinic.cases.loaders.reader import Element
from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput
from polyclinic.files import check_file, decode
from polyclinic.language.language import language_of
from polyclinic.opened_files import read_at_once
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.layouts.checking import check

_PREFIX = "mmlu-"
_SPLITS = ("_test", "_dev", "_val")
_LEAST = 4
"""Columns: a question, two options and a letter."""


def is_of(question: ExamQuestion) -> bool:
    """Tells whether a question was read from a file of MMLU's."""
    return question.question.id.startswith(_PREFIX)


def read(path: Path) -> Iterator[tuple[Element, ExamQuestion]]:
    """Yields the questions of a file, or of all CSV files of a folder by name, with their places.

    Raises:
        BadInput: a file cannot be read, or a row is no question; names the line.
    """
    files = sorted(path.glob("*.csv")) if path.is_dir() else [path]
    if not files:
        raise BadInput("the folder holds no CSV file; MMLU's are called anatomy_test.csv and so on", path=path)
    for file in files:
        yield from _read(file)


def _read(path: Path) -> Iterator[tuple[Element, ExamQuestion]]:
    check_file(path)
    try:
        text = decode(read_at_once(path).removeprefix(b"\xef\xbb\xbf"), path=path)
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None
    name = path.stem.removesuffix("_test")
    subject = next((path.stem.removesuffix(split) for split in _SPLITS if path.stem.endswith(split)), path.stem)
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    order, line = 0, 1
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise BadInput(f"not CSV ({error})", path=path, line=line) from None
        if row is None:
            break
        if any(cell.strip() for cell in row):
            order += 1
            place = Element(path=path, number=line, order=order, text="")
            try:
                yield place, check(_load(row, f"{_PREFIX}{name}-{order:04}", subject.replace("_", " ")))
            except BadInput as error:
                raise place.bad(error.problem, error.field) from None
        line = rows.line_num + 1
    if not order:
        raise BadInput("the file holds blank lines only; at least one question is needed", path=path)


def _load(row: list[str], id: str, subject: str) -> ExamQuestion:
    if len(row) < _LEAST:
        raise BadInput(f"{len(row)} columns came; a row is a question, its options, and the letter of the right one")
    stem, *texts, letter = (cell.strip() for cell in row)
    if len(texts) > len(string.ascii_uppercase):
        raise BadInput(f"{len(texts)} options came; at most {len(string.ascii_uppercase)} have a letter")
    options = dict(zip(string.ascii_uppercase, texts, strict=False))
    if letter not in options:
        allowed = ", ".join(options)
        raise BadInput(f"the last column is {letter[:40]!r}; it is one of {allowed}, and there is no header")
    question = Question(id=id, stem=stem, options=options, language=language_of([stem, *texts]))
    return ExamQuestion(question=question, key=(letter,), subject=subject)
