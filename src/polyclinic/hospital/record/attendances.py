"""The table of visits in a log: one row for each visit to the hospital, with the patient's calls out of queues.

Almost every figure of a run, of a comparison of two runs and of the rows of `polyclinic results` is a query over it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from polyclinic.hospital.record import happenings as events
from polyclinic.hospital.record.happenings import TURNED_AWAY, Acuity, FollowUpOutcome, Happening

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

    def rows(self, begin: int | None = None) -> list[Attendance]:
        """Returns all visits, or those from a time on; complete rows come first."""
        rows = [*self._done, *(ill.last for ill in self._ill.values() if ill.last is not None)]
        return rows if begin is None else [row for row in rows if row.arrived >= begin]

    def add(self, happening: Happening) -> None:
        """Takes the next line of the log."""
        t, who, kind = happening.t, happening.who, type(happening.what)
        if kind not in _OF_VISITS:
            return
        what: Any = happening.what
        ill = self._ill.get(who)
        row = None if ill is None else ill.last
        if row is not None:
            _change(row, t, kind, what)
        match kind:
            case events.FellIll:
                self._finish(who)
                self._ill[who] = _Illness(t, what.disease)
            case events.Queued:
                self._queue(t, who, ill or self._ill.setdefault(who, _Illness()))
            case events.Prescribed | events.LeftUnseen | events.VisitFailed if ill is not None and row is not None:
                ill.treated = row.arrived, _TREATED[getattr(what, "right", None)]
            case events.FollowedUp if ill is not None:
                # Somebody who was better is told of again when recovered; that is no second outcome.
                if ill.treated is not None:
                    self.outcomes.append(Outcome(*ill.treated, what.outcome))
                ill.treated = (t, Treated.NOT) if what.outcome is FollowUpOutcome.WORSE else None
                if what.outcome is FollowUpOutcome.RECOVERED:
                    self._finish(who)
            case events.Died:
                self._finish(who)

    def _finish(self, who: str) -> None:
        ill = self._ill.pop(who, None)
        if ill is not None and ill.last is not None:
            self._done.append(ill.last)

    def _queue(self, t: int, who: str, ill: _Illness) -> None:
        before = ill.last
        if before is not None:
            if not before.ended:
                return
            self._done.append(before)
        away = None if before is None or not before.comes_once_more else before.arrived
        ill.last = Attendance(who=who, onset=ill.onset, disease=ill.disease, arrived=t, turned_away=away)


def _change(row: Attendance, t: int, kind: type, what: Any) -> None:  # noqa: PLR0912 - a branch for each kind of event
    """Writes down what happens in a visit."""
    match kind:
        case events.Triaged:
            row.department = row.registered = what.department
            row.acuity, row.level = what.acuity, what.level
            row.right_acuity, row.right_level = what.right_acuity, what.right_level
            row.right_department = what.department == what.right_department
        case events.Registered:
            row.registered, row.expected = what.department, True
        case events.CalledIn:
            of_department = what.queue == row.registered
            first = of_department and row.expected
            row.expected = row.expected and not first
            if row.waited is None and what.queue == row.department:
                row.waited = t - row.arrived
            taken_over = bool(what.instead_of)
            row.calls.append(Call(t, what.queue, what.area, what.staff, what.waited, of_department, first, taken_over))
        case events.Diagnosed:
            row.diagnosed, row.diagnosed_by = t, row.registered
            row.right_diagnosis, row.right_examination = what.right, what.right_examination
        case events.Prescribed:
            row.prescribed, row.right_treatment = t, what.right
        case events.Admitted:
            row.admitted = what.care
        case events.Worsened:
            row.worse = True
        case events.GotWorse:
            row.worse_waiting += 1
        case events.TriagedAgain:
            row.triaged_again += 1
        case events.FollowedUp:
            row.outcome = row.outcome or what.outcome
            row.recovered |= what.outcome is FollowUpOutcome.RECOVERED
        case events.WentHome | events.LeftUnseen | events.VisitFailed | events.Died:
            row.died |= kind is events.Died
            if kind is not events.Died or not row.ended:
                row.ended, row.left = _ENDS[kind], t
                row.reason = getattr(what, "reason", "") or getattr(what, "error", "")


_TREATED = {True: Treated.RIGHT, False: Treated.WRONG, None: Treated.NOT}
_ENDS: dict[type, str] = {
    events.WentHome: SEEN, events.LeftUnseen: LEFT, events.VisitFailed: FAILED, events.Died: DIED,
}  # fmt: skip
_OF_VISITS = {
    *_ENDS, events.FellIll, events.Queued, events.Triaged, events.TriagedAgain, events.Registered, events.CalledIn,
    events.Diagnosed, events.Prescribed, events.Admitted, events.Worsened, events.GotWorse, events.FollowedUp,
}  # fmt: skip
