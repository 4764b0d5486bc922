"""What each part of a memory does, once it is full: tests of the same memory with less of it (§5.2, §5.3.3, §6.2).

With records alone, with experience alone and with both; with k of 0 to 10 of each; and one patient answered in the
three ways, with what came to mind (Figure 14, Table 1). Nothing is learnt in any of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from rich.table import Table

from polyclinic.evaluations.evolution.patients import PracticePatient
from polyclinic.evaluations.evolution.practice import BOTH, Practice, Remembers, TaskDone
from polyclinic.memory.entries import ClinicalTask, Experience, MedicalRecord
from polyclinic.memory.library import of
from polyclinic.statistics.uncertainty import mcnemar, paired_difference
from polyclinic.terminal.figures import low_to_high, number
from polyclinic.terminal.tables import p_value, table

MODES = {"experience only": Remembers(records=False), "records only": Remembers(experience=False), "both": BOTH}
"""What is used of a memory; the last is all of it."""

KS = tuple(range(11))  # How many of each come to mind (§6.2); 3 is the paper's in the hospital

_BOTH = "both"
_SHOWN = 3  # Records, and principles, that are shown of one patient

T = TypeVar("T")

TASKS = tuple(task.value for task in ClinicalTask)

_Treated = Sequence[Mapping[ClinicalTask, TaskDone]]


def percent(right: Mapping[ClinicalTask, int], n: int) -> dict[str, float]:
    """Returns the share of each task in per cent."""
    return {task.value: 100 * right[task] / n for task in ClinicalTask}


def percent_cells(right: Mapping[ClinicalTask, int], n: int) -> list[str]:
    """Returns the same as cells of a table."""
    return [number(share, ".1f") for share in percent(right, n).values()]


def by_task(counts: Mapping[ClinicalTask, int]) -> dict[str, int]:
    """Returns counts by the name of the task."""
    return {task.value: counts[task] for task in ClinicalTask}


def thinned(points: Sequence[T], most: int) -> list[T]:
    """Returns so many of the points at most, evenly, the first and the last among them."""
    if len(points) <= most:
        return list(points)
    step = (len(points) - 1) / (most - 1)
    return [points[round(n * step)] for n in range(most)]


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """How much more is right with all of a memory than with a part, patient by patient."""

    task: ClinicalTask
    over: str  # the part
    difference: float  # in points, with the ends of its 95 % interval; None where there is none (see `Difference`)
    low: float | None
    high: float | None
    p: float  # McNemar's, exact


class NearCase(msgspec.Struct, frozen=True, kw_only=True):
    """Something that came to mind: of whom, how like that patient was, and what it says."""

    case: str
    cosine: float
    says: str


class AnswerShown(msgspec.Struct, frozen=True, kw_only=True):
    """An answer on one patient, with the first few of what came to mind for it."""

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
    """The tests of one memory."""

    n: int  # patients of the test
    right: dict[str, dict[ClinicalTask, int]]  # of each mode and task, how many were treated rightly
    gains: tuple[Gain, ...]  # of all over each part
    by_k: dict[int, dict[ClinicalTask, int]]  # of each k and task, how many were treated rightly with k of each
    study: CaseStudy | None  # one patient; None where there is none

    def document(self) -> dict[str, Any]:
        """Returns it as plain values; shares in per cent."""
        return {
            "right": {name: percent(right, self.n) for name, right in self.right.items()},
            "both_over": [msgspec.to_builtins(gain) for gain in self.gains],
            "by_k": [{"k": k, **percent(right, self.n)} for k, right in self.by_k.items()],
            "one_patient": None if self.study is None else msgspec.to_builtins(self.study),
        }

    def parts_table(self, right: Mapping[str, Mapping[ClinicalTask, int]]) -> Table:
        """Returns how many were treated rightly with parts of the memory."""
        shown = table("\nthe memory at the end, with parts of it, in per cent", ("with", *TASKS))
        for name, counts in right.items():
            shown.add_row(name, *percent_cells(counts, self.n))
        return shown

    def gains_table(self) -> Table:
        """Returns the gains of all of the memory over parts of it."""
        shown = table("\nboth over", ("part", "task", "points", "95 % interval", "p"), left=2)
        for gain in self.gains:
            ends = low_to_high(gain.low, gain.high, "+.1f", " to ")
            shown.add_row(gain.over, gain.task.value, number(gain.difference, "+.1f"), ends, p_value(gain.p))
        return shown


async def ablate(practice: Practice, test: Sequence[PracticePatient], *, ks: Sequence[int] = KS) -> Ablations:
    """Tests a memory with parts of it, and with k of each."""
    treated = {name: await practice.using(part).test(test, when=name) for name, part in MODES.items()}
    by_k = {k: _right(await practice.using(BOTH, k=k).test(test, when=f"k = {k}")) for k in ks}
    return Ablations(
        n=len(test),
        right={name: _right(one) for name, one in treated.items()},
        gains=tuple(_gains(treated)),
        by_k=by_k,
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
        for over in MODES:
            if over == _BOTH or not whole:
                continue
            part = _flags(treated[over], task)
            apart = paired_difference([100.0 * one for one in whole], [100.0 * one for one in part])
            low, high = (None if end is None else round(end, 4) for end in (apart.low, apart.high))
            mean = round(apart.mean or 0.0, 4)
            gains.append(Gain(task=task, over=over, difference=mean, low=low, high=high, p=mcnemar(whole, part)))
    return gains


def _study(test: Sequence[PracticePatient], treated: Mapping[str, _Treated]) -> CaseStudy | None:
    """Returns the patient on whom the parts differ most from the whole, which is right in as much as may be."""
    if not test:
        return None

    def telling(place: int) -> tuple[int, int, int]:
        right = {name: [_flags([came[place]], task)[0] for task in ClinicalTask] for name, came in treated.items()}
        wrong = [sum(not one for one in right[name]) for name in MODES if name != _BOTH]
        return sum(right[_BOTH]), min(wrong), sum(wrong)

    # A part that is wrong in everything says less than one that is wrong in something.
    place = max(range(len(test)), key=lambda one: (telling(one)[0], telling(one)[1] > 0, -telling(one)[2], -one))
    patient = test[place]
    answers = {name: {task: _shown(done) for task, done in came[place].items()} for name, came in treated.items()}
    choices = patient.choices
    return CaseStudy(
        case=patient.case.id,
        symptoms=patient.symptoms,
        disease=patient.disease.name.get(choices.language),
        severity=next(grade for grade, severity in choices.grades.items() if severity == patient.severity),
        answers=answers,
    )


def _shown(done: TaskDone) -> AnswerShown:
    brought = done.brought
    records: Sequence[MedicalRecord] = of(brought.records, brought.near_records)[:_SHOWN]
    experience: Sequence[Experience] = of(brought.experience, brought.near_experience)[:_SHOWN]
    return AnswerShown(
        answer=done.answered.label,
        is_right=done.is_right,
        reasoning=done.answered.reasoning,
        records=tuple(
            NearCase(case=one.asked.case, cosine=float(cosine), says=one.answer)
            for one, cosine in zip(records, brought.near_records.cosines.tolist(), strict=False)
        ),
        experience=tuple(
            NearCase(case=one.asked.case, cosine=float(cosine), says=one.principle)
            for one, cosine in zip(experience, brought.near_experience.cosines.tolist(), strict=False)
        ),
    )
