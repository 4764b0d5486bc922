"""AIE: doctors question a patient in turns, then choose a diagnosis among options (aie-saps §4).

1. Every doctor sees every patient; the patient gives each of the doctor's turns a state.
2. After the dialogue the doctor answers the case's question from what it collected.
3. Beside it MCQE: the doctor reads all there is to know, without a dialogue, and answers the same question.
4. Ten metrics a dialogue, their means over the cases with errors and intervals, and every two doctors compared.

Visits do not depend on one another and run at once. A doctor whose answer cannot be used has a wrong diagnosis: nobody
gains by being unreadable. A visit that failed otherwise (an endpoint, the patient) is outside every mean, and counted.
Defaults are the paper's: dialogues of at most 10 turns in Chinese (HospitalCases) and 15 in English (MedicalExam), of
which the opening is one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import BadInput
from polyclinic.evaluations.aie.correlation import Correlations, correlate
from polyclinic.evaluations.aie.people import ViewByPeople, views_by_people
from polyclinic.evaluations.aie.results import MCQE, CutVisit, DoctorResult, cut, doctor_result
from polyclinic.evaluations.aie.tracking import with_states
from polyclinic.evaluations.evaluation import Play
from polyclinic.evaluations.evaluation import Plays as AllPlays
from polyclinic.events import End, Event
from polyclinic.frames import Tabular
from polyclinic.judging.pairs import Judgements, View, judge_pairs
from polyclinic.judging.verdicts import PersonsVerdict
from polyclinic.language.language import Language
from polyclinic.metrics.conversation import TEN, MetricDifference, Score, Wanted, compare, measure, unusable
from polyclinic.metrics.dialogue import LeftOut, Unscorable, from_trace, unusable_answer
from polyclinic.models.model import Model
from polyclinic.players.minds import Minds
from polyclinic.tasks import AT_ONCE, run_all
from polyclinic.visits.visit import OURS, Staging, Visit, see

LIMITS: dict[Language, int] = {"zh": 10, "en": 15}
"""Turns of a dialogue, the opening among them, as published: HospitalCases are Chinese, MedicalExam is English."""

TURNS: dict[Language, int] = {language: limit - 1 for language, limit in LIMITS.items()}
"""The doctor's turns behind the opening."""


class AskedCase(NamedTuple):
    """A case with a question: the patient is questioned, or the whole record is read in one step."""

    case: Case
    one_step: bool = False


class AieResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """All doctors, and every two of them on the cases that both have seen; what a judge and people say, if they do.

    For one doctor there are no correlations between the indicators.
    """

    doctors: tuple[DoctorResult, ...]
    comparisons: tuple[MetricDifference, ...]
    judgements: Judgements | None = None
    people: dict[View, ViewByPeople] = {}
    correlations: Correlations | None = None


_Play = Play[AskedCase, Minds, Visit, Score | LeftOut]

Plays = Mapping[str, Sequence[_Play]]


def aie(
    cases: Sequence[Case],
    *,
    max_turns: int | None = None,
    metrics: Wanted = TEN,
    judge: Model | None = None,
    groups: Mapping[str, str] | None = None,
    people: Sequence[PersonsVerdict] = (),
    limits: dict[Language, int] = LIMITS,
    staging: Staging = OURS,
    truncated: bool = False,
    seed: int = 0,
) -> AllPlays[AskedCase, Minds, Visit, Score | LeftOut, AieResult]:
    """Returns the evaluation of cases with questions; its players are the minds of each doctor.

    A doctor speaks at most `max_turns` times; by default once less than the `limits` of a dialogue, as the opening
    counts. The judge compares every two doctors' dialogues on a case; correlations are within and between the doctors'
    groups. A `truncated` evaluation asks for the diagnosis also behind every earlier turn of each dialogue (Figure 6d).
    Of a patient that tracks no states they are asked afterwards, of its own model.

    Raises:
        BadInput: a case has no question.
    """
    without = [case.id for case in cases if case.question is None]
    if without:
        raise BadInput(f"{len(without)} cases have no question with options, such as {without[0]}")

    def turns(case: Case) -> int:
        return limits[case.presentation.language] - 1 if max_turns is None else max_turns

    async def play(asked: AskedCase, minds: Minds) -> Visit:
        case, one_step = asked
        meet = partial(see_patient, case, minds, one_step=one_step, max_turns=turns(case), staging=staging)
        visit = await minds.desk.play(case.id, meet)
        return visit if one_step else await with_states(case, visit, minds, staging=staging)

    async def score(asked: AskedCase, minds: Minds, visit: Visit) -> Score | LeftOut:
        del minds
        return score_choice(visit) if asked.one_step else await score_dialogue(asked.case, visit, metrics)

    async def summarise(plays: Plays) -> AieResult:
        cuts = await _cut(plays, staging=staging, turns=turns, truncated=truncated)
        doctors = tuple(
            doctor_result(name, cases, theirs, cuts=cuts[name], names=metrics.names, seed=seed)
            for name, theirs in plays.items()
        )
        here = {case.id for case in cases}
        said = [one for one in people if one.item[0] in here and {*one.item[1:]} <= plays.keys()]
        judgements = None
        if judge is not None:
            judgements = await judge_pairs({one.name: one.visits for one in doctors}, judge, cases=cases, seed=seed)
        return AieResult(
            doctors=doctors,
            comparisons=tuple(compare({one.name: one.summary for one in doctors}, seed=seed)),
            judgements=judgements,
            people=views_by_people(said, judgements, seed=seed),
            correlations=correlate(doctors, judgements, groups=groups, people=said) if len(doctors) > 1 else None,
        )

    asked = [AskedCase(case, one_step) for one_step in (False, True) for case in cases]
    return AllPlays(
        items=asked,
        play=play,
        score=score,
        summarise=summarise,
        sums_up_parts=True,
    )


async def _cut(
    plays: Plays, *, staging: Staging, turns: Callable[[Case], int], truncated: bool
) -> dict[str, list[CutVisit]]:
    """Returns each doctor's dialogues behind each of their turns."""

    def makes(theirs: Sequence[_Play]) -> Iterator[Callable[[], Awaitable[CutVisit | None]]]:
        for play in theirs:
            if not play.item.one_step:
                case, asked = play.item.case, play.player if truncated else None
                yield partial(cut, case, play.played, asked, staging=staging, max_turns=turns(case))

    return {
        name: [one for one in await run_all(makes(theirs), at_once=AT_ONCE) if one is not None]
        for name, theirs in plays.items()
    }


async def see_patient(
    case: Case,
    minds: Minds,
    *,
    one_step: bool = False,
    max_turns: int | None = None,
    staging: Staging = OURS,
    watch: Callable[[Event], None] | None = None,
) -> Visit:
    """Lets a doctor see the patient of a case, or read its record in one step, and then puts the case's question.

    The doctor has the paper's turns by default. `watch` is called with each event as it happens.
    """
    turns = TURNS[case.presentation.language] if max_turns is None else max_turns
    return await see(
        case, minds, max_turns=turns, in_one_step=one_step, put_question=True, staging=staging, watch=watch
    )


async def score_dialogue(case: Case, visit: Visit, metrics: Wanted = TEN) -> Score | LeftOut:
    """Scores a visit with a dialogue by the metrics, or says why there is no score.

    The diagnosis of a doctor whose answer could not be used is wrong.
    """
    problem = unusable_answer(visit.trace)
    if problem is not None:
        return unusable(case.id, problem, metrics.names)
    try:
        return await measure(from_trace(visit.trace, case, chosen=visit.answer), metrics)
    except Unscorable as unscorable:
        return LeftOut(case.id, str(unscorable), failed=visit.end is End.FAILED)


def score_choice(visit: Visit) -> Score | LeftOut:
    """Scores what was chosen in one step: MCQE, 0 where the doctor's answer could not be used."""
    if visit.end is End.FAILED and unusable_answer(visit.trace) is None:
        return LeftOut(visit.case, "the visit failed", failed=True)
    right = visit.answer in visit.truth.answers
    return Score(id=visit.case, values={MCQE: 100.0 * right}, counts={}, lengths=())
