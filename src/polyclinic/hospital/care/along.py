"""What is computed along with a visit, for the case that the patient gets worse before a doctor sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from polyclinic.hospital.record.episodes import Compute, Episode, EpisodeRequest
from polyclinic.hospital.record.happenings import Acuity
from polyclinic.models.ledger import Ledger


async def with_worse(
    request: EpisodeRequest, triaged: Episode, treat: Callable[[], Awaitable[None]], compute: Compute
) -> Episode | None:
    """Lets a patient be treated, and computes beside it what would be done if it got worse before.

    Args:
        request: of the visit.
        triaged: the visit as it is after triage.
        treat: treats the patient as it is.
        compute: computes another episode.

    Returns:
        What would be done; None where that is not to be expected: nothing gets worse soon, or the nurse has made an
        emergency of it, whom a doctor sees within minutes.
    """
    received = triaged.received
    if request.worse is None or received is None or received.acuity is Acuity.EMERGENCY:
        await treat()
        return None
    worse = msgspec.structs.replace(request, case=request.worse, worse=None, received=received)
    # Side by side, so that whichever is wanted is there as soon as the other.
    along = asyncio.ensure_future(compute(worse))
    try:
        await treat()
    finally:
        episode = await along
    return episode


def spent(ledger: Ledger, along: Episode | None) -> dict[str, float | None]:
    """Returns what an episode has cost, with what was computed along: calls, tokens, cost."""
    usage = ledger.total.usage
    calls, tokens, cost = ledger.total.calls, usage.tokens_in + usage.tokens_out, usage.cost
    if along is not None:
        calls, tokens = calls + along.calls, tokens + along.tokens
        cost = along.cost if cost is None else cost + (along.cost or 0.0)
    return {"calls": calls, "tokens": tokens, "cost": cost}
