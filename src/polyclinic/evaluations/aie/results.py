"""What AIE comes to for one doctor: the metrics, MCQE, and by length, turn and source (aie-saps §2.6, Figures 6b-d)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import EndpointError, PlayFailure
from polyclinic.evaluations.evaluation import Play
from polyclinic.events import Examined, Said, State
from polyclinic.frames import Tabular
from polyclinic.metrics.conversation import METRICS, ConversationSummary, Score, covered, summarise
from polyclinic.metrics.dialogue import LeftOut, Unscorable, from_trace
from polyclinic.players.minds import Minds
from polyclinic.players.player import choose_from
from polyclinic.players.roles.doctor import Doctor
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.results.output import trace_places
from polyclinic.statistics.uncertainty import Estimate, estimate, share_estimate
from polyclinic.visits.visit import Staging, Visit


class ByLength(msgspec.Struct, frozen=True, kw_only=True):
    """Dialogues of one length: how often the diagnosis was right, and how much was collected.

    Of dialogues that were cut, `diagnosis` is over nothing where it was not asked for behind each cut.
    """

    diagnosis: Estimate
    coverage: Estimate


class CutVisit(msgspec.Struct, frozen=True):
    """One dialogue by length: COVERAGE in percent, and whether the choice was right; None where none could be had."""

    coverage: tuple[float, ...]
    right: tuple[bool | None, ...] = ()


async def cut(case: Case, visit: Visit, minds: Minds | None, *, staging: Staging, max_turns: int) -> CutVisit | None:
    """Returns a dialogue behind each of its turns, with choices where there are minds to ask; None where unscorable.

    A choice that cannot be used is wrong, one that an endpoint did not give is none.
    """
    try:
        dialogue = from_trace(visit.trace, case)
    except Unscorable:
        return None
    lengths = range(1, len(dialogue.turns) + 1)
    coverage = tuple(covered(msgspec.structs.replace(dialogue, turns=dialogue.turns[:n])) or 0.0 for n in lengths)
    if minds is None or case.question is None:
        return CutVisit(coverage)
    asked = [_right(case, visit, n - 1, partial(_doctor, case, minds, staging, max_turns)) for n in lengths[:-1]]
    return CutVisit(coverage, (*await asyncio.gather(*asked), visit.answer in visit.truth.answers))


def _doctor(case: Case, minds: Minds, staging: Staging, max_turns: int) -> Doctor:
    """Returns a doctor of the case who has heard nothing yet."""
    return Doctor(
        minds.doctor(case.id),
        staging.known_to_doctor(case.presentation, record=False),
        max_turns=max_turns,
        setting=staging.case(case).setting,
        dialogue_alone=staging.dialogue_alone,
        concludes=staging.concludes,
    )


async def _right(case: Case, visit: Visit, turns: int, doctor_of: Callable[[], Doctor]) -> bool | None:
    """Asks for the choice after so many turns of the doctor, and says whether it is right."""
    assert case.question is not None  # noqa: S101
    doctor = doctor_of()
    for event in visit.trace:
        if isinstance(event, Said | Examined) and event.turn <= turns:
            doctor.observe(event)
    try:
        choice = await doctor.act(choose_from(case.question))
    except EndpointError:
        return None
    except PlayFailure:
        return False
    return choice.answer in case.truth.answers


def truncated(cuts: Sequence[CutVisit], seed: int) -> dict[int, ByLength]:
    """Returns what all dialogues come to at each length; a shorter one counts as it ended."""
    longest = max((len(one.coverage) for one in cuts), default=0)
    asked = bool(cuts) and all(one.right for one in cuts)
    found: dict[int, ByLength] = {}
    for n in range(longest):
        coverage = [one.coverage[min(n, len(one.coverage) - 1)] for one in cuts]
        right = [one.right[min(n, len(one.right) - 1)] for one in cuts] if asked else []
        found[n + 1] = ByLength(
            diagnosis=share_estimate([100.0 * one for one in right if one is not None]),
            coverage=estimate(coverage, seed=seed),
        )
    return found


MCQE = "MCQE"


class BySource(msgspec.Struct, frozen=True, kw_only=True):
    """Cases of one source: right answers after the dialogue and having read everything (Figure 6b)."""

    diagnosis: Estimate
    mcqe: Estimate


class DoctorResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How one doctor did.

    Attributes:
        mcqe: right answers, in percent, of the doctor who reads everything.
        mcqe_failed: questions that were not answered, by a failure with a name; outside the mean.
        by_length: DIAGNOSIS and COVERAGE of the dialogues that ended of themselves after so many turns of the doctor.
        truncated: the same of all dialogues, cut behind so many turns, the opening among them (Figure 6d); DIAGNOSIS
            where it was asked for behind each.
        by_turn: for each turn, the shares of the states, in percent (Figure 6c).
        visits: those with dialogue, in the order of the cases.
        recalled: passages that the patient's tracker took for the answer, in all dialogues.
        near: how many of them it gave in other words, and were matched to the nearest.
        chosen: by case, whether the doctor who reads everything chose rightly.
    """

    name: str
    summary: ConversationSummary
    mcqe: Estimate
    mcqe_failed: int
    by_length: dict[int, ByLength]
    truncated: dict[int, ByLength] = {}
    by_turn: dict[int, dict[State, float]]
    by_source: dict[str, BySource]
    visits: tuple[Visit, ...]
    recalled: int = 0
    near: int = 0
    chosen: dict[str, bool] = {}


def doctor_result(
    name: str,
    cases: Sequence[Case],
    plays: Sequence[Play[Any, Any, Visit, Score | LeftOut]],
    *,
    cuts: Sequence[CutVisit] = (),
    names: Sequence[str] = METRICS,
    seed: int = 0,
) -> DoctorResult:
    """Sums up a doctor's plays: the dialogues case by case, then the records that were read in one step."""
    dialogues = [play for play in plays if not play.item.one_step]
    at_once = [play for play in plays if play.item.one_step]
    visits = tuple(play.played for play in dialogues)
    scores = [play.scored for play in dialogues if isinstance(play.scored, Score)]
    left_out = [play.scored for play in dialogues if isinstance(play.scored, LeftOut)]
    answered = [play.scored for play in at_once if isinstance(play.scored, Score)]
    said = [event for visit in visits for event in visit.trace if isinstance(event, Said)]
    return DoctorResult(
        name=name,
        summary=summarise(scores, names=names, left_out=left_out, seed=seed),
        mcqe=_mean(answered, MCQE, seed),
        chosen={str(score.id): bool(score.values[MCQE]) for score in answered if MCQE in score.values},
        mcqe_failed=len(at_once) - len(answered),
        by_length=_by_length(scores, {visit.case: visit.turns for visit in visits}, seed),
        truncated=truncated(cuts, seed),
        by_turn=_actions_by_turn(visits),
        by_source=_by_source(cases, [*scores, *answered], seed),
        visits=visits,
        recalled=sum(event.recalled for event in said),
        near=sum(event.near for event in said),
    )


def _mean(scores: Iterable[Score], metric: str, seed: int) -> Estimate:
    values = [score.values[metric] for score in scores if metric in score.values]
    return share_estimate(values) if metric in (MCQE, "DIAGNOSIS") else estimate(values, seed=seed)


def _by_length(scores: Iterable[Score], turns: Mapping[str, int], seed: int) -> dict[int, ByLength]:
    groups: dict[int, list[Score]] = {}
    for score in scores:
        groups.setdefault(turns[str(score.id)], []).append(score)
    return {
        n: ByLength(diagnosis=_mean(group, "DIAGNOSIS", seed), coverage=_mean(group, "COVERAGE", seed))
        for n, group in sorted(groups.items())
    }


def _actions_by_turn(visits: Iterable[Visit]) -> dict[int, dict[State, float]]:
    """Returns percent of the visits that can be scored and have such a turn; they sum to 100."""
    counts: dict[int, Counter[State]] = {}
    for visit in visits:
        with suppress(Unscorable):
            for number, turn in enumerate(from_trace(visit.trace).turns):
                if number:
                    counts.setdefault(number, Counter())[turn.state] += 1
    return {
        turn: {state: 100 * count / states.total() for state, count in sorted(states.items())}
        for turn, states in sorted(counts.items())
    }


def _by_source(cases: Sequence[Case], scores: Iterable[Score], seed: int) -> dict[str, BySource]:
    source = {case.id: case.source for case in cases}
    groups: dict[str, list[Score]] = {name: [] for name in source.values()}
    for score in scores:
        groups[source[str(score.id)]].append(score)
    return {
        name: BySource(diagnosis=_mean(group, "DIAGNOSIS", seed), mcqe=_mean(group, MCQE, seed))
        for name, group in groups.items()
    }


_NUMBERS = ("AVG_TURN", "AVG_LEN")
_SHARES = ("DIAGNOSIS", MCQE)
"""Of dialogues; the others are means of what each dialogue has, which may happen to be all or nothing."""


def aie_rows(doctor: DoctorResult, file: str, *, seed: int) -> Iterator[ItemRow]:
    """Yields the metrics of each case, and MCQE; a visit that failed has none."""
    named = doctor.summary.metrics
    scores = {
        str(score.id): {name: value for name, value in score.values.items() if name in named}
        for score in doctor.summary.scores
    }
    # The paper's mean length is that of all turns.
    turns = {str(score.id): len(score.lengths) for score in doctor.summary.scores}
    at = trace_places(file, doctor.visits)
    for visit in doctor.visits:
        values = dict(scores.get(visit.case, {}))
        if visit.case in doctor.chosen:
            values[MCQE] = 100.0 * doctor.chosen[visit.case]
        yield ItemRow(
            item=visit.case,
            values=values,
            weights={"AVG_LEN": float(turns[visit.case])} if "AVG_LEN" in values else {},
            model=doctor.name,
            seed=seed,
            end=str(visit.end),
            at=at[visit.case],
        )


def aie_measures(doctor: DoctorResult) -> list[ItemMeasure]:
    """Returns what the rows have values of."""
    return [
        ItemMeasure(name=name, percent=name not in _NUMBERS, share=name in _SHARES)
        for name in (*doctor.summary.metrics, MCQE)
    ]
