"""What pathologists see: the knowledge of outpatients with the specimens of inpatients beside it.

`pathology.yaml` names specimens as examinations, and for diseases what is found in them. A disease that the knowledge
does not hold is passed over, so that a part of the knowledge can be selected first.
"""

from __future__ import annotations

import functools

import msgspec

from polyclinic.errors import BadInput
from polyclinic.knowledge.data import DATA, Data
from polyclinic.knowledge.entries import DiseaseFindings, Examination
from polyclinic.knowledge.knowledge import Knowledge, finding_problems
from polyclinic.yaml_files import read_yaml


class _Pathology(Data):
    examinations: tuple[Examination, ...]
    findings: dict[str, DiseaseFindings]


@functools.cache
def _read() -> _Pathology:
    path = DATA / "pathology.yaml"
    read = read_yaml(path, _Pathology)
    specimens = {e.id: e for e in read.examinations}
    for disease, findings in read.findings.items():
        where = f"$.findings.{disease}"
        unknown = [(f"no such specimen {id!r}", where) for id in findings if id not in specimens]
        for problem, field in unknown or finding_problems(findings, specimens, where):
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
