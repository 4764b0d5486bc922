"""What each part of a memory does, once it is full: tests of the same memory with less of it (§5.2, §5.3.3, §6.2).

With records alone, with experience alone and with both; with k of 0 to 10 of each; and one patient answered in the
three ways, with what came to mind (Figure 14, Table 1). Nothing is learnt in any of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from polyclinic.evaluations.evolution.patients import PracticePatient
from polyclinic.evaluations.evolution.practice import BOTH, Practice, Remembers, TaskDone
from polyclinic.memory.entries import ClinicalTask, Experience, MedicalRecord
from polyclinic.memory.library import of
from polyclinic.statistics.uncertainty import mcnemar, paired_difference

MODES = {"experience only": Remembers(records=False), "records only": Remembers(experience=False), "both": BOTH}
"""What is used of a memory; the last is all of it."""

KS = tuple(range(11))
"""How many of each come to mind (§6.2); 3 is the paper's in the hospital."""

_BOTH = "both"
_SHOWN = 3
"""Records, and principles, that are shown of one patient."""

_Treated = Sequence[Mapping[ClinicalTask, TaskDone]]


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """How much more is right with all of a memory than with a part, patient by patient.

    Attributes:
        over: the part.
        difference: in points, with the ends of its 95 % interval; None where there is none (see `Difference`).
        p: McNemar's, exact.
    """

    task: ClinicalTask
    over: str
    difference: float
    low: float | None
    high: float | None
    p: float


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
    """The tests of one memory.

    Attributes:
        n: patients of the test.
        right: of each mode and task, how many were treated rightly.
        gains: of all over each part.
        by_k: of each k and task, how many were treated rightly with k of each.
        study: one patient; None where there is none.
    """

    n: int
    right: dict[str, dict[ClinicalTask, int]]
    gains: tuple[Gain, ...]
    by_k: dict[int, dict[ClinicalTask, int]]
    study: CaseStudy | None


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
