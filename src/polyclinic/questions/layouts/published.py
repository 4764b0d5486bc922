"""The published layouts of exam questions, and the checks that every exam question must pass.

- medqa: MedQA's layout (Jin et al., arXiv:2009.13081): four or five options by letter, USMLE or other boards.
  `answer` repeats the right option's text and `metamap_phrases` comes from another tool; both are dropped.
- medmcqa: MedMCQA's layout (Pal et al., arXiv:2203.14371): `opa` to `opd`, and `cop`, which counts them from 1. `exp`
  explains the answer and is dropped. `choice_type` "multi" means that the exam's question spoke of several
  statements; one option is right in every record, so that one is asked for.
- pubmedqa: PubMedQA's layout (Jin et al., arXiv:1909.06146): one object, PubMed id to question, with yes, no or
  maybe. The context is the abstract without its conclusion. LONG_ANSWER is that conclusion, and is dropped. A file
  `test_ground_truth.json` beside it names the test set, in order.
- mmlu: MMLU's layout (Hendrycks et al., arXiv:2009.03300): CSV without header: question, options, letter. The subject
  is the name of the file; `anatomy_test.csv` has the questions `mmlu-anatomy-0001` and so on.
"""

from __future__ import annotations

import csv
import io
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.loaders.fields import read_options
from polyclinic.cases.loaders.reader import Element
from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput
from polyclinic.files import NO_JSON, check_file, decode
from polyclinic.language.language import language_of
from polyclinic.opened_files import read_at_once
from polyclinic.questions.exam import ExamQuestion


def check(exam_question: ExamQuestion) -> ExamQuestion:
    """Returns the question if it can be asked and scored.

    Raises:
        BadInput: it lacks an id, a stem, options or a right answer among them; names the field.
    """
    question, key = exam_question.question, exam_question.key
    if not question.id.strip():
        raise BadInput("a question needs an id", field="$.id")
    if not question.stem.strip():
        raise BadInput("a question needs a text that asks it", field="$.question")
    if len(question.options) < 2:
        raise BadInput(f"two or more options are needed; there are {len(question.options)}", field="$.options")
    for name, text in question.options.items():
        if not name.strip() or not text.strip():
            raise BadInput(f"option {name!r} is empty; every option needs a key and a text", field="$.options")
    if not key:
        raise BadInput("a question needs its right answer", field="$.answer")
    for name in key:
        if name not in question.options:
            allowed = ", ".join(question.options)
            raise BadInput(f"the right answer is {name!r}; the options are {allowed}", field="$.answer")
    if len(set(key)) > 1 and not question.several:
        raise BadInput(f"{len(key)} right answers, and the question asks for one", field="$.answer")
    return exam_question


def text_field(record: dict[str, object], name: str) -> str:
    """Returns a field that must hold text, without white space around it.

    Raises:
        BadInput: it is missing, empty, or no text; names it.
    """
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        came = "nothing" if value is None else f"{value!r}"[:80]
        raise BadInput(f"a text is needed here; there is {came}", field=f"$.{name}")
    return value.strip()


def load_medqa(record: dict[str, Any], order: int) -> ExamQuestion:
    """Reads a MedQA record; the id is its number in the file, the subject the exam's step.

    Raises:
        BadInput: a part is missing or of the wrong type, or letter and text of the answer disagree; names it.
    """
    stem = text_field(record, "question")
    if not record.get("options"):
        raise BadInput("the options are missing", field="$.options")
    options = read_options(record["options"], "$.options")
    letter = text_field(record, "answer_idx")
    text = record.get("answer")
    if isinstance(text, str) and letter in options and text.strip() != options[letter].strip():
        raise BadInput(f"answer_idx is {letter}, and answer is not the text of option {letter}", field="$.answer_idx")
    if letter not in options:
        raise BadInput(f"the right answer is {letter!r}; the options are {', '.join(options)}", field="$.answer_idx")
    question = Question(
        id=f"medqa-{order:04}", stem=stem, options=options, language=language_of([stem, *options.values()])
    )
    return ExamQuestion(question=question, key=(letter,), subject=str(record.get("meta_info") or ""))


_MEDMCQA_OPTIONS = {"A": "opa", "B": "opb", "C": "opc", "D": "opd"}


def load_medmcqa(record: dict[str, Any], order: int) -> ExamQuestion:
    """Reads a MedMCQA record; the subject is its subject, such as Physiology.

    Raises:
        BadInput: a part is missing or of the wrong type; names it.
    """
    del order  # every record brings its id
    options = {letter: text_field(record, name) for letter, name in _MEDMCQA_OPTIONS.items()}
    right = record.get("cop")
    if not isinstance(right, int) or isinstance(right, bool) or not 1 <= right <= len(options):
        raise BadInput(
            f"cop is {right!r}; it counts the options from 1 to {len(options)} (a copy that counts from 0 is read with "
            "--fields question=question,options=opa+opb+opc+opd,answer=cop,id=id and an answer base of 0)",
            field="$.cop",
        )
    question = Question(id=text_field(record, "id"), stem=text_field(record, "question"), options=options)
    return ExamQuestion(
        question=question, key=(list(options)[right - 1],), subject=str(record.get("subject_name") or "")
    )


TEST_IDS = "test_ground_truth.json"
_DECISIONS = {"yes": "yes", "no": "no", "maybe": "maybe"}


def is_pubmedqa(record: dict[str, Any]) -> bool:
    """Tells whether a file's one object is PubMedQA's."""
    first = next(iter(record.values()))
    return isinstance(first, dict) and {"QUESTION", "CONTEXTS"} <= first.keys()


def read_pubmedqa(articles: dict[str, Any], path: Path) -> Iterator[ExamQuestion]:
    """Yields the test questions in the order of the file beside, or all where there is none, or none is of it.

    Raises:
        BadInput: an article lacks a part, or is in the list of the test and not here; names it.
    """
    test = _test_ids(path.with_name(TEST_IDS))
    named = {id: decision for id, decision in test.items() if id in articles}
    if named and len(named) < len(test):
        missing = next(id for id in test if id not in named)
        raise BadInput(f"{TEST_IDS} beside it names {len(test)} articles, of which {missing} and more are not here")
    for id in named or articles:
        article = articles[id]
        if not isinstance(article, dict):
            raise BadInput("an object {...} is needed here", field=f"$.{id}")
        try:
            question = _load_article(article, id)
        except BadInput as error:
            raise BadInput(error.problem, field=error.field.replace("$", f"$.{id}", 1)) from None
        if named and named[id] != question.key[0]:
            raise BadInput(f"it says {question.key[0]}, and {TEST_IDS} {named[id]!r}", field=f"$.{id}.final_decision")
        yield question


def _load_article(article: dict[str, Any], id: str) -> ExamQuestion:
    contexts = article.get("CONTEXTS")
    if not isinstance(contexts, list) or not contexts or not all(isinstance(part, str) for part in contexts):
        raise BadInput("a list of paragraphs is needed here", field="$.CONTEXTS")
    decision = text_field(article, "final_decision")
    if decision not in _DECISIONS:
        raise BadInput(f"the decision is {decision!r}; it is one of {', '.join(_DECISIONS)}", field="$.final_decision")
    question = Question(
        id=id,
        stem=text_field(article, "QUESTION"),
        options=dict(_DECISIONS),
        context="\n\n".join(map(str.strip, contexts)),
    )
    return ExamQuestion(question=question, key=(decision,))


def _test_ids(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    check_file(path)
    try:
        return msgspec.json.decode(read_at_once(path), type=dict[str, str])
    except NO_JSON as error:
        raise BadInput(f"the list of the test set is no object of ids and decisions ({error})", path=path) from None
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None


_PREFIX = "mmlu-"
_SPLITS = ("_test", "_dev", "_val")
_LEAST = 4
"""Columns: a question, two options and a letter."""


def is_of_mmlu(question: ExamQuestion) -> bool:
    """Tells whether a question was read from a file of MMLU's."""
    return question.question.id.startswith(_PREFIX)


def read_mmlu(path: Path) -> Iterator[tuple[Element, ExamQuestion]]:
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
                yield place, check(_load_row(row, f"{_PREFIX}{name}-{order:04}", subject.replace("_", " ")))
            except BadInput as error:
                raise place.bad(error.problem, error.field) from None
        line = rows.line_num + 1
    if not order:
        raise BadInput("the file holds blank lines only; at least one question is needed", path=path)


def _load_row(row: list[str], id: str, subject: str) -> ExamQuestion:
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
