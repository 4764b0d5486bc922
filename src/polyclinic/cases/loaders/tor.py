"""Tree-of-Reasoning's layout: inpatient records with an options question (appendix of the paper).

Several options can be right. A physical examination with labelled parts ("Nose: ...") becomes a finding a part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.chinese_findings import physical_findings
from polyclinic.cases.loaders.fields import (
    WORDS,
    age_in_years,
    as_text,
    nested_findings,
    read_keys,
    read_options,
    same_options,
    sex_of,
    split_diagnoses,
)
from polyclinic.cases.loaders.layout import Layout
from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
from polyclinic.language.clauses import at_marks
from polyclinic.language.language import Language, language_of


class _TorWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stem: str
    laboratory: str
    imaging: dict[str, str]
    history: dict[str, str] = {}


_words = WORDS.section("tor", _TorWords)

_PART = re.compile(r"(?:^|(?<=[.;。；]\s)|(?<=[.;。；]))([A-Z][A-Za-z ]{2,24}):\s*(?=\S)")
_VITAL_SIGNS = re.compile(r"^\s*(?:T|P|R|BP|HR|Temperature)\s*[:：]\s*\d")


def load(record: dict[str, Any], order: int) -> Case:
    """Reads a Tree-of-Reasoning record; the id is its number in the file."""
    # Copies of the data set write the keys with hyphens, underscores or blanks.
    fields = {re.sub(r"[\s_]+", "-", key.strip().lower()): value for key, value in record.items()}
    complaint = as_text(fields.get("chief-complaints")) or as_text(fields.get("chief-complaint"))
    if not complaint:
        raise BadInput("a case needs a complaint", field="$.Chief-Complaints")
    question, answers = _question(fields, order, language_of([complaint]))
    given = fields.get("diagnosis")
    if isinstance(given, list):
        diagnoses = tuple(Diagnosis(name) for name in map(as_text, given) if name)
    else:
        diagnoses = split_diagnoses(as_text(given))
    if not diagnoses and question:
        diagnoses = tuple(Diagnosis(question.options[key]) for key in answers if key in question.options)
    if not diagnoses:
        raise BadInput("a case needs its diagnoses", field="$.Diagnosis")
    if question and (problem := _contradiction(question.options, answers, diagnoses)):
        raise BadInput(problem, field="$.Label")
    told = {name: as_text(fields[key]) for key, name in _words("en").history.items() if as_text(fields.get(key))}
    history = msgspec.convert(told, History)
    language = language_of([complaint, history.present])
    presentation = Presentation(
        complaint=complaint,
        language=language,
        age=age_in_years(as_text(fields.get("age"))),
        sex=sex_of(as_text(fields.get("sex"))),
    )
    return Case(
        id=str(order),
        record=Record(presentation=presentation, history=history, findings=tuple(_findings(fields, language))),
        truth=Truth(diagnoses=diagnoses, answers=answers),
        question=question,
        source="Tree-of-Reasoning",
        department=as_text(fields.get("department")),
    )


def _question(fields: dict[str, Any], order: int, language: Language) -> tuple[Question | None, tuple[str, ...]]:
    if not fields.get("options"):
        return None, ()
    options = read_options(fields["options"], "$.Options")
    if same := same_options(options):
        problem = f"two options are the same, {same[0]} and {same[1]}: {options[same[1]]!r}; each once"
        raise BadInput(problem, field="$.Options")
    question = Question(id=str(order), stem=_words(language).stem, options=options, language=language, several=True)
    return question, read_keys(fields.get("label"), options)


def _contradiction(options: dict[str, str], answers: tuple[str, ...], diagnoses: tuple[Diagnosis, ...]) -> str:
    """Returns how the right options and the diagnoses contradict each other; "" where they do not, or nobody can tell.

    An option and a diagnosis are the same in the same words; a diagnosis in other words may be any of the options.
    """
    if not answers or any(key not in options for key in answers):
        return ""
    by_name = {_bare(text): key for key, text in options.items()}
    if len(by_name) < len(options):
        return ""
    meant = [(one.name, by_name[_bare(one.name)]) for one in diagnoses if _bare(one.name) in by_name]
    label = ", ".join(answers)
    if more := [f"{name!r} (option {key})" for name, key in meant if key not in answers]:
        return f"Diagnosis has {more[0]}, and Label does not: {label}; one of the two is wrong"
    lacking = [key for key in answers if key not in {key for _, key in meant}]
    if lacking and len(meant) == len(diagnoses):
        return f"Label {label} has {options[lacking[0]]!r} (option {lacking[0]}), and Diagnosis does not; one is wrong"
    return ""


def _bare(name: str) -> str:
    return " ".join(re.findall(r"\w+", name.casefold()))


def _findings(fields: dict[str, Any], language: Language) -> Iterator[Finding]:
    words, physical = _words(language), as_text(fields.get("physical-examination"))
    yield from physical_findings(physical) if language == "zh" else _physical(physical)
    laboratory = fields.get("laboratory-examination")
    if isinstance(laboratory, str) and laboratory.lstrip().startswith("{"):
        # What is no JSON after all is read out as the text that it is.
        with suppress(msgspec.DecodeError, RecursionError):
            laboratory = msgspec.json.decode(laboratory)
    yield from nested_findings(laboratory, words.laboratory, str)
    for key, name in words.imaging.items():
        if text := as_text(fields.get(key)):
            yield Finding(examination=name, value=text)


def _physical(text: str) -> Iterator[Finding]:
    before, parts = at_marks(text, _PART.finditer(text))
    if lead := before.strip():
        item = "Vital signs" if parts and _VITAL_SIGNS.match(lead) else ""
        yield Finding(examination="physical examination", item=item, value=lead)
    for part, behind in parts:
        if value := behind.strip():
            yield Finding(examination="physical examination", item=part[1], value=value)


_SIGNS = ("Chief-Complaints", "Chief-Complaint", "Chief_Complaints", "Chief Complaints", "Present-Illness")
LAYOUTS = (Layout("tor", frozenset(_SIGNS), load, keys_once=True),)
