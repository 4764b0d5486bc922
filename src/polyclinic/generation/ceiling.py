"""How well the diseases of the knowledge can be told apart at all: a Bayesian reader of everything, as the upper bound.

Measured before and after each examination, so that a set of cases is seen to be neither trivial nor impossible.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.record import Finding
from polyclinic.errors import BadInput
from polyclinic.knowledge.bayes import Reader, normalise
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.statistics.uncertainty import wilson


class Step(msgspec.Struct, frozen=True):
    """How often the reader is right after reading something, in percent, with Wilson's 95 % interval."""

    read: str
    percent: float
    low: float
    high: float


class Ceiling(msgspec.Struct, frozen=True, kw_only=True):
    """The reader's accuracy on a set of cases.

    Attributes:
        confusion: how often each disease (row) was read as each (column), having read all findings.
    """

    n: int  # cases whose principal diagnosis the knowledge holds; only they count
    left_out: int
    percent: float  # right, having read all findings; `stated`: how probable the reader held it, on average
    stated: float
    steps: tuple[Step, ...]  # right after the history alone, with each examination alone, and with all
    diseases: tuple[str, ...]  # names, in the order of the confusion matrix, and so are the names of their departments
    departments: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]

    def by_department(self) -> dict[str, tuple[int, int, int]]:
        """Returns, for each department that has cases: how many, how many right, how many read as another's disease."""
        found: dict[str, tuple[int, int, int]] = {}
        for place, (row, department) in enumerate(zip(self.confusion, self.departments, strict=True)):
            elsewhere = sum(n for n, other in zip(row, self.departments, strict=True) if other != department)
            cases, right, lost = found.get(department, (0, 0, 0))
            if sum(row):
                found[department] = (cases + sum(row), right + row[place], lost + elsewhere)
        return found


def measure(cases: Sequence[Case], knowledge: Knowledge) -> Ceiling:
    """Reads every case in full and counts how often the most probable disease is the true one."""
    reader = Reader(knowledge)
    diseases = list(knowledge.diseases)
    examinations = [e.id for e in knowledge.examinations.values()]
    right = dict.fromkeys(["", *examinations, "all"], 0)
    confusion = [[0] * len(diseases) for _ in diseases]
    named = {name.casefold(): e.id for e in knowledge.examinations.values() for name in e.names()}
    n, stated = 0, 0.0
    for case in cases:
        truth = knowledge.disease_named(case.truth.diagnoses[0].name)
        if truth is None:
            continue
        n += 1
        wanted = diseases.index(truth.id)
        said, history = reader.read_history(case.record)
        everything = history.copy()
        reader.read_findings(case.record.findings, everything)
        read = {"": history, "all": everything}
        by_examination: dict[str, list[Finding]] = {}
        for finding in case.record.findings:
            by_examination.setdefault(named.get(finding.examination.casefold(), ""), []).append(finding)
        for examination in examinations:
            read[examination] = history.copy()
            reader.read_findings(by_examination.get(examination, ()), read[examination])
        for what, reading in read.items():
            right[what] += reader.likeliest(said + reading.log()) == wanted
        posterior = said + everything.log()
        sure = normalise(posterior)
        stated += float((reader.members[:-1] @ sure).max())
        confusion[wanted][reader.likeliest(posterior)] += 1
    if n == 0:
        known = ", ".join(d.name.en for d in knowledge.diseases.values())
        raise BadInput(f"none of the {len(cases)} cases has a disease that the knowledge holds ({known})")
    name = {"": "history alone", "all": "all findings"}
    name |= {e.id: f"history and {e.name.en}" for e in knowledge.examinations.values()}
    return Ceiling(
        n=n,
        left_out=len(cases) - n,
        percent=100 * right["all"] / n,
        stated=100 * stated / n,
        steps=tuple(Step(name[what], 100 * r / n, *wilson(r, n)) for what, r in right.items()),
        diseases=tuple(d.name.en for d in knowledge.diseases.values()),
        departments=tuple(knowledge.departments[d.department].name.en for d in knowledge.diseases.values()),
        confusion=tuple(map(tuple, confusion)),
    )
