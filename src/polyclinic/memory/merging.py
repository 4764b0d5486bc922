"""One memory of several: a patient whom two of them have seen teaches once."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from polyclinic.memory.entries import ClinicalTask
from polyclinic.memory.memory import New

_TELLING = 6
"""Lines that a picture must have so that nobody else's is the same; "a woman, a cough" is many people's."""


def merged(memories: Sequence[Sequence[New]]) -> tuple[list[New], int]:
    """Returns what several memories hold together, and how many patients more than one of them has.

    Of each task, what the first has of a patient stays, and what those after it have of the same patient is left out. A
    patient is known by its history, as it was when an examination was chosen: in two hospitals one id is two people,
    and one patient may have two ids.
    """
    pictures = {
        one.entry.asked.query
        for some in memories
        for one in some
        if one.task is ClinicalTask.EXAMINATION and len(one.entry.asked.query.splitlines()) >= _TELLING
    }
    taken: set[tuple[ClinicalTask, str]] = set()
    exactly: set[bytes] = set()
    kept: list[New] = []
    common: set[str] = set()
    for some in memories:
        met: set[tuple[ClinicalTask, str]] = set()
        for one in some:
            who = _who(one.entry.asked.query, pictures)
            if who and (one.task, who) in taken:
                common.add(who)
                continue
            same = msgspec.msgpack.encode((one.task, one.entry))
            if same in exactly:
                continue
            exactly.add(same)
            kept.append(one)
            if who:
                met.add((one.task, who))
        taken |= met
    return kept, len(common)


def _who(query: str, pictures: set[str]) -> str:
    """Returns the history with which a query begins; "" where nobody is known by it."""
    lines = query.splitlines()
    for end in range(len(lines), _TELLING - 1, -1):
        if (begins := "\n".join(lines[:end])) in pictures:
            return begins
    return ""
