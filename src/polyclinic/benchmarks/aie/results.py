"""What AIE comes to for one doctor: the metrics, MCQE, and by length, turn and source (aie-saps §2.6, Figures 6b-d)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from polyclinic.benchmarks.aie.truncation import ByLength, CutVisit, truncated
from polyclinic.benchmarks.benchmark import Play
from polyclinic.cases.case import Case
from polyclinic.events import Said, State
from polyclinic.frames import Tabular
from polyclinic.metrics.conversation import METRICS, ConversationSummary, Score, summarise
from polyclinic.metrics.dialogue import LeftOut, Unscorable, from_trace
from polyclinic.statistics.uncertainty import Estimate, estimate, share_estimate
from polyclinic.visits.visit import Visit

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
