"""The table of visits in a log: one row for each visit to the hospital, with the patient's calls out of queues.

Almost every figure of a run, the list of its visits, the comparison of two runs and the rows of `polyclinic results`
are queries over it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from polyclinic.cases.truth import Severity
from polyclinic.hospital.record import happenings as events
from polyclinic.hospital.record.happenings import ORDER, TURNED_AWAY, Acuity, FellIll, FollowUpOutcome, Happening

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
    onset: int  # when the illness began; -1 if the log does not say
    illness: FellIll | None  # None if the log does not say
    number: int  # from 1 within the illness; the same for both rows of a patient who is turned away
    seq: int  # number of the happening with which it begins
    begin: int  # when the patient set out
    severity: Severity | None  # how ill the patient was then
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
    diagnosis: str = ""  # as the last doctor told it
    right_examination: bool | None = None
    right_diagnosis: bool | None = None
    prescribed: int | None = None  # time of the plan
    right_treatment: bool | None = None
    admitted: str = ""  # the kind of the first area with a bed
    worse: bool = False  # got worse in a bed
    ended: str = ""  # `SEEN`, `LEFT`, `FAILED` or `DIED`
    reason: str = ""  # why the patient left, or the name of the failure
    failed: str = ""  # the role that failed
    left: int | None = None  # time of the end
    home: int | None = None  # when the patient was at home again, or died
    outcome: FollowUpOutcome | None = None  # at the first follow-up after the visit
    later: FollowUpOutcome | None = None  # at the last
    recovered: bool = False  # of this illness, after the visit
    died: bool = False  # of this illness, during the visit or later

    @property
    def disease(self) -> str:
        """The disease, by id; "" if the log does not say."""
        return "" if self.illness is None else self.illness.disease

    @property
    def judged_right(self) -> bool | None:
        """Whether the nurse judged the urgency right; None before triage."""
        return None if self.acuity is None else self.acuity is self.right_acuity

    @property
    def misjudged(self) -> int | None:
        """By how many grades the nurse judged too little urgency (below 0: too much); None if that is unknown."""
        if self.acuity is None or self.right_acuity is None:
            return None
        return ORDER[self.acuity] - ORDER[self.right_acuity]

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


class _Patient:
    """An illness, and the patient's last visit with it."""

    __slots__ = ("begins", "home", "illness", "last", "onset", "severity", "treated")

    def __init__(self, onset: int = -1, illness: FellIll | None = None) -> None:
        self.onset, self.illness = onset, illness
        self.severity = None if illness is None else illness.severity
        self.last: Attendance | None = None
        self.treated: tuple[int, Treated] | None = None  # as in `Outcome`, until the follow-up
        self.home = ""  # from where the patient has set out; "" while at home
        self.begins: tuple[int, int, Severity | None] | None = None  # number, time and severity at that moment


class Attendances:
    """Builds the table from the log, happening by happening."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self._done: list[Attendance] = []  # rows that are complete
        self._ill: dict[str, _Patient] = {}

    def rows(self, begin: int | None = None) -> list[Attendance]:
        """Returns all visits, or those from a time on; complete rows come first."""
        rows = [*self._done, *(ill.last for ill in self._ill.values() if ill.last is not None)]
        return rows if begin is None else [row for row in rows if row.arrived >= begin]

    def add(self, happening: Happening) -> None:  # noqa: PLR0912 - a branch for each kind of event
        """Takes the next line of the log."""
        t, who, kind = happening.t, happening.who, type(happening.what)
        if kind not in _OF_VISITS:
            return
        what: Any = happening.what
        if kind is events.FellIll:
            self._finish(who)
            self._ill[who] = _Patient(t, what)
            return
        ill = self._ill.get(who) or self._ill.setdefault(who, _Patient())
        row = ill.last
        if row is not None:
            _change(row, t, kind, what)
        match kind:
            case events.Walked if not ill.home:
                ill.home, ill.begins = what.path[0], (happening.seq, t, ill.severity)
            case events.Walked if what.path[-1] == ill.home:
                ill.home = ""
                if row is not None:
                    row.home = what.times[-1]
            case events.Queued if row is None or row.ended:
                self._queue(ill, happening)
            case events.Prescribed | events.LeftUnseen | events.VisitFailed if row is not None:
                ill.treated = row.arrived, _TREATED[getattr(what, "right", None)]
            case events.Worsened | events.GotWorse:
                ill.severity = what.severity
            case events.FollowedUp:
                # A patient who was better has a second follow-up when recovered, which is no second outcome.
                if ill.treated is not None:
                    self.outcomes.append(Outcome(*ill.treated, what.outcome))
                ill.treated = (t, Treated.NOT) if what.outcome is FollowUpOutcome.WORSE else None
                ill.severity = what.severity or ill.severity
                if what.outcome is FollowUpOutcome.RECOVERED:
                    self._finish(who)
            case events.Died:
                if row is not None and ill.home:
                    row.home = t
                self._finish(who)

    def _finish(self, who: str) -> None:
        ill = self._ill.pop(who, None)
        if ill is not None and ill.last is not None:
            self._done.append(ill.last)

    def _queue(self, ill: _Patient, happening: Happening) -> None:
        before, away, number = ill.last, None, 1
        if before is not None:
            self._done.append(before)
            away = before.arrived if before.comes_once_more else None
            number = before.number + (away is None)
        seq, begin, severity = ill.begins or (happening.seq, happening.t, ill.severity)
        ill.last = Attendance(
            who=happening.who,
            onset=ill.onset,
            illness=ill.illness,
            number=number,
            seq=seq,
            begin=begin,
            severity=severity,
            arrived=happening.t,
            turned_away=away,
        )


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
            row.diagnosed, row.diagnosed_by, row.diagnosis = t, row.registered, what.diagnosis
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
            row.outcome, row.later = row.outcome or what.outcome, what.outcome
            row.recovered |= what.outcome is FollowUpOutcome.RECOVERED
        case events.WentHome | events.LeftUnseen | events.VisitFailed | events.Died:
            row.died |= kind is events.Died
            if kind is not events.Died or not row.ended:
                row.ended, row.left = _ENDS[kind], t
                row.reason = getattr(what, "reason", "") or getattr(what, "error", "")
                row.failed = getattr(what, "who", "")


_TREATED = {True: Treated.RIGHT, False: Treated.WRONG, None: Treated.NOT}
_ENDS: dict[type, str] = {
    events.WentHome: SEEN, events.LeftUnseen: LEFT, events.VisitFailed: FAILED, events.Died: DIED,
}  # fmt: skip
_OF_VISITS = {
    *_ENDS, events.FellIll, events.Walked, events.Queued, events.Triaged, events.TriagedAgain, events.Registered,
    events.CalledIn, events.Diagnosed, events.Prescribed, events.Admitted, events.Worsened, events.GotWorse,
    events.FollowedUp,
}  # fmt: skip
