"""The table of visits in a log: one row for each visit to the hospital, with the patient's calls out of queues.

Almost every figure of a run, of a comparison of two runs and of the rows of `polyclinic results` is a query over it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from polyclinic.hospital.record.happenings import (
    TURNED_AWAY,
    Acuity,
    Admitted,
    CalledIn,
    Diagnosed,
    Died,
    FellIll,
    FollowedUp,
    FollowUpOutcome,
    GotWorse,
    Happening,
    LeftUnseen,
    Prescribed,
    Queued,
    Registered,
    Triaged,
    TriagedAgain,
    VisitFailed,
    WentHome,
    Worsened,
)

SEEN, LEFT, FAILED, DIED = "seen", "left", "failed", "died"
"""How a visit ends; "" while the patient is in the hospital."""


class Treated(StrEnum):
    """How somebody was treated before a follow-up."""

    RIGHT = "right plan"
    WRONG = "wrong plan"
    NOT = "untreated"


class Call(msgspec.Struct, frozen=True, gc=False):
    """A call out of a queue. Times in seconds."""

    t: int
    queue: str  # a department, or an area
    area: str  # where to
    staff: str  # to whom; "" for a counter without staff
    waited: int
    of_department: bool  # the queue is that of the department where the patient is registered
    first: bool  # the first call there since the registration
    taken_over: bool  # by another doctor than the expected one


class Attendance(msgspec.Struct, kw_only=True, gc=False):
    """One visit to the hospital, in seconds of the run. A patient who is turned away and comes again has two rows."""

    who: str
    onset: int = -1  # when the illness began; -1 where the log does not say
    disease: str = ""  # "" where the log does not say
    arrived: int  # in the first queue
    turned_away: int | None = None  # the arrival at which the patient was turned away for the same visit, if any
    calls: list[Call] = []
    department: str = ""  # where the nurse sent the patient
    acuity: Acuity | None = None  # as the nurse judged it first
    level: int | None = None  # of the five-level index, as she judged it
    right_acuity: Acuity | None = None
    right_level: int | None = None
    right_department: bool | None = None
    worse_waiting: int = 0  # how often the patient got worse while waiting
    triaged_again: int = 0  # how often a nurse noticed that
    registered: str = ""  # the last department that the patient was sent to
    expected: bool = False  # registered there and not called yet
    waited: int | None = None  # until the first doctor's call; None without one
    diagnosed: int | None = None  # time of the diagnosis
    diagnosed_by: str = ""  # department that made the diagnosis
    right_examination: bool | None = None
    right_diagnosis: bool | None = None
    prescribed: int | None = None  # time of the plan
    right_treatment: bool | None = None
    admitted: str = ""  # the kind of the first area with a bed
    worse: bool = False  # got worse in a bed
    ended: str = ""  # `SEEN`, `LEFT`, `FAILED` or `DIED`
    reason: str = ""  # why the patient left, or the name of the failure
    left: int | None = None  # time of the end
    outcome: FollowUpOutcome | None = None  # at the first follow-up after the visit
    recovered: bool = False  # of this illness, after the visit
    died: bool = False  # of this illness, during the visit or later

    @property
    def judged_right(self) -> bool | None:
        """Whether the nurse judged the urgency right; None before triage."""
        return None if self.acuity is None else self.acuity is self.right_acuity

    @property
    def comes_once_more(self) -> bool:
        """Whether the patient was turned away and will come once more for the same visit."""
        return self.reason in TURNED_AWAY and self.outcome is None and self.turned_away is None

    @property
    def got_worse(self) -> bool:
        """Whether the patient got worse in a bed or by the first follow-up."""
        return self.worse or self.outcome is FollowUpOutcome.WORSE


class Outcome(NamedTuple):
    """The first follow-up after a visit, or a follow-up where the visit before did not come about."""

    since: int  # arrival at the visit, or the follow-up before
    treated: Treated
    outcome: FollowUpOutcome


class _Illness:
    """An illness, and the patient's last visit with it."""

    __slots__ = ("disease", "last", "onset", "treated")

    def __init__(self, onset: int = -1, disease: str = "") -> None:
        self.onset, self.disease = onset, disease
        self.last: Attendance | None = None
        self.treated: tuple[int, Treated] | None = None  # as in `Outcome`, until the follow-up


class Attendances:
    """Builds the table from the log, happening by happening."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self._done: list[Attendance] = []  # rows that are complete
        self._ill: dict[str, _Illness] = {}

    def add(self, happening: Happening) -> None:
        """Takes the next line of the log."""
        kind = type(happening.what)
        change, take = _CHANGES.get(kind), _TAKEN.get(kind)
        if change is None and take is None:
            return
        ill = self._ill.get(happening.who)
        if change is not None and ill is not None and ill.last is not None:
            change(ill.last, happening.t, happening.what)
        if take is not None:
            take(self, happening.t, happening.who, happening.what, ill)

    def rows(self, begin: int | None = None) -> list[Attendance]:
        """Returns all visits, or those from a time on; complete rows come first."""
        rows = [*self._done, *(ill.last for ill in self._ill.values() if ill.last is not None)]
        return rows if begin is None else [row for row in rows if row.arrived >= begin]

    def _finish(self, who: str) -> None:
        ill = self._ill.pop(who, None)
        if ill is not None and ill.last is not None:
            self._done.append(ill.last)

    def _fall_ill(self, t: int, who: str, what: FellIll, _: _Illness | None) -> None:
        self._finish(who)
        self._ill[who] = _Illness(t, what.disease)

    def _queue(self, t: int, who: str, _: Queued, ill: _Illness | None) -> None:
        if ill is None:
            ill = self._ill[who] = _Illness()
        before = ill.last
        if before is not None:
            if not before.ended:
                return
            self._done.append(before)
        away = None if before is None or not before.comes_once_more else before.arrived
        ill.last = Attendance(who=who, onset=ill.onset, disease=ill.disease, arrived=t, turned_away=away)

    def _treat(self, _: int, __: str, what: Prescribed | LeftUnseen | VisitFailed, ill: _Illness | None) -> None:
        if ill is not None and ill.last is not None:
            how = Treated.NOT
            if isinstance(what, Prescribed):
                how = Treated.RIGHT if what.right else Treated.WRONG
            ill.treated = ill.last.arrived, how

    def _follow_up(self, t: int, who: str, what: FollowedUp, ill: _Illness | None) -> None:
        if ill is None:
            return
        # Somebody who was better is told of again when recovered; that is no second outcome.
        if ill.treated is not None:
            self.outcomes.append(Outcome(*ill.treated, what.outcome))
        ill.treated = (t, Treated.NOT) if what.outcome is FollowUpOutcome.WORSE else None
        if what.outcome is FollowUpOutcome.RECOVERED:
            self._finish(who)

    def _die(self, _: int, who: str, __: Died, ___: _Illness | None) -> None:
        self._finish(who)


def _triage(row: Attendance, _: int, what: Triaged) -> None:
    row.department = row.registered = what.department
    row.acuity, row.level = what.acuity, what.level
    row.right_acuity, row.right_level = what.right_acuity, what.right_level
    row.right_department = what.department == what.right_department


def _register(row: Attendance, _: int, what: Registered) -> None:
    row.registered, row.expected = what.department, True


def _call(row: Attendance, t: int, what: CalledIn) -> None:
    of_department = what.queue == row.registered
    first = of_department and row.expected
    if first:
        row.expected = False
    if row.waited is None and what.queue == row.department:
        row.waited = t - row.arrived
    taken_over = bool(what.instead_of)
    row.calls.append(Call(t, what.queue, what.area, what.staff, what.waited, of_department, first, taken_over))


def _diagnose(row: Attendance, t: int, what: Diagnosed) -> None:
    row.diagnosed, row.diagnosed_by = t, row.registered
    row.right_diagnosis, row.right_examination = what.right, what.right_examination


def _prescribe(row: Attendance, t: int, what: Prescribed) -> None:
    row.prescribed, row.right_treatment = t, what.right


def _admit(row: Attendance, _: int, what: Admitted) -> None:
    row.admitted = what.care


def _worsen(row: Attendance, _: int, what: Worsened | GotWorse | TriagedAgain) -> None:
    row.worse |= isinstance(what, Worsened)
    row.worse_waiting += isinstance(what, GotWorse)
    row.triaged_again += isinstance(what, TriagedAgain)


def _end(row: Attendance, t: int, what: WentHome | LeftUnseen | VisitFailed | Died) -> None:
    if isinstance(what, Died):
        row.died = True
        if row.ended:
            return
    row.ended, row.left = _ENDS[type(what)], t
    row.reason = getattr(what, "reason", "") or getattr(what, "error", "")


def _follow_up(row: Attendance, _: int, what: FollowedUp) -> None:
    row.outcome = row.outcome or what.outcome
    row.recovered |= what.outcome is FollowUpOutcome.RECOVERED


_ENDS: dict[type, str] = {WentHome: SEEN, LeftUnseen: LEFT, VisitFailed: FAILED, Died: DIED}
_CHANGES: dict[type, Callable[[Attendance, int, Any], None]] = {
    Triaged: _triage,
    Registered: _register,
    CalledIn: _call,
    Diagnosed: _diagnose,
    Prescribed: _prescribe,
    Admitted: _admit,
    Worsened: _worsen,
    GotWorse: _worsen,
    TriagedAgain: _worsen,
    WentHome: _end,
    LeftUnseen: _end,
    VisitFailed: _end,
    Died: _end,
    FollowedUp: _follow_up,
}
_TAKEN: dict[type, Callable[[Attendances, int, str, Any, _Illness | None], None]] = {
    FellIll: Attendances._fall_ill,
    Queued: Attendances._queue,
    Prescribed: Attendances._treat,
    LeftUnseen: Attendances._treat,
    VisitFailed: Attendances._treat,
    FollowedUp: Attendances._follow_up,
    Died: Attendances._die,
}
