"""AIE: doctors question a patient in turns, then choose a diagnosis among options (aie-saps §4).

1. Every doctor sees every patient; the patient gives each of the doctor's turns a state.
2. After the dialogue the doctor answers the case's question from what it collected.
3. Beside it MCQE: the doctor reads all there is to know, without a dialogue, and answers the same question.
4. Ten metrics a dialogue, their means over the cases with errors and intervals, and every two doctors compared.

Visits do not depend on one another and run at once. A doctor whose answer cannot be used has a wrong diagnosis: nobody
gains by being unreadable. A visit that failed otherwise (an endpoint, the patient) is outside every mean, and counted.
Defaults are the paper's: at most 10 turns in Chinese (HospitalCases) and 15 in English (MedicalExam).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from polyclinic.benchmarks.aie.studies import ByLength, BySource, actions_by_turn, by_length, by_source
from polyclinic.cases.case import Case
from polyclinic.errors import BadInput
from polyclinic.events import End, State
from polyclinic.metrics.comparison import MetricDifference, compare
from polyclinic.metrics.conversation import ConversationSummary, Score, score, summarise, unusable
from polyclinic.metrics.dialogue import LeftOut, Unscorable, from_trace, unusable_answer
from polyclinic.players.minds import Minds
from polyclinic.statistics.uncertainty import Estimate, estimate
from polyclinic.tasks import run_all
from polyclinic.visits.visit import Visit, see

TURNS = {"zh": 10, "en": 15}
"""The doctor's turns, as in the paper: HospitalCases are Chinese, MedicalExam is English."""


class Doctor(msgspec.Struct, frozen=True, kw_only=True):
    """How one doctor did.

    Attributes:
        name: the doctor's mind.
        summary: the ten metrics, dialogue by dialogue and their means.
        mcqe: right answers, in percent, of the doctor who reads everything.
        mcqe_failed: questions that were not answered, by a failure with a name; outside the mean.
        by_length: DIAGNOSIS and COVERAGE by the number of the doctor's turns (Figure 6d).
        by_turn: for each turn, the shares of the states, in percent (Figure 6c).
        by_source: DIAGNOSIS and MCQE for each source of the cases (Figure 6b).
        visits: the visits with dialogue, in the order of the cases.
    """

    name: str
    summary: ConversationSummary
    mcqe: Estimate
    mcqe_failed: int
    by_length: dict[int, ByLength]
    by_turn: dict[int, dict[State, float]]
    by_source: dict[str, BySource]
    visits: tuple[Visit, ...]


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """All doctors, and every two of them on the cases that both have seen."""

    doctors: tuple[Doctor, ...]
    comparisons: tuple[MetricDifference, ...]


async def evaluate(
    cases: Sequence[Case],
    doctors: dict[str, Minds],
    *,
    max_turns: int | None = None,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> Evaluation:
    """Runs the evaluation.

    Args:
        cases: each with a question.
        doctors: for each doctor by name, who plays its visits.
        max_turns: the doctor's turns; the paper's by default.
        seed: of the bootstrap.
        advance: called after each visit; there are two a doctor and case.

    Raises:
        BadInput: a case has no question.
    """
    without = [case.id for case in cases if case.question is None]
    if without:
        raise BadInput(f"{len(without)} cases have no question with options, such as {without[0]}")

    async def visit(case: Case, minds: Minds, *, one_step: bool) -> Visit:
        turns = max_turns or TURNS[case.presentation.language]
        visit = await see(case, minds, max_turns=turns, in_one_step=one_step, put_question=True)
        advance()
        return visit

    seen = await run_all(
        partial(visit, case, minds, one_step=one_step)
        for minds in doctors.values()
        for one_step in (False, True)
        for case in cases
    )
    n = len(cases)
    results = tuple(
        _doctor(name, cases, seen[2 * n * i : 2 * n * i + n], seen[2 * n * i + n : 2 * n * (i + 1)], seed)
        for i, name in enumerate(doctors)
    )
    compared = compare({doctor.name: doctor.summary for doctor in results}, seed=seed)
    return Evaluation(doctors=results, comparisons=tuple(compared))


def _doctor(
    name: str, cases: Sequence[Case], with_dialogue: Sequence[Visit], at_once: Sequence[Visit], seed: int
) -> Doctor:
    scores: list[Score] = []
    left_out: list[LeftOut] = []
    for case, visit in zip(cases, with_dialogue, strict=True):
        problem = unusable_answer(visit.trace)
        if problem is not None:
            scores.append(unusable(case.id, problem))
            continue
        try:
            scores.append(score(from_trace(visit.trace, case, chosen=visit.answer)))
        except Unscorable as unscorable:
            left_out.append(LeftOut(case.id, str(unscorable), failed=visit.end is End.FAILED))
    answered = [visit for visit in at_once if visit.end is not End.FAILED or unusable_answer(visit.trace)]
    turns = {visit.case: visit.turns for visit in with_dialogue}
    return Doctor(
        name=name,
        summary=summarise(scores, left_out=left_out, seed=seed),
        mcqe=estimate([100.0 * (visit.answer in visit.truth.answers) for visit in answered], seed=seed),
        mcqe_failed=len(at_once) - len(answered),
        by_length=by_length(scores, turns, seed=seed),
        by_turn=actions_by_turn(with_dialogue),
        by_source=by_source(cases, scores, at_once, seed=seed),
        visits=tuple(with_dialogue),
    )
