"""Any table or JSON records, told by a small file which field is what.

complaint = "chief_complaint"     # a field, "a.b" inside an object, "a+b" several
diagnoses = "final_dx"
age = "age_years"

[history]
present = "hpi"

[findings]                        # "examination" or "examination, item" = field
"chest X-ray" = "cxr"
"complete blood count, hemoglobin" = "hb"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from polyclinic.cases.case import Attachment, Case
from polyclinic.cases.loaders.fields import (
    age_in_years,
    as_text,
    is_unsaid,
    literal,
    read_options,
    right_options,
    sex_of,
    split_diagnoses,
    split_points,
    split_value,
)
from polyclinic.cases.presentation import Presentation, Question, Setting
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput, meant
from polyclinic.files import check_file, read_toml, record_as
from polyclinic.language.language import Language, language_of
from polyclinic.yaml_files import read_yaml

_STEM = {"en": "Which of these is right?", "zh": "下列哪一项正确？"}
_SUFFIXES = frozenset({".toml", ".yaml", ".yml"})

T = TypeVar("T")

_AGES = "write years as a number, or as in 3 weeks, 5岁3个月; leave it empty where nobody knows"
_SEXES = "write female or male, f or m, 女 or 男; leave it empty where nobody knows"


class CaseFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which field of a record is what in a case. A dot goes into an object, a `+` joins several fields."""

    complaint: str  # what every case needs; several diagnoses in a list, or numbered or parted in a text
    diagnoses: str
    id: str = ""  # what names a case; its number in the file where it is left out
    age: str = ""  # in years, or as text ("3 weeks old")
    sex: str = ""
    about: str = ""
    department: str = ""
    question: str = ""
    options: str = ""  # of a question; `question` is its text
    answer: str = ""
    treatment: str = ""
    rationale: str = ""
    image: str = ""  # the address of a picture
    history: dict[str, str] = {}  # part of the history (`present`, `past`, ...) to field
    findings: dict[str, str] = {}  # "examination" or "examination, item" to field
    setting: Setting = "ward"  # the same for all cases, as a value and no field's name
    language: Language | None = None


def names_map(layout: str) -> bool:
    """Whether a layout's name is that of a file with a field map."""
    return Path(layout).suffix in _SUFFIXES


def loader_of(path: Path) -> Callable[[dict[str, Any], int], Case]:
    """Returns the layout that a file with a field map describes."""
    check_file(path)
    return _loader(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _loader(path: Path, _changed: int) -> Callable[[dict[str, Any], int], Case]:
    try:
        fields = record_as(read_toml(path), CaseFields) if path.suffix == ".toml" else read_yaml(path, CaseFields)
    except BadInput as error:
        there = CaseFields.__struct_fields__
        unknown = re.search(r"unknown field `([^`]*)`", error.problem)
        near = meant(unknown[1], there) if unknown else ""
        problem = f"{error.problem}{near}; a field map has {', '.join(there)}"
        raise BadInput(problem, path=path, line=error.line, field=error.field) from None
    if other := fields.history.keys() - {*History.__struct_fields__}:
        came, there = sorted(other)[0], History.__struct_fields__
        raise BadInput(
            f"the history has no {came!r}{meant(came, there)}; it has {', '.join(there)}", path=path, field="$.history"
        )
    return lambda record, order: _load(record, order, fields)


def _load(record: dict[str, Any], order: int, fields: CaseFields) -> Case:
    complaint = as_text(_required(record, fields.complaint, "complaint"))
    diagnoses = _required(record, fields.diagnoses, "diagnosis")
    named = [as_text(one) for one in diagnoses] if isinstance(diagnoses, list) else []
    identifier = as_text(_value(record, fields.id)) or str(order)
    told: dict[str, Any] = {part: as_text(_value(record, field)) for part, field in fields.history.items()}
    if "symptoms" in told:
        told["symptoms"] = _list(_value(record, fields.history["symptoms"]))
    history = record_as(told, History)
    language = fields.language or language_of([complaint, history.present])
    question, answers = _question(record, fields, identifier, language)
    image = as_text(_value(record, fields.image))
    return Case(
        id=identifier,
        record=Record(
            presentation=Presentation(
                complaint=complaint,
                language=language,
                age=_understood(age_in_years, record, fields.age, "the age", _AGES),
                sex=_understood(sex_of, record, fields.sex, "the sex", _SEXES),
                about=as_text(_value(record, fields.about)),
            ),
            history=history,
            findings=tuple(_findings(record, fields)),
        ),
        truth=Truth(
            diagnoses=tuple(map(Diagnosis, filter(None, named))) or split_diagnoses(as_text(diagnoses)),
            rationale=_points(_value(record, fields.rationale)),
            treatment=_points(_value(record, fields.treatment)),
            answers=answers,
        ),
        setting=fields.setting,
        question=question,
        department=as_text(_value(record, fields.department)),
        attachments=(Attachment(url=image),) if image else (),
    )


def _understood(
    read: Callable[[str], T | None], record: dict[str, Any], field: str, what: str, allowed: str
) -> T | None:
    """Returns what a cell says, None of one that says nothing; what is not understood is a `BadInput`, and not lost."""
    text = as_text(_value(record, field))
    found = read(text)
    if found is None and not is_unsaid(text):
        raise BadInput(f"{what} is {text!r}, which is not understood; {allowed}", field=f"$.{field}")
    return found


def _question(
    record: dict[str, Any], fields: CaseFields, identifier: str, language: Language
) -> tuple[Question | None, tuple[str, ...]]:
    if not fields.options:
        return None, ()
    listed = [_value(record, part) for part in fields.options.split("+")]
    options = read_options(listed[0] if len(listed) == 1 else listed, f"$.{fields.options}")
    answers = right_options(options, (_value(record, fields.answer),), f"$.{fields.answer}")
    stem = as_text(_value(record, fields.question)) or _STEM[language]
    question = Question(id=identifier, stem=stem, options=options, language=language, several=len(answers) > 1)
    return question, answers


def _findings(record: dict[str, Any], fields: CaseFields) -> Iterator[Finding]:
    for name, field in fields.findings.items():
        if text := as_text(_value(record, field)):
            examination, _, item = name.partition(",")
            value, unit = split_value(text)
            yield Finding(examination=examination.strip(), item=item.strip(), value=value, unit=unit)


def _list(value: Any) -> list[str]:
    value = literal(value)
    if isinstance(value, list):
        return [text for text in map(as_text, value) if text]
    return [part.strip() for part in as_text(value).replace("；", ";").split(";") if part.strip()]


def _points(value: Any) -> tuple[str, ...]:
    return tuple(map(as_text, value)) if isinstance(value, list) else split_points(as_text(value))


def _required(record: dict[str, Any], field: str, what: str) -> Any:
    value = _value(record, field)
    if not as_text(value):
        there = ", ".join(map(repr, list(record)[:8])) or "none"
        raise BadInput(f"a case needs its {what}; the fields that came are {there}", field=f"$.{field}")
    return value


def _value(record: dict[str, Any], field: str) -> Any:
    if not field:
        return None
    if field not in record and "+" in field:
        return " ".join(text for text in (as_text(_value(record, part.strip())) for part in field.split("+")) if text)
    found: Any = record
    for name in [field] if field in record else field.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found
