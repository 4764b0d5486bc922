"""DDXPlus's patients, a row each (Fansi Tchango et al., arXiv:2205.09148).

The rows have codes; what they mean stands in `release_evidences.json` and `release_conditions.json`, which the data set
puts beside them. Where these do not lie in the same folder, the codes stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.asked_told import told
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
_KIN = re.compile(r"\b(?:family|mother|father|parents?|brothers?|sisters?)\b")
_OWN = re.compile(r"I (?:have had|or)\b")


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
    before = [text for name, text in said.items() if name in evidences and evidences[name].is_antecedent]
    family = [text for text in before if _is_of_family(text)]
    symptoms = [text for name, text in said.items() if text not in before and name != begin]
    listed = list(_differential(record))
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
            history=History(
                symptoms=tuple(symptoms),
                past="; ".join(text for text in before if text not in family),
                family="; ".join(family),
            ),
        ),
        truth=Truth(
            diagnoses=(Diagnosis(about.english or pathology, icd10=icd10 or None),),
            differential=tuple(name for name, _ in listed if name != pathology),
            probabilities=tuple((name, share) for name, share in listed if share is not None) or msgspec.UNSET,
        ),
        setting="online",
        source="DDXPlus (arXiv:2205.09148)",
    )


def _differential(record: dict[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Yields the diseases of the differential diagnosis, each with its probability where there is one."""
    listed = literal(record.get("DIFFERENTIAL_DIAGNOSIS"))
    for one in listed if isinstance(listed, list) else ():
        pair = one if isinstance(one, list | tuple) else [one]
        share: Any = pair[1] if len(pair) > 1 else None
        if name := as_text(pair[0] if pair else ""):
            is_share = isinstance(share, float) or (isinstance(share, int) and not isinstance(share, bool))
            yield name, float(share) if is_share and 0 <= share <= 1 else None


def _told(code: str, values: Sequence[str], evidence: _PatientEvidence | None) -> str:
    """Returns how a patient says that it has something: "I have a fever", "The swelling is located in the nose"."""
    if evidence is None or not evidence.question_en:
        return ": ".join(part for part in (code, ", ".join(values)) if part)
    meant = [as_text(evidence.value_meaning.get(value, {}).get("en")) or value for value in values]
    numbers = [one for one in evidence.possible_values if isinstance(one, int)]
    return told(evidence.question_en, meant, max(numbers, default=None))


def _is_of_family(told: str) -> bool:
    """Whether it is told of the family alone."""
    return _KIN.search(told) is not None and _OWN.match(told) is None


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
