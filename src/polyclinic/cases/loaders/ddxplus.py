"""DDXPlus's patients, a row each (Fansi Tchango et al., arXiv:2205.09148).

The rows have codes; what they mean stands in `release_evidences.json` and `release_conditions.json`, which the data set
puts beside them. Where these do not lie in the same folder, the codes stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.choices import literal
from polyclinic.cases.loaders.demographics import age_in_years, sex_of
from polyclinic.cases.loaders.wording import as_text
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
from polyclinic.files import NO_JSON
from polyclinic.opened_files import read_at_once

_EVIDENCES, _CONDITIONS = "release_evidences.json", "release_conditions.json"
_VALUE = "_@_"
_SCALE = 10
_SHORT = {"Y": "yes", "N": "no", "NA": "cannot say"}
# "Do you have a fever?" is told as "I have a fever"; what begins otherwise stays a question, with its answer.
_ASKED = re.compile(r"(?:(Do|Did|Have|Are|Were) you)\b(?! or any)\s*(.+)\?$", re.DOTALL)
_TOLD = {"Do": "I", "Did": "I did", "Have": "I have", "Are": "I am", "Were": "I was"}
_IN_TURN = (
    (r"\bor (?:do|did) you\b", "or I"),
    (r"\bor have you\b", "or I have"),
    (r"\bor are you\b", "or I am"),
    (r"\byou(?: are|['’]re)\b", "I am"),
    (r"\byou were\b", "I was"),
    (r"\byourself\b", "myself"),
    (r"\byour\b", "my"),
    (r"\b(wak\w+|keep\w*|prevent\w*|mak\w+|same height as|of) you\b", r"\1 me"),
    (r"\byou\b", "I"),
    (r"\bever ", ""),
)


class _PatientEvidence(msgspec.Struct, frozen=True):
    question_en: str = ""
    is_antecedent: bool = False
    value_meaning: dict[str, dict[str, Any]] = {}
    possible_values: list[Any] = msgspec.field(name="possible-values", default_factory=list)


class _PatientCondition(msgspec.Struct, frozen=True):
    icd10: str = msgspec.field(name="icd10-id", default="")
    english: str = msgspec.field(name="cond-name-eng", default="")


def load(record: dict[str, Any], order: int, beside: Path = Path()) -> Case:
    """Reads a DDXPlus row; the id is its number in the file. The files of names lie in the folder `beside`."""
    evidences = _read(beside / _EVIDENCES, _PatientEvidence)
    conditions = _read(beside / _CONDITIONS, _PatientCondition)
    pathology = as_text(record.get("PATHOLOGY"))
    if not pathology:
        raise BadInput("a case needs its diagnosis", field="$.PATHOLOGY")
    held = literal(record.get("EVIDENCES"))
    if not isinstance(held, list) or not held:
        raise BadInput(
            "a case needs its evidences, a list of codes such as ['E_91', 'E_55_@_V_29']", field="$.EVIDENCES"
        )
    codes = [as_text(code) for code in held]
    initial = as_text(record.get("INITIAL_EVIDENCE")) or codes[0]
    by_code: dict[str, list[str]] = {}
    for code in codes:
        name, _, value = code.partition(_VALUE)
        by_code.setdefault(name, []).extend([value] if value else [])
    said = {name: _told(name, values, evidences.get(name)) for name, values in by_code.items()}
    begin = initial.partition(_VALUE)[0]
    past = [text for name, text in said.items() if name in evidences and evidences[name].is_antecedent]
    symptoms = [text for name, text in said.items() if text not in past and name != begin]
    about = conditions.get(pathology, _PatientCondition())
    # Some conditions have several codes, and each is one of them.
    icd10 = re.split(r"[,;\s]+", about.icd10.strip().upper())[0]
    return Case(
        id=as_text(record.get("id")) or str(order),
        record=Record(
            presentation=Presentation(
                complaint=said.get(begin) or _told(begin, (), evidences.get(begin)),
                age=age_in_years(as_text(record.get("AGE"))),
                sex=sex_of(as_text(record.get("SEX"))),
            ),
            history=History(symptoms=tuple(symptoms), past="; ".join(past)),
        ),
        truth=Truth(
            diagnoses=(Diagnosis(about.english or pathology, icd10=icd10 or None),),
            differential=tuple(_differential(record, pathology)),
        ),
        setting="online",
        source="DDXPlus (arXiv:2205.09148)",
    )


def _differential(record: dict[str, Any], pathology: str) -> Iterable[str]:
    listed = literal(record.get("DIFFERENTIAL_DIAGNOSIS"))
    for one in listed if isinstance(listed, list) else ():
        name = as_text(one[0] if isinstance(one, list | tuple) and one else one)
        if name and name != pathology:
            yield name


def _told(code: str, values: Iterable[str], evidence: _PatientEvidence | None) -> str:
    """Returns how a patient says that it has something: "I have a fever", "Where is the swelling located: nose"."""
    if evidence is None or not evidence.question_en:
        return ": ".join(part for part in (code, ", ".join(values)) if part)
    meant = [_meaning(value, evidence) for value in values]
    asked = " ".join(evidence.question_en.split())
    found = _ASKED.match(asked)
    told = f"{_TOLD[found[1]]} {_in_turn(found[2])}" if found else _in_turn(asked)
    if meant:
        return f"{told.rstrip(' ?:')}: {', '.join(meant)}"
    return told if found else f"{told} Yes"


def _meaning(value: str, evidence: _PatientEvidence) -> str:
    known = evidence.value_meaning.get(value, {})
    if text := as_text(known.get("en")):
        return _SHORT.get(text, text)
    numbers = [one for one in evidence.possible_values if isinstance(one, int)]
    return f"{value} of {_SCALE}" if numbers and max(numbers) == _SCALE and value.isdecimal() else value


def _in_turn(text: str) -> str:
    """Returns what was said to the patient as the patient says it."""
    for pattern, mine in _IN_TURN:
        text = re.sub(pattern, mine, text)
    return text


def _read(path: Path, kind: Any) -> Mapping[str, Any]:
    """Returns a file of names by code; nothing where there is none."""
    try:
        about = path.stat()
    except OSError:
        return {}
    return _decoded(path, kind, about.st_mtime_ns)


@lru_cache(maxsize=8)
def _decoded(path: Path, kind: Any, _changed: int) -> Mapping[str, Any]:
    try:
        read: Mapping[str, Any] = msgspec.json.decode(read_at_once(path), type=dict[str, kind])
    except (BadInput, *NO_JSON) as error:
        raise BadInput(f"{path.name}, which has the names of the codes, cannot be read ({error})") from None
    return read
