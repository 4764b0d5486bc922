"""AIE's further looks at an evaluation: by length, by turn, by source (aie-saps §2.6, Figures 6b-d)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from polyclinic.cases.case import Case
from polyclinic.events import End, Role, Said, State
from polyclinic.metrics.conversation import Score
from polyclinic.metrics.dialogue import unusable_answer
from polyclinic.statistics.uncertainty import Estimate, estimate
from polyclinic.visits.visit import Visit


class ByLength(msgspec.Struct, frozen=True, kw_only=True):
    """Dialogues of one length: how often the diagnosis was right, and how much was collected (Figure 6d)."""

    diagnosis: Estimate
    coverage: Estimate


class BySource(msgspec.Struct, frozen=True, kw_only=True):
    """Cases of one source: right answers after the dialogue and having read everything (Figure 6b)."""

    diagnosis: Estimate
    mcqe: Estimate


def by_length(scores: Iterable[Score], turns: Mapping[str, int], *, seed: int = 0) -> dict[int, ByLength]:
    """Returns DIAGNOSIS and COVERAGE by the number of the doctor's turns.

    Args:
        scores: of the dialogues.
        turns: the doctor's turns, by case.
        seed: of the bootstrap.
    """
    groups: dict[int, list[Score]] = {}
    for score in scores:
        groups.setdefault(turns[str(score.id)], []).append(score)
    return {
        n: ByLength(
            diagnosis=estimate(_values(group, "DIAGNOSIS"), seed=seed),
            coverage=estimate(_values(group, "COVERAGE"), seed=seed),
        )
        for n, group in sorted(groups.items())
    }


def _values(scores: Iterable[Score], metric: str) -> list[float]:
    return [score.values[metric] for score in scores if metric in score.values]


def actions_by_turn(visits: Iterable[Visit]) -> dict[int, dict[State, float]]:
    """Returns, for each of the doctor's turns, what share of the doctors' actions were of each state (Figure 6c).

    Shares are of the visits that have such a turn, in percent, and sum to 100; failed visits do not count.
    """
    counts: dict[int, Counter[State]] = {}
    for visit in visits:
        if visit.end is not End.FAILED:
            for event in visit.trace:
                if isinstance(event, Said) and event.who is Role.PATIENT and event.turn and event.state is not None:
                    counts.setdefault(event.turn, Counter())[event.state] += 1
    return {
        turn: {state: 100 * count / states.total() for state, count in sorted(states.items())}
        for turn, states in sorted(counts.items())
    }


def by_source(
    cases: Sequence[Case], scores: Iterable[Score], at_once: Iterable[Visit], *, seed: int = 0
) -> dict[str, BySource]:
    """Returns DIAGNOSIS and MCQE for each source of the cases.

    Args:
        cases: with their sources.
        scores: of the dialogues.
        at_once: the visits without a dialogue; those that failed do not count.
        seed: of the bootstrap.
    """
    source = {case.id: case.source for case in cases}
    diagnosis: dict[str, list[float]] = {}
    mcqe: dict[str, list[float]] = {}
    for score in scores:
        diagnosis.setdefault(source[str(score.id)], []).extend(_values([score], "DIAGNOSIS"))
    for visit in at_once:
        if visit.end is not End.FAILED or unusable_answer(visit.trace):
            mcqe.setdefault(source[visit.case], []).append(100.0 * (visit.answer in visit.truth.answers))
    return {
        name: BySource(
            diagnosis=estimate(diagnosis.get(name, []), seed=seed), mcqe=estimate(mcqe.get(name, []), seed=seed)
        )
        for name in dict.fromkeys(source.values())
    }
