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
from collections.abc import Callable
from functools import lru_cache, partial
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
from polyclinic.cases.loaders.layout import Layout
from polyclinic.cases.loaders.records import needed_at, place_of, value_at
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

    Names of fields are read by `records.value_at`.
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


def _load(record: dict[str, Any], order: int, fields: CaseFields) -> Case:
    complaint = as_text(_needed(record, fields.complaint, "complaint")) if fields.complaint else ""
    vignette = " ".join(_texts(_needed(record, fields.vignette, "vignette"))) if fields.vignette else ""
    for name in fields.needs:
        _needed(record, getattr(fields, name), name)
    identifier = as_text(value_at(record, fields.id)) or str(order)
    told: dict[str, Any] = {part: as_text(value_at(record, field)) for part, field in fields.history.items()}
    if "symptoms" in told:
        listed = literal(value_at(record, fields.history["symptoms"]))
        told["symptoms"] = _texts(listed if isinstance(listed, list) else as_text(listed).replace("；", ";").split(";"))
    history = record_as(told, History)
    options, answers = _options(record, fields)
    diagnoses = _diagnoses(record, fields, options, answers)
    language = fields.language or language_of([complaint or vignette, history.present])
    of_text = record_of_text(vignette, diagnoses).presentation if vignette else Presentation(complaint=complaint)
    question = None
    if options:
        stem = as_text(value_at(record, fields.question)) or fields.stem.get(language, _STEM[language])
        question = Question(id=identifier, stem=stem, options=options, language=language, several=len(answers) > 1)
    findings = []
    for name, field in fields.findings.items():
        if text := as_text(value_at(record, field)):
            (examination, _, item), (value, unit) = name.partition(","), split_value(text)
            findings.append(Finding(examination=examination.strip(), item=item.strip(), value=value, unit=unit))
    image, results = as_text(value_at(record, fields.image)), literal(value_at(record, fields.results))
    return Case(
        id=identifier,
        record=Record(
            presentation=Presentation(
                complaint=complaint or of_text.complaint,
                language=language,
                age=_understood(age_in_years, record, fields.age, "the age", _AGES) if fields.age else of_text.age,
                sex=_understood(sex_of, record, fields.sex, "the sex", _SEXES) if fields.sex else of_text.sex,
                about=as_text(value_at(record, fields.about)),
            ),
            history=history if history.sections() or not vignette else History(present=vignette),
            findings=(*findings, *nested_findings(results, _EXAMINATION[language])),
            vignette=vignette,
        ),
        truth=Truth(
            diagnoses=diagnoses,
            rationale=_points(value_at(record, fields.rationale)),
            treatment=_points(value_at(record, fields.treatment)),
            answers=answers,
        ),
        setting=fields.setting,
        question=question,
        source=fields.source,
        department=as_text(value_at(record, fields.department)),
        attachments=(Attachment(url=image),) if image else (),
    )


def _diagnoses(
    record: dict[str, Any], fields: CaseFields, options: dict[str, str], answers: tuple[str, ...]
) -> tuple[Diagnosis, ...]:
    """Returns the diagnoses; one that is said by the key or the text of an option is that option's."""
    of_options = tuple(Diagnosis(options[key]) for key in answers)
    if not fields.diagnoses:
        return of_options
    value = _needed(record, fields.diagnoses, "diagnosis")
    named = tuple(map(Diagnosis, _texts(value))) if isinstance(value, list) else ()
    if not named and options and set(read_keys(value, options)) == set(answers):
        return of_options
    return named or split_diagnoses(as_text(value))


def _understood(
    read: Callable[[str], T | None], record: dict[str, Any], field: str, what: str, allowed: str
) -> T | None:
    """Returns what a cell says, None of one that says nothing; what is not understood is a `BadInput`, and not lost."""
    text = as_text(value_at(record, field))
    found = read(text)
    if found is None and not is_unsaid(text):
        raise BadInput(f"{what} is {text!r}, which is not understood; {allowed}", field=f"$.{field}")
    return found


def _options(record: dict[str, Any], fields: CaseFields) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns the options of a question and the keys of the right ones; nothing where the record has none."""
    value = value_at(record, fields.options)
    if not fields.options or (not as_text(value) and "options" not in fields.needs and fields.diagnoses):
        return {}, ()
    if "+" in fields.options:
        value = [value_at(record, part) for part in fields.options.split("+")]
    options = read_options(_parted(literal(value)), place_of(fields.options))
    given = literal(value_at(record, fields.answer))
    if isinstance(given, list) and len(given) == len(options) and {*map(str, given)} <= _MARKED:
        given = [key for key, mark in zip(options, given, strict=True) if str(mark) in _RIGHT]
    return options, right_options(options, (given,), place_of(fields.answer))


def _parted(value: Any) -> Any:
    """Returns options; those of a line without letters stand between commas or semicolons."""
    if not isinstance(value, str) or "\n" in value:
        return value
    try:
        return read_options(value, "$")
    except BadInput:
        marks = ";；|" if any(mark in value for mark in ";；|") else ",，"
        return [part.strip() for part in split_outside(value, marks) if part.strip()]


def _texts(value: Any) -> list[str]:
    return [text for text in map(as_text, value if isinstance(value, list) else [value]) if text]


def _points(value: Any) -> tuple[str, ...]:
    return tuple(map(as_text, value)) if isinstance(value, list) else split_points(as_text(value))


def _needed(record: dict[str, Any], field: str, what: str) -> Any:
    return needed_at(record, field, f"a case needs its {what}")


class _PublishedFields(CaseFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    signs: frozenset[str]


_PUBLISHED = read_yaml(Path(__file__).with_name("layouts.yaml"), dict[str, _PublishedFields])
LAYOUTS = tuple(Layout(name, fields.signs, partial(_load, fields=fields)) for name, fields in _PUBLISHED.items())
