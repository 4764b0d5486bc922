"""AIE: doctors question a patient in turns, then choose a diagnosis among options (aie-saps §4).

1. Every doctor sees every patient; the patient gives each of the doctor's turns a state.
2. After the dialogue the doctor answers the case's question from what it collected.
3. Beside it MCQE: the doctor reads all there is to know, without a dialogue, and answers the same question.
4. Ten metrics a dialogue, their means over the cases with errors and intervals, and every two doctors compared.

A doctor whose answer cannot be used has a wrong diagnosis. A visit that failed otherwise (an endpoint, the patient) is
outside every mean, and counted. Dialogues have at most 10 turns in Chinese (HospitalCases) and 15 in English
(MedicalExam) by default, including the opening, as in the paper.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import BadInput, EndpointError, PlayFailure
from polyclinic.evaluations.aie.correlation import Correlations, correlate
from polyclinic.evaluations.aie.people import ViewByPeople, views_by_people
from polyclinic.evaluations.aie.tracking import with_states
from polyclinic.evaluations.evaluation import Play, Plays
from polyclinic.events import End, Event, Examined, Said, State
from polyclinic.frames import Tabular
from polyclinic.judging.pairs import Judgements, View, judge_pairs
from polyclinic.judging.verdicts import PersonsVerdict
from polyclinic.language.language import Language
from polyclinic.metrics.conversation import (
    MCQE,
    TEN,
    ConversationSummary,
    MetricDifference,
    Score,
    Wanted,
    check_measured,
    compare,
    covered,
    measure,
    unusable,
)
from polyclinic.metrics.conversation import summarise as summarise_scores
from polyclinic.metrics.dialogue import LeftOut, Unscorable, from_trace, unusable_answer
from polyclinic.models.model import Model
from polyclinic.players.minds import Minds
from polyclinic.players.player import choose_from
from polyclinic.players.roles.doctor import Doctor
from polyclinic.statistics.uncertainty import Estimate, estimate, share_estimate
from polyclinic.visits.visit import OURS, Staging, Visit, see

LIMITS: dict[Language, int] = {"zh": 10, "en": 15}
"""Turns of a dialogue, including the opening, as published: HospitalCases are Chinese, MedicalExam is English."""

TURNS: dict[Language, int] = {language: limit - 1 for language, limit in LIMITS.items()}
"""The doctor's turns after the opening."""

Means = dict[str, Estimate]
"""Means by metric, in lower case."""


class AskedCase(NamedTuple):
    """A case with a question: the patient is questioned, or the whole record is read in one step."""

    case: Case
    one_step: bool = False


class DoctorResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How one doctor did.

    Attributes:
        mcqe: right answers, in percent, of the doctor who reads everything.
        mcqe_failed: questions that were not answered because of a failure; outside the mean.
        by_length: diagnosis and coverage of the dialogues that ended by themselves after so many turns of the doctor.
        truncated: the same of all dialogues, cut after so many turns including the opening (Figure 6d); the diagnosis
            is over nothing unless it was asked for after each cut.
        by_turn: for each turn, the shares of the states, in percent (Figure 6c).
        by_source: diagnosis and mcqe of the cases of each source (Figure 6b).
        visits: those with dialogue, in the order of the cases.
        recalled: passages that the patient's tracker took for the answer, in all dialogues.
        near: how many of them it gave in other words, and were matched to the nearest.
        chosen: by case, whether the doctor who reads everything chose rightly.
    """

    name: str
    summary: ConversationSummary
    mcqe: Estimate
    mcqe_failed: int
    by_length: dict[int, Means]
    truncated: dict[int, Means] = {}
    by_turn: dict[int, dict[State, float]]
    by_source: dict[str, Means]
    visits: tuple[Visit, ...]
    recalled: int = 0
    near: int = 0
    chosen: dict[str, bool] = {}


class AieResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """All doctors, and every two of them on the cases that both have seen; what a judge and people say, if they do."""

    doctors: tuple[DoctorResult, ...]
    comparisons: tuple[MetricDifference, ...]
    judgements: Judgements | None = None
    people: dict[View, ViewByPeople] = {}
    correlations: Correlations | None = None


class CutVisit(NamedTuple):
    """One dialogue, turn by turn.

    Attributes:
        coverage: if it had ended with the turn, in percent.
        right: whether the choice had then been right; None if there was no answer.
        states: what the turn was to the patient.
    """

    coverage: tuple[float, ...]
    right: tuple[bool | None, ...] = ()
    states: tuple[State, ...] = ()


class ScoredVisit(NamedTuple):
    """The score of a visit, and of a dialogue what it was worth after each of its turns."""

    score: Score | LeftOut
    cut: CutVisit | None = None


AiePlay = Play[AskedCase, Minds, Visit, ScoredVisit]


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
) -> Plays[AskedCase, Minds, Visit, ScoredVisit, AieResult]:
    """Returns the evaluation of cases with questions; its players are the minds of each doctor.

    A doctor speaks at most `max_turns` times; by default once less than the `limits` of a dialogue, as the opening
    counts. The judge compares every two doctors' dialogues on a case; correlations are within and between the doctors'
    groups. A `truncated` evaluation also asks for the diagnosis after every earlier turn of each dialogue (Figure 6d).
    If a patient tracks no states, they are asked afterwards, of its own model.

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
        visit = await see_patient(case, minds, one_step=one_step, max_turns=turns(case), staging=staging)
        return visit if one_step else await with_states(case, visit, minds, staging=staging)

    async def score(asked: AskedCase, minds: Minds, visit: Visit) -> ScoredVisit:
        case, one_step = asked
        if one_step:
            return ScoredVisit(score_choice(visit))
        cut = await _cut(case, visit, minds, staging=staging, max_turns=turns(case), choices=truncated)
        return ScoredVisit(await score_dialogue(case, visit, metrics), cut)

    def doctor(name: str, plays: Sequence[AiePlay]) -> DoctorResult:
        dialogues = [play for play in plays if not play.item.one_step]
        cuts = [play.scored.cut for play in dialogues if play.scored.cut is not None]
        at_once = [play.scored.score for play in plays if play.item.one_step]
        visits = tuple(play.played for play in dialogues)
        scores = [one.scored.score for one in dialogues if isinstance(one.scored.score, Score)]
        left_out = [one.scored.score for one in dialogues if isinstance(one.scored.score, LeftOut)]
        answered = [one for one in at_once if isinstance(one, Score)]
        said = [event for visit in visits for event in visit.trace if isinstance(event, Said)]
        length, source = {visit.case: visit.turns for visit in visits}, {case.id: case.source for case in cases}
        return DoctorResult(
            name=name,
            summary=summarise_scores(scores, names=metrics.names, left_out=left_out, seed=seed),
            mcqe=_means(answered, (MCQE,), seed)["mcqe"],
            chosen={str(one.id): bool(one.values[MCQE]) for one in answered if MCQE in one.values},
            mcqe_failed=len(at_once) - len(answered),
            by_length=dict(sorted(_by(length, scores, ("DIAGNOSIS", "COVERAGE"), seed).items())),
            truncated=truncated_at(cuts, seed),
            by_turn=_states_by_turn(cuts),
            by_source=_by(source, [*scores, *answered], ("DIAGNOSIS", MCQE), seed),
            visits=visits,
            recalled=sum(event.recalled for event in said),
            near=sum(event.near for event in said),
        )

    async def summarise(plays: Mapping[str, Sequence[AiePlay]]) -> AieResult:
        doctors = tuple(doctor(name, theirs) for name, theirs in plays.items())
        here = {case.id for case in cases}
        said = [one for one in people if one.item[0] in here and {*one.item[1:]} <= plays.keys()]
        judgements = None
        if judge is not None:
            judgements = await judge_pairs({one.name: one.visits for one in doctors}, judge, cases=cases, seed=seed)
        return AieResult(
            doctors=doctors,
            comparisons=compare({one.name: one.summary for one in doctors}, seed=seed),
            judgements=judgements,
            people=views_by_people(said, judgements, seed=seed),
            correlations=correlate(doctors, judgements, groups=groups, people=said) if len(doctors) > 1 else None,
        )

    items = [AskedCase(case, one_step) for one_step in (False, True) for case in cases]
    return Plays(
        items=items,
        play=play,
        score=score,
        summarise=summarise,
        visit=lambda asked: asked.case.id,
    )


def check_result(metrics: Wanted, result: AieResult) -> None:
    """Raises a BrokenMetric if a metric of the user's measured nothing."""
    check_measured(metrics, (one.summary.scores for one in result.doctors))


async def see_patient(
    case: Case,
    minds: Minds,
    *,
    one_step: bool = False,
    max_turns: int | None = None,
    staging: Staging = OURS,
    watch: Callable[[Event], None] | None = None,
) -> Visit:
    """Lets a doctor see the patient of a case, or read its record in one step, and then puts the case's question."""
    turns = TURNS[case.presentation.language] if max_turns is None else max_turns
    return await see(
        case, minds, max_turns=turns, in_one_step=one_step, put_question=True, staging=staging, watch=watch
    )


async def score_dialogue(case: Case, visit: Visit, metrics: Wanted = TEN) -> Score | LeftOut:
    """Scores a visit with a dialogue by the metrics, or says why there is no score."""
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


async def _cut(
    case: Case, visit: Visit, minds: Minds, *, staging: Staging, max_turns: int, choices: bool
) -> CutVisit | None:
    """Returns a dialogue after each of its turns, if wanted with the doctor's choices; None if unscorable."""
    try:
        dialogue = from_trace(visit.trace, case)
    except Unscorable:
        return None
    lengths, states = range(1, len(dialogue.turns) + 1), tuple(turn.state for turn in dialogue.turns)
    coverage = tuple(covered(msgspec.structs.replace(dialogue, turns=dialogue.turns[:n])) or 0.0 for n in lengths)
    question = case.question
    if not choices or question is None:
        return CutVisit(coverage, states=states)

    async def is_right(turns: int) -> bool | None:
        """Asks for the choice after so many turns of the doctor."""
        doctor = Doctor(
            minds.doctor(case.id),
            staging.known_to_doctor(case.presentation, record=False),
            max_turns=max_turns,
            setting=staging.case(case).setting,
            dialogue_alone=staging.dialogue_alone,
            concludes=staging.concludes,
        )
        for event in visit.trace:
            if isinstance(event, Said | Examined) and event.turn <= turns:
                doctor.observe(event)
        try:
            return (await doctor.act(choose_from(question))).answer in case.truth.answers
        except EndpointError:
            return None
        except PlayFailure:
            return False

    asked = await asyncio.gather(*(is_right(n - 1) for n in lengths[:-1]))
    return CutVisit(coverage, (*asked, visit.answer in visit.truth.answers), states)


def truncated_at(cuts: Sequence[CutVisit], seed: int) -> dict[int, Means]:
    """Returns the means of all dialogues at each length; a shorter one counts as it ended."""
    asked = bool(cuts) and all(one.right for one in cuts)
    found: dict[int, Means] = {}
    for n in range(max((len(one.coverage) for one in cuts), default=0)):
        coverage = [one.coverage[min(n, len(one.coverage) - 1)] for one in cuts]
        right = [one.right[min(n, len(one.right) - 1)] for one in cuts] if asked else []
        diagnosis = share_estimate([100.0 * one for one in right if one is not None])
        found[n + 1] = {"diagnosis": diagnosis, "coverage": estimate(coverage, seed=seed)}
    return found


def _means(scores: Sequence[Score], metrics: Iterable[str], seed: int) -> Means:
    found = {}
    for metric in metrics:
        values = [score.values[metric] for score in scores if metric in score.values]
        is_share = metric in (MCQE, "DIAGNOSIS")
        found[metric.lower()] = share_estimate(values) if is_share else estimate(values, seed=seed)
    return found


def _by(group: Mapping[str, Any], scores: Iterable[Score], metrics: Sequence[str], seed: int) -> dict[Any, Means]:
    """Returns means by the group of each case."""
    groups: dict[Any, list[Score]] = {name: [] for name in group.values()}
    for score in scores:
        groups[group[str(score.id)]].append(score)
    return {name: _means(some, metrics, seed) for name, some in groups.items()}


def _states_by_turn(cuts: Sequence[CutVisit]) -> dict[int, dict[State, float]]:
    """Returns by turn the percent of each state, of the dialogues that can be scored and have such a turn."""
    counts: defaultdict[int, Counter[State]] = defaultdict(Counter)
    for cut in cuts:
        for number, state in enumerate(cut.states[1:], start=1):
            counts[number][state] += 1
    return {
        turn: {state: 100 * count / states.total() for state, count in sorted(states.items())}
        for turn, states in sorted(counts.items())
    }
