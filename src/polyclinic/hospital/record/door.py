"""Reads a log for the triage: how near the nurse comes to what is so, and how long each level waits for a doctor."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from polyclinic.hospital.record.figures import LevelAgreement, LevelWaits, proportion, waits_of
from polyclinic.hospital.record.happenings import (
    CalledIn,
    Died,
    GotWorse,
    LeftUnseen,
    Queued,
    Triaged,
    TriagedAgain,
    VisitFailed,
    What,
)
from polyclinic.knowledge.acuity import LEVELS, TARGETS
from polyclinic.statistics.agreement import weighted_kappa, weighted_kappa_error


class DoorTally:
    """What a log says so far of triage."""

    def __init__(self) -> None:
        self.worse = self.again = 0  # got worse while waiting; were found so
        self._levels: Counter[tuple[int, int]] = Counter()
        self._came: dict[str, int] = {}
        self._given: dict[str, tuple[str, int]] = {}  # who has seen no doctor yet: where to, and level
        self._waited: dict[int, Counter[int]] = defaultdict(Counter)

    def add(self, t: int, who: str, what: What) -> None:
        """Takes one of `OF_DOOR`."""
        OF_DOOR[type(what)](self, t, who, what)

    def _queue(self, t: int, who: str, _: Queued) -> None:
        self._came.setdefault(who, t)

    def _triage(self, _: int, who: str, what: Triaged) -> None:
        if what.level is not None:
            self._given[who] = what.department, what.level
            if what.right_level is not None:
                self._levels[what.right_level, what.level] += 1

    def _call(self, t: int, who: str, what: CalledIn) -> None:
        department, level = self._given.get(who, ("", 0))
        if level and what.queue == department:
            self._waited[level][t - self._came[who]] += 1
            self._given.pop(who)

    def _worsen(self, *_: Any) -> None:
        self.worse += 1

    def _look_again(self, *_: Any) -> None:
        self.again += 1

    def go(self, who: str) -> None:
        """Somebody is out of the hospital, or is taken in."""
        self._came.pop(who, None)
        self._given.pop(who, None)

    def _leave(self, _: int, who: str, __: LeftUnseen | VisitFailed | Died) -> None:
        self.go(who)

    def agreement(self) -> LevelAgreement:
        """Returns how near the nurse came."""
        confusion = tuple(tuple(self._levels[right, given] for given in LEVELS) for right in LEVELS)
        n = self._levels.total()
        over = sum(count for (right, given), count in self._levels.items() if given < right)
        under = sum(count for (right, given), count in self._levels.items() if given > right)
        kappa = weighted_kappa(confusion) if n else None
        error = None if kappa is None else weighted_kappa_error(confusion)
        return LevelAgreement(
            n=n,
            right=proportion(n - over - under, n),
            over=proportion(over, n),
            under=proportion(under, n),
            kappa=kappa,
            low=None if kappa is None or error is None else max(-1.0, kappa - 1.96 * error),
            high=None if kappa is None or error is None else min(1.0, kappa + 1.96 * error),
            confusion=confusion,
        )

    def waits(self) -> dict[str, LevelWaits]:
        """Returns the waits of each level that was given."""
        return {str(level): self._of_level(level, self._waited[level]) for level in LEVELS if self._waited[level]}

    def _of_level(self, level: int, waited: Counter[int]) -> LevelWaits:
        target = TARGETS[level]  # type: ignore[index]
        within = sum(count for seconds, count in waited.items() if seconds <= max(target.minutes, _AT_ONCE) * 60)
        return LevelWaits(
            waits=waits_of(waited),
            target=target.minutes,
            within=proportion(within, waited.total()),
            wanted=target.share,
        )


_AT_ONCE = 5
"""Minutes that count as at once: who comes in is triaged, and walks to a room."""

OF_DOOR: dict[type, Any] = {
    Queued: DoorTally._queue,
    Triaged: DoorTally._triage,
    CalledIn: DoorTally._call,
    GotWorse: DoorTally._worsen,
    TriagedAgain: DoorTally._look_again,
    LeftUnseen: DoorTally._leave,
    VisitFailed: DoorTally._leave,
    Died: DoorTally._leave,
}
"""What is counted here."""
