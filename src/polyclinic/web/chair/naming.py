"""Whether somebody has named what a patient has: by the relation of the names, or by the name of the record's own code.

A record may give a severity a code whose name is another disease's: a chronic bronchitis that has got worse is J44.1,
which is called a chronic obstructive pulmonary disease with acute exacerbation. Who says so is right of this patient.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from polyclinic.cases.report import Report
from polyclinic.cases.truth import Truth
from polyclinic.judges.director_by_rules import Link
from polyclinic.knowledge.disease_names.known import known_relation
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.metrics.accuracy import RIGHT, Verdict, verdict
from polyclinic.yaml_files import read_yaml


def is_named(name: str, truth: Truth, knowledge: Knowledge) -> bool:
    """Whether a name is that of what a patient has, or of a kind of it."""
    wanted = [*(one.name for one in truth.diagnoses), *(title for _, title in _coded(truth))]
    return any(known_relation(name, one, knowledge) in RIGHT for one in wanted)


def verdict_by_code(report: Report | None, truth: Truth, knowledge: Knowledge) -> Verdict:
    """Returns what a report is worth; see `metrics.accuracy.verdict`."""
    found = verdict(report, truth, knowledge)
    if found is not Verdict.WRONG or report is None:
        return found
    return Verdict.RIGHT if is_named(report.diagnoses[0].name, truth, knowledge) else found


def link_by_code(truth: Truth, knowledge: Knowledge) -> Link:
    """Returns what gives names the codes of a record, where they are those of its diagnoses."""
    named = {one.name: one.icd10 for one in truth.diagnoses}

    def link(name: str) -> frozenset[str]:
        if name in named:
            return frozenset(filter(None, [named[name]]))
        return frozenset(code for code, title in _coded(truth) if known_relation(name, title, knowledge) in RIGHT)

    return link


def _coded(truth: Truth) -> Iterator[tuple[str, str]]:
    """Yields the codes of a record's diagnoses with what they are called, in both languages."""
    for one in truth.diagnoses:
        for title in _titles().get(one.icd10 or "", ()):
            yield one.icd10 or "", title


@functools.cache
def _titles() -> dict[str, tuple[str, str]]:
    return read_yaml(Path(__file__).with_name("codes.yaml"), dict[str, tuple[str, str]])
