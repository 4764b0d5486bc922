"""What a doctor would choose, and what it has collected, had the dialogue ended earlier (aie-saps §2.10, Figure 6d).

The dialogue is cut behind its first turn (the opening), its second, and so on; a shorter one stays whole. How much is
collected by then costs nothing. The diagnosis is asked for anew behind every cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import EndpointError, PlayFailure
from polyclinic.events import Examined, Said
from polyclinic.metrics.conversation import covered
from polyclinic.metrics.dialogue import Unscorable, from_trace
from polyclinic.players.minds import Minds
from polyclinic.players.player import choose_from
from polyclinic.players.roles.doctor import Doctor
from polyclinic.statistics.uncertainty import Estimate, estimate, share_estimate
from polyclinic.visits.staging import Staging
from polyclinic.visits.visit import Visit


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
