"""Where a doctor sits in a team: what tells the answers of one of its visits from those of another."""

from __future__ import annotations

from typing import NamedTuple


class Seat(NamedTuple):
    """A doctor's place in a team, from 1; 0 is none. Each seat of each team has answers in a journal of its own.

    The team is named differently from every other that sees the same case in a run. Calls are put down to the team, or
    to whom they are `put_down_to`, as where one doctor sees a patient again.
    """

    number: int = 0
    team: str = ""
    put_down_to: str = ""


ALONE = Seat()
