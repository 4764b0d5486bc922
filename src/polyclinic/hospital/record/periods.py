"""Results before, during and after what befalls a hospital: visits, waits for the first doctor, who left unseen.

A visit belongs to the period in which it came to the door, a wait at an area to that in which it was called.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from polyclinic.hospital.record.account import Account
from polyclinic.hospital.record.figures import waits_of
from polyclinic.hospital.record.happenings import (
    Acuity,
    CalledIn,
    Died,
    Happening,
    LeftUnseen,
    Queued,
    Triaged,
    VisitFailed,
    WentHome,
)

PERIODS = ("before", "during", "after")
"""The three periods."""

_ENDS = (WentHome, LeftUnseen, VisitFailed, Died)
_MINUTE = 60


class Periods:
    """A sink that splits a log by one event.

    Args:
        said: the event, as it was given.
        begin: when it begins, in seconds since midnight of the first day.
        end: when it is over.
    """

    def __init__(self, said: str, begin: int, end: int) -> None:
        self.said, self.begin, self.end = said, begin, end
        self._came: dict[str, int] = {}  # who is in the hospital: when it came
        self._acuity: dict[str, Acuity] = {}  # who has been triaged and not been with a doctor
        self._visits: Counter[str] = Counter()
        self._left: Counter[str] = Counter()
        self._waits: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)

    def add(self, happening: Happening, _: Account) -> None:
        """Takes the next happening."""
        who, what, t = happening.who, happening.what, happening.t
        kind = type(what)
        if kind is Queued and who not in self._came:
            self._came[who] = t
            self._visits[self._period(t)] += 1
        elif isinstance(what, Triaged):
            self._acuity[who] = what.acuity
        elif isinstance(what, CalledIn):
            self._call(who, what, t)
        elif kind in _ENDS and who in self._came:
            came = self._came.pop(who)
            self._acuity.pop(who, None)
            self._left[self._period(came)] += kind is LeftUnseen

    def _call(self, who: str, what: CalledIn, t: int) -> None:
        if what.queue == what.area:
            self._waits[self._period(t), what.area][what.waited] += 1
        elif who in self._acuity:
            came = self._came[who]
            self._waits[self._period(came), self._acuity.pop(who)][t - came] += 1

    def _period(self, t: int) -> str:
        return PERIODS[(t >= self.begin) + (t >= self.end)]

    def document(self) -> dict[str, Any]:
        """Returns it as JSON; waits in minutes, of emergencies, the urgent and the routine, and by area."""
        return {
            "event": self.said,
            "begins": self.begin,
            "ends": self.end,
            **{period: self._of(period) for period in PERIODS},
        }

    def _of(self, period: str) -> dict[str, Any]:
        waiting = {}
        for (when, name), counts in sorted(self._waits.items()):
            if when == period:
                waits = waits_of(counts)
                waiting[str(name)] = {
                    "mean": round(waits.mean / _MINUTE, 1),
                    "p90": round(waits.p90 / _MINUTE, 1),
                    "n": waits.n,
                }
        return {"visits": self._visits[period], "left": self._left[period], "waiting": waiting}
