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
    nested_findings,
    read_keys,
    read_options,
    right_options,
    sex_of,
    split_diagnoses,
    split_outside,
    split_points,
    split_value,
)
from polyclinic.cases.loaders.vignettes import record_of_text
from polyclinic.cases.presentation import Presentation, Question, Setting
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput, meant
from polyclinic.files import check_file, read_toml, record_as
from polyclinic.language.language import Language, language_of
from polyclinic.yaml_files import read_yaml

_STEM: dict[Language, str] = {"en": "Which of these is right?", "zh": "下列哪一项正确？"}
_SUFFIXES = frozenset({".toml", ".yaml", ".yml"})

_EXAMINATION: dict[Language, str] = {"en": "physical examination", "zh": "体格检查"}
_RIGHT, _MARKED = {"True", "true", "yes", "1"}, {"True", "true", "yes", "1", "False", "false", "no", "0", "None"}

T = TypeVar("T")

_AGES = "write years as a number, or as in 3 weeks, 5岁3个月; leave it empty where nobody knows"
_SEXES = "write female or male, f or m, 女 or 男; leave it empty where nobody knows"


class CaseFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which field of a record is what in a case.

    A dot goes into an object or those of a list, a `+` joins several fields, and of fields with `|` between them the
    first is taken that says something.
    """

    complaint: str = ""
    diagnoses: str = ""  # several in a list, or numbered or parted in a text; left out, the right options of a question
    vignette: str = ""  # all of it as one text or a list of sentences, in whose beginning are complaint, age and sex
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
    results: str = ""  # results in a text, or in an object by item, or by examination and item
    needs: tuple[str, ...] = ()  # which of these fields must say something too
    # The same for all cases, as a value and no field's name:
    setting: Setting = "ward"
    language: Language | None = None
    stem: dict[Language, str] = {}  # of a question without a text of its own
    source: str = ""


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
    lacking = [] if fields.complaint or fields.vignette else ["complaint"]
    lacking += [] if fields.diagnoses or fields.options else ["diagnoses"]
    if lacking:
        known = ", ".join(CaseFields.__struct_fields__)
        raise BadInput(f"a field map needs `{lacking[0]}`; a field map has {known}", path=path)
    if other := fields.history.keys() - {*History.__struct_fields__}:
        came, there = sorted(other)[0], History.__struct_fields__
        raise BadInput(
            f"the history has no {came!r}{meant(came, there)}; it has {', '.join(there)}", path=path, field="$.history"
        )
    return lambda record, order: _load(record, order, fields)


@lru_cache(maxsize=1)
def _shipped() -> dict[str, CaseFields]:
    return read_yaml(Path(__file__).with_name("layouts.yaml"), dict[str, CaseFields])


def load_shipped(record: dict[str, Any], order: int, *, name: str) -> Case:
    """Reads a record in a layout of `layouts.yaml`."""
    return _load(record, order, _shipped()[name])


def _load(record: dict[str, Any], order: int, fields: CaseFields) -> Case:
    complaint = as_text(_required(record, fields.complaint, "complaint")) if fields.complaint else ""
    vignette = " ".join(_texts(_required(record, fields.vignette, "vignette"))) if fields.vignette else ""
    for name in fields.needs:
        _required(record, getattr(fields, name), name)
    identifier = as_text(_value(record, fields.id)) or str(order)
    told: dict[str, Any] = {part: as_text(_value(record, field)) for part, field in fields.history.items()}
    if "symptoms" in told:
        told["symptoms"] = _list(_value(record, fields.history["symptoms"]))
    history = record_as(told, History)
    options, answers = _options(record, fields)
    diagnoses = _diagnoses(record, fields, options, answers)
    language = fields.language or language_of([complaint or vignette, history.present])
    of_text = record_of_text(vignette, diagnoses).presentation if vignette else Presentation(complaint=complaint)
    question = None
    if options:
        stem = as_text(_value(record, fields.question)) or fields.stem.get(language, _STEM[language])
        question = Question(id=identifier, stem=stem, options=options, language=language, several=len(answers) > 1)
    image, results = as_text(_value(record, fields.image)), literal(_value(record, fields.results))
    return Case(
        id=identifier,
        record=Record(
            presentation=Presentation(
                complaint=complaint or of_text.complaint,
                language=language,
                age=_understood(age_in_years, record, fields.age, "the age", _AGES) if fields.age else of_text.age,
                sex=_understood(sex_of, record, fields.sex, "the sex", _SEXES) if fields.sex else of_text.sex,
                about=as_text(_value(record, fields.about)),
            ),
            history=history if history.sections() or not vignette else History(present=vignette),
            findings=(*_findings(record, fields), *nested_findings(results, _EXAMINATION[language])),
            vignette=vignette,
        ),
        truth=Truth(
            diagnoses=diagnoses,
            rationale=_points(_value(record, fields.rationale)),
            treatment=_points(_value(record, fields.treatment)),
            answers=answers,
        ),
        setting=fields.setting,
        question=question,
        source=fields.source,
        department=as_text(_value(record, fields.department)),
        attachments=(Attachment(url=image),) if image else (),
    )


def _diagnoses(
    record: dict[str, Any], fields: CaseFields, options: dict[str, str], answers: tuple[str, ...]
) -> tuple[Diagnosis, ...]:
    """Returns the diagnoses; one that is said by the key or the text of an option is that option's."""
    of_options = tuple(Diagnosis(options[key]) for key in answers)
    if not fields.diagnoses:
        return of_options
    value = _required(record, fields.diagnoses, "diagnosis")
    named = tuple(map(Diagnosis, _texts(value))) if isinstance(value, list) else ()
    if not named and options and set(read_keys(value, options)) == set(answers):
        return of_options
    return named or split_diagnoses(as_text(value))


def _understood(
    read: Callable[[str], T | None], record: dict[str, Any], field: str, what: str, allowed: str
) -> T | None:
    """Returns what a cell says, None of one that says nothing; what is not understood is a `BadInput`, and not lost."""
    text = as_text(_value(record, field))
    found = read(text)
    if found is None and not is_unsaid(text):
        raise BadInput(f"{what} is {text!r}, which is not understood; {allowed}", field=f"$.{field}")
    return found


def _options(record: dict[str, Any], fields: CaseFields) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns the options of a question and the keys of the right ones; nothing where the record has none."""
    value = _value(record, fields.options)
    if not fields.options or (not as_text(value) and "options" not in fields.needs and fields.diagnoses):
        return {}, ()
    if "+" in fields.options:
        value = [_value(record, part) for part in fields.options.split("+")]
    options = read_options(_parted(literal(value)), _place(fields.options))
    given = literal(_value(record, fields.answer))
    if isinstance(given, list) and len(given) == len(options) and {*map(str, given)} <= _MARKED:
        given = [key for key, mark in zip(options, given, strict=True) if str(mark) in _RIGHT]
    return options, right_options(options, (given,), _place(fields.answer))


def _parted(value: Any) -> Any:
    """Returns options; those of a line without letters stand between commas or semicolons."""
    if not isinstance(value, str) or "\n" in value:
        return value
    try:
        return read_options(value, "$")
    except BadInput:
        marks = ";；|" if any(mark in value for mark in ";；|") else ",，"
        return [part.strip() for part in split_outside(value, marks) if part.strip()]


def _findings(record: dict[str, Any], fields: CaseFields) -> Iterator[Finding]:
    for name, field in fields.findings.items():
        if text := as_text(_value(record, field)):
            examination, _, item = name.partition(",")
            value, unit = split_value(text)
            yield Finding(examination=examination.strip(), item=item.strip(), value=value, unit=unit)


def _list(value: Any) -> list[str]:
    value = literal(value)
    if isinstance(value, list):
        return _texts(value)
    return [part.strip() for part in as_text(value).replace("；", ";").split(";") if part.strip()]


def _texts(value: Any) -> list[str]:
    return [text for text in map(as_text, value if isinstance(value, list) else [value]) if text]


def _place(field: str) -> str:
    return f"$.{field.split('|', maxsplit=1)[0]}"


def _points(value: Any) -> tuple[str, ...]:
    return tuple(map(as_text, value)) if isinstance(value, list) else split_points(as_text(value))


def _required(record: dict[str, Any], field: str, what: str) -> Any:
    value = _value(record, field)
    if not as_text(value):
        there = ", ".join(map(repr, list(record)[:8])) or "none"
        raise BadInput(f"a case needs its {what}; the fields that came are {there}", field=_place(field))
    return value


def _value(record: dict[str, Any], field: str) -> Any:
    if not field:
        return None
    if field not in record and "|" in field:
        values = (_value(record, part.strip()) for part in field.split("|"))
        return next((value for value in values if as_text(value)), None)
    if field not in record and "+" in field:
        return " ".join(text for text in (as_text(_value(record, part.strip())) for part in field.split("+")) if text)
    found: Any = record
    for name in [field] if field in record else field.split("."):
        found = literal(found)
        if isinstance(found, list):
            found = [one.get(name) if isinstance(one, dict) else None for one in found]
        else:
            found = found.get(name) if isinstance(found, dict) else None
    return found
