"""How a visit of AIE is held and scored, and what a dialogue was worth after each of its turns (aie-saps §4).

A doctor whose answer cannot be used has a wrong diagnosis. A visit that failed otherwise (an endpoint, the patient) is
outside every mean, and counted. Dialogues have at most 10 turns in Chinese (HospitalCases) and 15 in English
(MedicalExam) by default, including the opening, as in the paper.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import EndpointError, PlayFailure
from polyclinic.events import End, Examined, Said, State
from polyclinic.frames import Tabular
from polyclinic.language.language import Language
from polyclinic.metrics.conversation import (
    MCQE,
    TEN,
    ConversationSummary,
    Score,
    Wanted,
    covered,
    kind_of,
    measure,
    summarise,
    unusable,
)
from polyclinic.metrics.dialogue import LeftOut, Unscorable, from_trace, unusable_answer
from polyclinic.players.minds import Minds
from polyclinic.players.player import choose_from
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.staging import Staging
from polyclinic.statistics.uncertainty import Estimate, estimate, share_estimate
from polyclinic.visits.visit import Visit

LIMITS: dict[Language, int] = {"zh": 10, "en": 15}
"""Turns of a dialogue, including the opening, as published: HospitalCases are Chinese, MedicalExam is English."""

G = TypeVar("G")

Means = dict[str, Estimate]
"""Means by metric, in lower case."""


class CutVisit(NamedTuple):
    """One dialogue, turn by turn."""

    coverage: tuple[float, ...]  # if it had ended with the turn, in percent
    right: tuple[bool | None, ...] = ()  # whether the choice had then been right; None if there was no answer
    states: tuple[State, ...] = ()  # what the turn was to the patient


class AskedCase(NamedTuple):
    """A case with a question: the patient is questioned, or the whole record is read in one step."""

    case: Case
    one_step: bool = False


class ScoredVisit(NamedTuple):
    """The score of a visit, and of a dialogue what it was worth after each of its turns."""

    score: Score | LeftOut
    cut: CutVisit | None = None


class DoctorResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How one doctor did."""

    name: str
    summary: ConversationSummary
    mcqe: Estimate  # right answers, in percent, of the doctor who reads everything
    mcqe_failed: int  # questions that were not answered because of a failure; outside the mean
    by_length: dict[int, Means]  # of the dialogues that ended by themselves after so many turns of the doctor
    truncated: dict[int, Means] = {}  # of all dialogues, cut after so many turns including the opening (Figure 6d)
    by_turn: dict[int, dict[State, float]]  # for each turn, the shares of the states, in percent (Figure 6c)
    by_source: dict[str, Means]  # of the cases of each source (Figure 6b)
    visits: tuple[Visit, ...]  # those with dialogue, in the order of the cases
    recalled: int = 0  # passages that the patient's tracker took for the answer, in all dialogues
    near: int = 0  # how many of them it gave in other words, and were matched to the nearest
    values: dict[str, dict[str, float | list[float]]] = {}  # by case and metric; of AVG_LEN those of all turns


async def score_visit(asked: AskedCase, visit: Visit, metrics: Wanted = TEN) -> Score | LeftOut:
    """Scores a dialogue by the metrics, or a choice in one step as MCQE; or says why there is no score."""
    case, problem = asked.case, unusable_answer(visit.trace)
    if asked.one_step:
        if visit.end is End.FAILED and problem is None:
            return LeftOut(case.id, "the visit failed", failed=True)
        return Score(id=case.id, values={MCQE: 100.0 * (visit.answer in visit.truth.answers)}, counts={}, lengths=())
    if problem is not None:
        return unusable(case.id, problem, metrics.names)
    try:
        return await measure(from_trace(visit.trace, case, chosen=visit.answer), metrics)
    except Unscorable as unscorable:
        return LeftOut(case.id, str(unscorable), failed=visit.end is End.FAILED)


async def cut_dialogue(
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
            staging=staging,
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


def _means(scores: Iterable[Score], metrics: Sequence[str], seed: int) -> Means:
    found = {}
    for metric in metrics:
        values = [score.values[metric] for score in scores if metric in score.values]
        found[metric.lower()] = share_estimate(values) if kind_of(metric).share else estimate(values, seed=seed)
    return found


def _means_by(group: Mapping[str, G], scores: Sequence[Score], metrics: Sequence[str], seed: int) -> dict[G, Means]:
    """Returns means by the group of each case."""
    groups = {name: [one for one in scores if group[str(one.id)] == name] for name in group.values()}
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


def doctor_result(
    name: str, played: Sequence[tuple[AskedCase, Visit, ScoredVisit]], *, metrics: Sequence[str], seed: int
) -> DoctorResult:
    """Sums up the visits of a doctor."""
    dialogues = [(asked.case, visit, scored) for asked, visit, scored in played if not asked.one_step]
    cuts = [scored.cut for *_, scored in dialogues if scored.cut is not None]
    visits = tuple(visit for _, visit, _ in dialogues)
    scores = [scored.score for *_, scored in dialogues if isinstance(scored.score, Score)]
    left_out = [scored.score for *_, scored in dialogues if isinstance(scored.score, LeftOut)]
    at_once = [scored.score for asked, _, scored in played if asked.one_step]
    answered = [one for one in at_once if isinstance(one, Score)]
    said = [event for visit in visits for event in visit.trace if isinstance(event, Said)]
    values: defaultdict[str, dict[str, float | list[float]]] = defaultdict(dict)
    for one in (*scores, *answered):
        lengths = {"AVG_LEN": list(map(float, one.lengths))}
        values[str(one.id)] |= {
            metric: lengths.get(metric, value) for metric, value in one.values.items() if metric in (*metrics, MCQE)
        }
    by_length = _means_by({one.case: one.turns for one in visits}, scores, ("DIAGNOSIS", "COVERAGE"), seed)
    sources = {asked.case.id: asked.case.source for asked, *_ in played}
    return DoctorResult(
        name=name,
        summary=summarise(scores, names=metrics, left_out=left_out, seed=seed),
        mcqe=_means(answered, (MCQE,), seed)["mcqe"],
        mcqe_failed=len(at_once) - len(answered),
        by_length=dict(sorted(by_length.items())),
        truncated=truncated_at(cuts, seed),
        by_turn=_states_by_turn(cuts),
        by_source=_means_by(sources, [*scores, *answered], ("DIAGNOSIS", MCQE), seed),
        visits=visits,
        recalled=sum(event.recalled for event in said),
        near=sum(event.near for event in said),
        values=values,
    )
