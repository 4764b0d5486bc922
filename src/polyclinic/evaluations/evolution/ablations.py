"""The effect of each part of a full memory: tests of the same memory with less of it (§5.2, §5.3.3, §6.2).

With records alone, with experience alone and with both; with k of 0 to 10 of each; and one patient answered in the
three ways, with what came to mind (Figure 14, Table 1). Nothing is learnt in any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from rich.table import Table

from polyclinic.evaluations.evolution.patients import PracticePatient
from polyclinic.evaluations.evolution.practice import BOTH, Practice, Remembers, TaskDone
from polyclinic.memory.entries import ClinicalTask
from polyclinic.memory.library import Found
from polyclinic.statistics.uncertainty import mcnemar, paired_difference
from polyclinic.terminal.figures import low_to_high, number
from polyclinic.terminal.tables import p_value, table

_BOTH = "both"
MODES = {"experience only": Remembers(records=False), "records only": Remembers(experience=False), _BOTH: BOTH}
"""The parts of a memory that are used; the last is all of it."""

KS = tuple(range(11))
"""Numbers of records and of principles to recall (§6.2); 3 is the paper's in the hospital."""

_SHOWN = 3  # records, and principles, shown of one patient

T = TypeVar("T")

TASKS = tuple(task.value for task in ClinicalTask)

_Treated = Sequence[Mapping[ClinicalTask, TaskDone]]


def percent(right: Mapping[ClinicalTask, int], n: int) -> dict[str, float]:
    """Returns the share of each task in per cent."""
    return {task.value: 100 * right[task] / n for task in ClinicalTask}


def percent_cells(right: Mapping[ClinicalTask, int], n: int) -> list[str]:
    """Returns the same as cells of a table."""
    return [number(share, ".1f") for share in percent(right, n).values()]


def thinned(points: Sequence[T], most: int) -> list[T]:
    """Returns at most so many of the points, evenly spaced, with the first and the last."""
    if len(points) <= most:
        return list(points)
    step = (len(points) - 1) / (most - 1)
    return [points[round(n * step)] for n in range(most)]


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """How many more answers are right with all of a memory than with a part of it, patient by patient.

    Attributes:
        over: the part.
        difference: in points; `low` and `high` are the ends of its 95 % interval, None if there is none.
        p: McNemar's, exact.
    """

    task: ClinicalTask
    over: str
    difference: float
    low: float | None
    high: float | None
    p: float


class NearCase(msgspec.Struct, frozen=True, kw_only=True):
    """A record or principle that came to mind: its patient, their likeness, and its text."""

    case: str
    cosine: float
    says: str


class AnswerShown(msgspec.Struct, frozen=True, kw_only=True):
    """An answer on one patient, with the first few records and principles that came to mind."""

    answer: str
    is_right: bool
    reasoning: str
    records: tuple[NearCase, ...]
    experience: tuple[NearCase, ...]


class CaseStudy(msgspec.Struct, frozen=True, kw_only=True):
    """One patient in every mode."""

    case: str
    symptoms: str
    disease: str
    severity: str
    answers: dict[str, dict[ClinicalTask, AnswerShown]]


class Ablations(msgspec.Struct, frozen=True, kw_only=True):
    """The tests of one memory on `n` patients.

    Attributes:
        right: for each mode and task, how many patients were treated rightly.
        gains: of all of the memory over each part.
        by_k: for each k and task, how many patients were treated rightly with k records and k principles.
        study: one patient.
    """

    n: int
    right: dict[str, dict[ClinicalTask, int]]
    gains: tuple[Gain, ...]
    by_k: dict[int, dict[ClinicalTask, int]]
    study: CaseStudy

    def document(self) -> dict[str, Any]:
        """Returns it as plain values; shares in per cent."""
        return {
            "right": {name: percent(right, self.n) for name, right in self.right.items()},
            "both_over": msgspec.to_builtins(self.gains),
            "by_k": [{"k": k, **percent(right, self.n)} for k, right in self.by_k.items()],
            "one_patient": msgspec.to_builtins(self.study),
        }

    def parts_table(self, right: Mapping[str, Mapping[ClinicalTask, int]]) -> Table:
        """Returns how many patients were treated rightly with parts of the memory."""
        rows = ((name, *percent_cells(counts, self.n)) for name, counts in right.items())
        return table("\nthe memory at the end, with parts of it, in per cent", ("with", *TASKS), rows)

    def gains_table(self) -> Table:
        """Returns the gains of all of the memory over parts of it."""
        shown = table("\nboth over", ("part", "task", "points", "95 % interval", "p"), left=2)
        for gain in self.gains:
            ends = low_to_high(gain.low, gain.high, "+.1f", " to ")
            shown.add_row(gain.over, gain.task.value, number(gain.difference, "+.1f"), ends, p_value(gain.p))
        return shown


async def ablate(practice: Practice, test: Sequence[PracticePatient], *, ks: Sequence[int] = KS) -> Ablations:
    """Tests a memory with parts of it, and with k records and k principles."""
    treated = {name: await practice.using(part).test(test, when=name) for name, part in MODES.items()}
    return Ablations(
        n=len(test),
        right={name: _right(one) for name, one in treated.items()},
        gains=tuple(_gains(treated)),
        by_k={k: _right(await practice.using(BOTH, k=k).test(test, when=f"k = {k}")) for k in ks},
        study=_study(test, treated),
    )


def _right(treated: _Treated) -> dict[ClinicalTask, int]:
    return {task: sum(_flags(treated, task)) for task in ClinicalTask}


def _flags(treated: _Treated, task: ClinicalTask) -> list[bool]:
    return [task in came and came[task].is_right for came in treated]


def _gains(treated: Mapping[str, _Treated]) -> list[Gain]:
    gains = []
    for task in ClinicalTask:
        whole = _flags(treated[_BOTH], task)
        for over in list(MODES)[:-1]:
            part = _flags(treated[over], task)
            apart = paired_difference([100.0 * one for one in whole], [100.0 * one for one in part])
            mean, low, high = (None if end is None else round(end, 4) for end in (apart.mean, apart.low, apart.high))
            gains.append(Gain(task=task, over=over, difference=mean or 0.0, low=low, high=high, p=mcnemar(whole, part)))
    return gains


def _study(test: Sequence[PracticePatient], treated: Mapping[str, _Treated]) -> CaseStudy:
    """Returns the patient for whom the whole is right as often as possible, and the parts differ from it most."""

    def telling(place: int) -> tuple[int, bool, int, int]:
        right = {name: sum(_flags([came[place]], task)[0] for task in ClinicalTask) for name, came in treated.items()}
        wrong = [len(TASKS) - right[name] for name in MODES if name != _BOTH]
        # A part that is wrong in everything says less than one that is wrong in something.
        return right[_BOTH], min(wrong) > 0, -sum(wrong), -place

    place = max(range(len(test)), key=telling)
    patient = test[place]
    choices = patient.choices
    return CaseStudy(
        case=patient.case.id,
        symptoms=patient.symptoms,
        disease=patient.disease.name.get(choices.language),
        severity=next(grade for grade, severity in choices.grades.items() if severity == patient.severity),
        answers={name: {task: _shown(done) for task, done in came[place].items()} for name, came in treated.items()},
    )


def _shown(done: TaskDone) -> AnswerShown:
    brought = done.brought
    return AnswerShown(
        answer=done.answered.label,
        is_right=done.is_right,
        reasoning=done.answered.reasoning,
        records=_nearest(brought.records, lambda one: one.answer),
        experience=_nearest(brought.experience, lambda one: one.principle),
    )


def _nearest(found: Found[Any], says: Callable[[Any], str]) -> tuple[NearCase, ...]:
    return tuple(NearCase(case=one.asked.case, cosine=cosine, says=says(one)) for one, cosine in found.pairs[:_SHOWN])
