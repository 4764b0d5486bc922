"""What pathologists see: the knowledge of outpatients with the specimens of inpatients beside it.

`pathology.yaml` names specimens as examinations, and for diseases what is found in them. A disease that the knowledge
does not hold is passed over, so that a part of the knowledge can be selected first.
"""

from __future__ import annotations

import functools
from typing import Literal

import msgspec

from polyclinic.errors import BadInput
from polyclinic.knowledge.data import DATA, Data
from polyclinic.knowledge.entries import Distribution, Examination
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.yaml_files import read_yaml

_Findings = dict[str, dict[str, dict[Literal["all", "mild", "moderate", "severe"], Distribution]]]


class _Pathology(Data, frozen=True, kw_only=True):
    examinations: tuple[Examination, ...]
    findings: dict[str, _Findings]


@functools.cache
def _read() -> _Pathology:
    path = DATA / "pathology.yaml"
    read = read_yaml(path, _Pathology)
    items = {(e.id, item.id): item for e in read.examinations for item in e.items}
    for disease, examinations in read.findings.items():
        for examination, by_item in examinations.items():
            for name, by_severity in by_item.items():
                field = f"$.findings.{disease}.{examination}.{name}"
                if (examination, name) not in items:
                    raise BadInput("no such specimen or item", path=path, field=field)
                for distribution in by_severity.values():
                    if problem := items[examination, name].problem(distribution):
                        raise BadInput(problem, path=path, field=field)
    return read


@functools.cache
def with_pathology(knowledge: Knowledge) -> Knowledge:
    """Returns the knowledge with specimens among its examinations, and among the findings of its diseases.

    The same object for the same knowledge. Diseases that share no specimen with those that are here bring none.
    """
    read = _read()
    shown = {disease: found for disease, found in read.findings.items() if disease in knowledge.diseases}
    taken = {examination for found in shown.values() for examination in found}
    specimens = {e.id: e for e in read.examinations if e.id in taken}
    diseases = {
        disease.id: msgspec.structs.replace(disease, findings={**disease.findings, **shown.get(disease.id, {})})
        for disease in knowledge.diseases.values()
    }
    return msgspec.structs.replace(knowledge, examinations={**knowledge.examinations, **specimens}, diseases=diseases)
