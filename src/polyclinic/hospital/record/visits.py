"""The visits of a run, read off its log: who came when, was seen by whom, and what came of it.

A visit is everything from setting out to being at home again; of somebody who is turned away at a closed door and comes
again it is both comings. Its id is the illness with the visit's number in it, such as `r00042-d0003/1`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from polyclinic.cases.truth import Severity
from polyclinic.hospital.record.happenings import (
    DAY,
    HOUR,
    TURNED_AWAY,
    Acuity,
    Admitted,
    Diagnosed,
    Died,
    FellIll,
    FollowedUp,
    GotWorse,
    Happening,
    LeftUnseen,
    Referred,
    Registered,
    Triaged,
    VisitFailed,
    Walked,
    WentHome,
    What,
    Worsened,
)

UNDER_WAY = "under way"
_TURNED_AWAY = tuple(f"left: {reason}" for reason in TURNED_AWAY)


class ListedVisit(msgspec.Struct, frozen=True, kw_only=True):
    """A visit in one line."""

    id: str  # the illness and the number of the visit in it
    resident: str  # who came, by id
    name: str  # who came; "" where the log does not say
    number: int  # from 1 within the illness
    begin: int  # when it set out, in seconds since midnight of the first day
    end: int | None  # when it was at home again, or died; None where neither is so yet
    disease: str  # that it has, by id; "" where the log does not say
    severity: Severity | None  # how ill it was when it set out
    department: str  # the last that it was sent to; "" where nobody sent it anywhere
    acuity: Acuity | None  # as the nurse judged it
    diagnosis: str  # as the last doctor told it; "" where none did
    right: bool | None  # whether that is what it has; None where none was told
    outcome: str  # how the visit ended: "went home", "discharged", "died", "left: ...", "failed: ..." or "under way"
    later: str  # how it was some time after: "recovered", "better", "worse", "died"; "" where nobody knows


def clock(t: int) -> str:
    """Returns a time as it is told, such as `day 3 09:12`; days are counted from 1."""
    day, second = divmod(t, DAY)
    return f"day {day + 1} {second // HOUR:02}:{second // 60 % 60:02}"


class FoldedVisit:
    """A visit while it is read."""

    def __init__(self, who: str, ill: FellIll | None, severity: Severity | None, number: int, begin: int) -> None:
        self.who, self.ill, self.severity, self.number, self.begin = who, ill, severity, number, begin
        self.happenings: list[Happening] = []  # empty where they are not wanted
        self.end: int | None = None
        self.department = self.diagnosis = self.later = ""
        self.acuity: Acuity | None = None
        self.right: bool | None = None
        self.outcome = UNDER_WAY
        self.admitted = False
        self.comings = 1

    @property
    def illness(self) -> str:
        """Names the illness; that of nobody knows what is the resident's."""
        return self.ill.case if self.ill is not None else self.who

    @property
    def id(self) -> str:
        """Names the visit."""
        return f"{self.illness}/{self.number}"

    def listed(self) -> ListedVisit:
        """Returns it in one line."""
        return ListedVisit(
            id=self.id,
            resident=self.who,
            name="" if self.ill is None else self.ill.name,
            number=self.number,
            begin=self.begin,
            end=self.end,
            disease="" if self.ill is None else self.ill.disease,
            severity=self.severity,
            department=self.department,
            acuity=self.acuity,
            diagnosis=self.diagnosis,
            right=self.right,
            outcome=self.outcome,
            later=self.later,
        )

    # --- what changes it

    def _send(self, what: Triaged | Registered) -> None:
        self.department = what.department
        if isinstance(what, Triaged):
            self.acuity = what.acuity

    def _refer(self, what: Referred) -> None:
        self.department = what.to_department

    def _diagnose(self, what: Diagnosed) -> None:
        self.diagnosis, self.right = what.diagnosis, what.right

    def _admit(self, _: Admitted) -> None:
        self.admitted = True

    def _leave(self, what: LeftUnseen) -> None:
        self.outcome = f"left: {what.reason}"

    def _fail(self, what: VisitFailed) -> None:
        self.outcome = f"failed: {what.error} ({what.who})"

    def _go_home(self, _: WentHome) -> None:
        self.outcome = "discharged" if self.admitted else "went home"

    def _follow_up(self, what: FollowedUp) -> None:
        self.later = what.outcome.value


_CHANGES: dict[type, Callable[[FoldedVisit, Any], None]] = {
    Triaged: FoldedVisit._send,
    Registered: FoldedVisit._send,
    Referred: FoldedVisit._refer,
    Diagnosed: FoldedVisit._diagnose,
    Admitted: FoldedVisit._admit,
    LeftUnseen: FoldedVisit._leave,
    VisitFailed: FoldedVisit._fail,
    WentHome: FoldedVisit._go_home,
    FollowedUp: FoldedVisit._follow_up,
}


class ResidentRead:
    """What the log says of one resident so far."""

    def __init__(self) -> None:
        self.ill: FellIll | None = None
        self.severity: Severity | None = None
        self.before: list[Happening] = []  # what belongs to the visit that comes
        self.visit: FoldedVisit | None = None  # the last one
        self.home = ""
        self.out = False

    def take(self, happening: Happening, *, keep: bool = False) -> FoldedVisit | None:
        """Takes the next that happens to it; returns the visit that begins with it, or None."""
        what, begun = happening.what, None
        if isinstance(what, FellIll):
            self.falls_ill(happening, what)
            return None
        if isinstance(what, Walked) and not self.out:
            begun = self.sets_out(happening.who, happening.t, what.path[0])
        if self.visit is not None:
            if keep:
                self.visit.happenings.append(happening)
            self.goes_on(self.visit, happening.t, what)
        return begun

    def falls_ill(self, happening: Happening, what: FellIll) -> None:
        """Another illness: its first visit comes."""
        self.ill, self.severity, self.visit, self.before = what, what.severity, None, [happening]

    def sets_out(self, who: str, t: int, home: str) -> FoldedVisit | None:
        """Leaves home; returns the visit that this begins, None where it comes again for the last one."""
        self.out, self.home = True, home
        visit = self.visit
        if visit is not None and visit.comings == 1 and visit.outcome in _TURNED_AWAY:
            visit.comings, visit.outcome, visit.end = 2, UNDER_WAY, None
            return None
        self.visit = FoldedVisit(who, self.ill, self.severity, 1 if visit is None else visit.number + 1, t)
        self.visit.happenings, self.before = self.before, []
        return self.visit

    def goes_on(self, visit: FoldedVisit, t: int, what: What) -> None:
        """Whatever else happens to it."""
        change = _CHANGES.get(type(what))
        if change is not None:
            change(visit, what)
        if isinstance(what, Walked) and what.path[-1] == self.home:
            self.out, visit.end = False, what.times[-1]
        elif isinstance(what, Died):
            visit.later = "died"
            if self.out:
                self.out, visit.end, visit.outcome = False, t, "died"
        elif isinstance(what, FollowedUp | Worsened | GotWorse) and what.severity is not None:
            self.severity = what.severity


def fold(happenings: Iterable[Happening], *, keep: bool = False) -> Iterator[FoldedVisit]:
    """Reads visits off a log, or off what of it concerns some residents; yields each when it is begun.

    What comes later changes a visit until the last happening is read. So does a death at home, and a follow-up.

    Args:
        happenings: in order.
        keep: visits hold their happenings, from falling ill on.
    """
    lives: dict[str, ResidentRead] = defaultdict(ResidentRead)
    for happening in happenings:
        who = happening.who
        if who not in lives and not isinstance(happening.what, FellIll | Walked):
            continue  # of the staff
        begun = lives[who].take(happening, keep=keep)
        if begun is not None:
            yield begun
