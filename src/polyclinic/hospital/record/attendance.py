"""Reads a log for each coming to the hospital: who, with what, how long until a doctor, what was done, what came of it.

One is told of when nothing more can be added to it: when its patient is healthy or dead, or comes again. What is kept
grows with those who are ill, and not with the length of the log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from polyclinic.cases.truth import Severity
from polyclinic.hospital.record.happenings import (
    Acuity,
    Admitted,
    CalledIn,
    Diagnosed,
    Died,
    FellIll,
    FollowedUp,
    FollowUpOutcome,
    Happening,
    LeftUnseen,
    Prescribed,
    Queued,
    Triaged,
    VisitFailed,
    WentHome,
    Worsened,
)

SEEN, LEFT, FAILED, DIED = "seen", "left", "failed", "died"
"""How somebody's time in the hospital ends; "" while it is there."""


class Attendance(msgspec.Struct, kw_only=True):
    """One coming to the hospital; who was turned away and comes again comes twice. Times in seconds of the run."""

    who: str
    onset: int = -1  # when the illness began; -1 where the log does not say
    disease: str = ""  # "" where the log does not say
    severity: Severity | None = None  # at the onset
    number: int = 1  # of the comings with this illness
    arrived: int  # in the first queue
    department: str = ""  # where the nurse sent it
    acuity: Acuity | None = None  # as the nurse judged it first
    level: int | None = None  # of the five-level index, as she judged it
    right_acuity: Acuity | None = None
    right_department: bool | None = None
    waited: int | None = None  # until the first doctor's call; None where there was none
    right_examination: bool | None = None
    right_diagnosis: bool | None = None
    right_treatment: bool | None = None
    admitted: str = ""  # the kind of the first area with a bed
    worse: bool = False  # got worse in a bed
    ended: str = ""  # `SEEN`, `LEFT`, `FAILED` or `DIED`
    left: int | None = None  # when that was
    outcome: FollowUpOutcome | None = None  # at the first follow-up after it
    recovered: bool = False  # of this illness, after it
    died: bool = False  # of this illness, there or after it


class _Followed:
    """An illness: how it began, how often its patient has come, and the last time."""

    __slots__ = ("comings", "disease", "last", "onset", "severity")

    def __init__(self, onset: int = -1, disease: str = "", severity: Severity | None = None) -> None:
        self.onset, self.disease, self.severity = onset, disease, severity
        self.comings = 0
        self.last: Attendance | None = None


class Attendances:
    """Follows everybody who is ill through the log.

    Args:
        done: is told of each coming to which nothing more can be added.
    """

    def __init__(self, done: Callable[[Attendance], object]) -> None:
        self._done = done
        self._ill: dict[str, _Followed] = {}

    def add(self, happening: Happening) -> None:
        """Takes the next line of the log."""
        take = _TAKEN.get(type(happening.what))
        if take is not None:
            take(self, happening.t, happening.who, happening.what)

    def onto(self, done: Callable[[Attendance], object]) -> Attendances:
        """Returns the same people, followed on for somebody else."""
        other = Attendances(done)
        other._ill = self._ill
        return other

    def open(self) -> list[Attendance]:
        """Returns those to which something may still be added, as they are."""
        return [ill.last for ill in self._ill.values() if ill.last is not None]

    def _last(self, who: str) -> Attendance | None:
        ill = self._ill.get(who)
        return None if ill is None else ill.last

    def _tell(self, who: str) -> None:
        ill = self._ill.pop(who, None)
        if ill is not None and ill.last is not None:
            self._done(ill.last)

    def _fall_ill(self, t: int, who: str, what: FellIll) -> None:
        self._tell(who)
        self._ill[who] = _Followed(t, what.disease, what.severity)

    def _queue(self, t: int, who: str, _: Queued) -> None:
        ill = self._ill.get(who)
        if ill is None:
            ill = self._ill[who] = _Followed()
        if ill.last is not None:
            if not ill.last.ended:
                return
            self._done(ill.last)
        ill.comings += 1
        ill.last = Attendance(
            who=who, onset=ill.onset, disease=ill.disease, severity=ill.severity, number=ill.comings, arrived=t
        )

    def _triage(self, _: int, who: str, what: Triaged) -> None:
        last = self._last(who)
        if last is not None:
            last.department, last.acuity, last.level = what.department, what.acuity, what.level
            last.right_acuity = what.right_acuity
            last.right_department = what.department == what.right_department

    def _call(self, t: int, who: str, what: CalledIn) -> None:
        last = self._last(who)
        if last is not None and last.waited is None and what.queue == last.department:
            last.waited = t - last.arrived

    def _diagnose(self, _: int, who: str, what: Diagnosed) -> None:
        last = self._last(who)
        if last is not None:
            last.right_diagnosis, last.right_examination = what.right, what.right_examination

    def _prescribe(self, _: int, who: str, what: Prescribed) -> None:
        last = self._last(who)
        if last is not None:
            last.right_treatment = what.right

    def _admit(self, _: int, who: str, what: Admitted) -> None:
        last = self._last(who)
        if last is not None:
            last.admitted = what.care

    def _worsen(self, _: int, who: str, __: Worsened) -> None:
        last = self._last(who)
        if last is not None:
            last.worse = True

    def _end(self, t: int, who: str, what: WentHome | LeftUnseen | VisitFailed) -> None:
        last = self._last(who)
        if last is not None:
            last.ended, last.left = _ENDS[type(what)], t

    def _die(self, t: int, who: str, _: Died) -> None:
        last = self._last(who)
        if last is not None:
            last.died = True
            if not last.ended:
                last.ended, last.left = DIED, t
        self._tell(who)

    def _follow_up(self, _: int, who: str, what: FollowedUp) -> None:
        last = self._last(who)
        if last is not None and last.outcome is None:
            last.outcome = what.outcome
        if what.outcome is FollowUpOutcome.RECOVERED:
            if last is not None:
                last.recovered = True
            self._tell(who)


_ENDS: dict[type, str] = {WentHome: SEEN, LeftUnseen: LEFT, VisitFailed: FAILED}
_TAKEN: dict[type, Callable[[Attendances, int, str, Any], None]] = {
    FellIll: Attendances._fall_ill,
    Queued: Attendances._queue,
    Triaged: Attendances._triage,
    CalledIn: Attendances._call,
    Diagnosed: Attendances._diagnose,
    Prescribed: Attendances._prescribe,
    Admitted: Attendances._admit,
    Worsened: Attendances._worsen,
    WentHome: Attendances._end,
    LeftUnseen: Attendances._end,
    VisitFailed: Attendances._end,
    Died: Attendances._die,
    FollowedUp: Attendances._follow_up,
}
