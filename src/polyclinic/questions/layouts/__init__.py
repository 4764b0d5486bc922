"""Medical exam questions: the layouts that their files come in, samples of them, and options in another order.

`read_exam` reads any layout into `ExamQuestion`s. What gives the answer away (explanations, long answers, the text of
the right option, phrases taken from it) is dropped when the file is read, so that nothing of it can reach a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.cases.loaders.reader import Element, read_elements
from polyclinic.errors import BadInput
from polyclinic.files import json_lines, record_as, write_text
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.examples import Example
from polyclinic.questions.layouts import mapped
from polyclinic.questions.layouts.published import (
    check,
    is_of_mmlu,
    is_pubmedqa,
    load_medmcqa,
    load_medqa,
    read_mmlu,
    read_pubmedqa,
)
from polyclinic.questions.layouts.mapped import Fields, parse_fields
from polyclinic.questions.shuffle import shuffle_options
from polyclinic.seeds import derive

__all__ = [
    "LAYOUTS",
    "SAMPLE",
    "Fields",
    "Shuffled",
    "as_examples",
    "parse_fields",
    "read_exam",
    "sample",
    "shuffled",
    "write_exam",
]

LAYOUTS = ("polyclinic", "medqa", "medmcqa", "pubmedqa", "mmlu")
"""The layouts that a file can be in; with a field map it can be any JSON lines."""

SAMPLE = 300
"""How many questions of a data set MedAgents was measured on."""

_RECORDS: dict[str, Callable[[dict[str, Any], int], ExamQuestion]] = {
    "polyclinic": lambda record, _: record_as(record, ExamQuestion),
    "medqa": load_medqa,
    "medmcqa": load_medmcqa,
}
# A layout is known by all of these keys of its records.
_SIGNS = {
    "polyclinic": {"question", "key"},
    "medqa": {"question", "options", "answer_idx"},
    "medmcqa": {"question", "opa", "opb", "cop"},
}
_SHOWN = 8


class Shuffled(msgspec.Struct, frozen=True, kw_only=True):
    """A question with its options in another order, its key moved along; `original`: new key to the one it had."""

    question: ExamQuestion
    original: dict[str, str]


def read_exam(
    path: str | Path,
    *,
    layout: str | None = None,
    fields: Mapping[str, str] | None = None,
    answer_base: Literal[0, 1] | None = None,
) -> list[ExamQuestion]:
    """Reads the questions of a file, or of a folder of MMLU's files.

    Args:
        path: JSON lines, a JSON array, PubMedQA's one object, or CSV.
        layout: a name in `LAYOUTS`; by default the first record tells.
        fields: for any other JSON records, which of their fields is what; see `Fields` and `parse_fields`.
        answer_base: with `fields`, whether a right answer given as a number counts the options from 0 or from 1.

    Returns:
        In the order of the file. Options can have equal texts, as in 21 questions of MedMCQA's development set.

    Raises:
        BadInput: the file, a record or the layout cannot be used; says where, what came and what was allowed.
    """
    path = Path(path)
    if layout is not None and layout not in LAYOUTS:
        raise BadInput(f"no layout of exam questions is called {layout!r}; there are {', '.join(LAYOUTS)}")
    if fields is not None and layout is not None:
        raise BadInput("a layout and a field map were both given; one of them says how the file is read")
    if answer_base is not None and fields is None:
        raise BadInput("answer_base belongs to a field map (--fields); every layout knows from where it counts")
    numbered = read_mmlu(path) if _is_mmlu(path, layout, fields) else _records(path, layout, fields, answer_base)
    questions: list[ExamQuestion] = []
    places: dict[str, str] = {}
    for place, question in numbered:
        if (earlier := places.get(question.question.id)) is not None:
            problem = f"the id {question.question.id!r} stands in {earlier} already; every question needs its own"
            raise place.bad(problem, "$.id")
        places[question.question.id] = f"{place.part} {place.number}"
        questions.append(question)
    return questions


def _is_mmlu(path: Path, layout: str | None, fields: Mapping[str, str] | None) -> bool:
    if fields is not None:
        return False
    return layout == "mmlu" or (layout is None and (path.is_dir() or path.suffix.lower() == ".csv"))


def _records(
    path: Path, layout: str | None, fields: Mapping[str, str] | None, answer_base: Literal[0, 1] | None
) -> Iterator[tuple[Element, ExamQuestion]]:
    map_of_fields = None if fields is None else mapped.check_fields(fields, answer_base)
    for element in read_elements(path):
        record = element.fields()
        try:
            if map_of_fields is not None:
                yield element, check(mapped.load(record, element.order, map_of_fields))
                continue
            layout = layout or _recognised(record)
            if layout == "pubmedqa":
                yield from ((element, check(question)) for question in read_pubmedqa(record, path))
            else:
                yield element, check(_RECORDS[layout](record, element.order))
        except BadInput as error:
            if error.path is not None:
                raise
            looks_like = None if map_of_fields is not None else _looks_like(record)
            hint = "" if looks_like in {None, layout} else f"; this is read as {layout}, and looks like {looks_like}"
            raise element.bad(error.problem + hint, error.field) from None


def _recognised(record: dict[str, Any]) -> str:
    layout = _looks_like(record)
    if layout is None:
        keys = ", ".join(map(repr, list(record)[:_SHOWN])) or "none"
        more = ", ..." if len(record) > _SHOWN else ""
        raise BadInput(
            f"the layout is not recognised by the keys that came: {keys}{more}; name one with --layout "
            f"({', '.join(LAYOUTS)}), or say which field is what with --fields question=...,options=...,answer=..."
        )
    return layout


def _looks_like(record: dict[str, Any]) -> str | None:
    if isinstance(record.get("question"), dict) and "key" in record:
        return "polyclinic"
    if record and is_pubmedqa(record):
        return "pubmedqa"
    return next((name for name, signs in _SIGNS.items() if name != "polyclinic" and signs <= record.keys()), None)


def write_exam(path: str | Path, questions: Iterable[ExamQuestion]) -> None:
    """Writes questions in our own layout as JSON lines, all of them or none.

    Raises:
        BadInput: the path cannot be written.
    """
    write_text(Path(path), json_lines(questions))


def sample(questions: Sequence[ExamQuestion], n: int | None = None, *, seed: int) -> list[ExamQuestion]:
    """Returns n questions of a data set drawn at random, in the order of the file; all where there are fewer.

    Where n is None it is 300, and MMLU's subjects are taken whole, as they were for MedAgents.
    """
    others = [number for number, question in enumerate(questions) if n is not None or not is_of_mmlu(question)]
    drawn = set(derive(seed, "exam", "sample").sample(others, min(SAMPLE if n is None else n, len(others))))
    left_out = set(others) - drawn
    return [question for number, question in enumerate(questions) if number not in left_out]


def shuffled(question: ExamQuestion, *, seed: int) -> Shuffled:
    """Returns a question with its options in another order, to see whether the answer stays; see `shuffle_options`."""
    other, original = shuffle_options(question.question, seed=seed)
    new = {old: key for key, old in original.items()}
    moved = msgspec.structs.replace(question, question=other, key=tuple(new[key] for key in question.key))
    return Shuffled(question=moved, original=original)


def as_questions(examples: Iterable[Example]) -> list[ExamQuestion]:
    """Returns examples as questions that can be put."""
    return [ExamQuestion(question=one.question, key=one.key) for one in examples]


def as_examples(questions: Iterable[ExamQuestion]) -> tuple[Example, ...]:
    """Returns the questions of a training split as examples to show, without reasoning."""
    return tuple(Example(question=question.question, key=question.key) for question in questions)
