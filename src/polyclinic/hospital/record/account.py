"""Reads a log once, happening by happening: the state of the hospital, the hash, and the tables that figures come from.

The tables are visits with their calls, stays in beds, services and shifts of the staff, and who is there at each full
hour; they take about 2 KB a visit. `Log` numbers what happens and hands it on.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from polyclinic.hospital.record import figures
from polyclinic.hospital.record import happenings as events
from polyclinic.hospital.record.attendances import DIED, FAILED, LEFT, SEEN, Attendances, Treated
from polyclinic.hospital.record.figures import Figures, Span, Stay
from polyclinic.hospital.record.happenings import DAY, HOUR, Acuity, FollowUpOutcome, Happening, What
from polyclinic.hospital.record.world import World

_HASH = 16  # bytes

encode = msgspec.json.Encoder(order="deterministic").encode
"""Writes a happening, or a part of one, as JSON with its keys in a fixed order."""


def log_hash() -> hashlib.blake2b:
    """Returns the beginning of a log's hash: of each happening as JSON, and a line feed."""
    return hashlib.blake2b(digest_size=_HASH)


class _Worked:
    """The shifts and services of a member of the staff."""

    def __init__(self) -> None:
        self.shifts: list[Span] = []  # that have ended
        self.busy: list[Span] = []  # time with patients that has ended
        self.serves = self.since = 0  # patients now, and since when there has been at least one


class Account:
    """What a log says so far.

    Args:
        begin: seconds of the run that are left out of every figure, and not of the hash, while the hospital warms up.
            Visits that began before are not counted; deaths, beds, follow-ups and work count from then on. Until that
            time the figures cover everything so far.
    """

    def __init__(self, *, begin: int = 0) -> None:
        self.world = World()  # the hospital after the last happening
        self.begin = begin
        self.visits = Attendances()
        self._hash = log_hash()
        self._kept: dict[type, list[Happening]] = defaultdict(list)  # happenings of the types in `_KEPT`
        self._stays: list[Stay] = []
        self._lying: dict[str, Stay] = {}
        self._work: dict[str, _Worked] = defaultdict(_Worked)
        self._served: int | None = None  # end of the last service so far
        self._hours: list[tuple[int, Counter[str]]] = []  # counts of people at each full hour

    def __len__(self) -> int:
        return self.world.seq + 1

    @property
    def log_hash(self) -> str:
        """Equal for two runs with the same history: of each happening as JSON, and a line feed."""
        return self._hash.hexdigest()

    def add(self, happening: Happening) -> None:
        """Takes the next line of the log."""
        t, who, kind, world = happening.t, happening.who, type(happening.what), self.world
        self._hash.update(encode(happening) + b"\n")
        while t >= len(self._hours) * HOUR:
            self._hours.append((len(self._hours) * HOUR, world.census(len(self._hours) * HOUR)))
        if kind is events.ShiftEnded and who in world.duty:
            self._work[who].shifts.append((world.duty[who].since, t))
        before = world.staff_with(who)
        world.apply(happening)
        after = world.staff_with(who)
        if before != after:
            self._serve(t, before, after)
        if kind in _KEPT:
            self._kept[kind].append(happening)
        if kind in _BEDS:
            self._lie(max(0, t), who, happening.what)
        self.visits.add(happening)

    def _serve(self, t: int, before: str, after: str) -> None:
        if before:
            work = self._work[before]
            work.serves -= 1
            if not work.serves:
                work.busy.append((work.since, t))
            self._served = t
        if after:
            work = self._work[after]
            work.serves += 1
            if work.serves == 1:
                work.since = t

    def _lie(self, t: int, who: str, what: Any) -> None:
        """Takes what changes where somebody lies: the end of a stay, the beginning of one, or both."""
        first = isinstance(what, events.Admitted)
        if not first and (stay := self._lying.pop(who, None)) is not None:
            stay.until, stay.stayed = t, what.stayed
        if first or isinstance(what, events.Moved):
            most = 1 + sum(stay.area == what.area for stay in self._lying.values())
            stay = Stay(area=what.area, care=what.care, first=first, since=t, waited=what.waited, most=most)
            self._lying[who] = stay
            self._stays.append(stay)

    # --- queries

    @property
    def _since(self) -> int:
        """Time from which figures count: 0 while the hospital still warms up."""
        return self.begin if self.world.t >= self.begin else 0

    def _all(self, kind: type) -> list[Any]:
        since = self._since
        return [happening.what for happening in self._kept[kind] if not since or happening.t >= since]

    @property
    def first_failure(self) -> str:
        """Whose visit failed first, and why; "" where none has."""
        for happening in self._kept[events.VisitFailed]:
            failed: Any = happening.what
            return f"resident {happening.who}: {failed.error}: {failed.problem}"
        return ""

    def summary(self) -> Figures:
        """Returns what the log says so far, over all of it."""
        since = self._since
        rows = self.visits.rows(since)
        ends = {end: [row for row in rows if row.ended == end] for end in (SEEN, LEFT, FAILED, DIED, "")}
        levels = Counter((row.right_level, row.level) for row in rows if row.level and row.right_level)
        calls = [call for row in rows for call in row.calls]
        called = Counter(call.staff for call in calls if call.staff)
        serves = any(work.serves for work in self._work.values())
        until = self.world.t if serves or not rows else self._served or since
        window = since, max(since, until)
        followed, deaths = self._all(events.FollowedUp), self._all(events.Died)
        worse = [what.cause for what in followed if what.outcome is FollowUpOutcome.WORSE and what.cause is not None]
        first_beds = Counter(stay.care for stay in self._stays if stay.first and stay.since >= since)
        return {
            "fell_ill": len(self._all(events.FellIll)),
            "counted": window,  # seconds, in which work and beds are counted
            "arrived": len(rows),  # sum of `seen`, `left`, `failed`, `died_inside` and `inside`
            "came_again": sum(row.turned_away is not None and row.turned_away >= since for row in rows),
            "seen": len(ends[SEEN]),
            "admitted": dict(first_beds.most_common()),  # once a stay, by kind of the first area
            "operated": len(self._all(events.Operated)),
            "died": len(deaths),  # everywhere
            "died_inside": len(ends[DIED]),
            "died_by_cause": figures.by_cause(what.cause for what in deaths),
            "died_by_disease": dict(sorted(Counter(what.disease for what in deaths).items())),
            "worse_by_cause": figures.by_cause([*(what.cause for what in self._all(events.Worsened)), *worse]),
            "beds": figures.occupancy(self._stays, window),
            "left": dict(sorted(Counter(row.reason for row in ends[LEFT]).items())),
            "failed": dict(sorted(Counter(row.reason for row in ends[FAILED]).items())),
            "inside": len(ends[""]),  # at the end of the log
            "referred": len(self._all(events.Referred)),
            "taken_over": sum(call.taken_over for call in calls),  # by another doctor than the expected one
            "follow_ups": {
                **figures.counts_of(FollowUpOutcome, (what.outcome for what in followed)),
                **Counter(f"failed: {what.error}" for what in self._all(events.FollowUpFailed)),
            },
            "waits": figures.waits_by_queue(call for call in calls if call.first),
            "area_waits": figures.waits_by_queue(call for call in calls if not call.of_department),
            "work": {who: self._work_of(who, called[who], window) for who in sorted({*self._work, *self.world.duty})},
            **{name: figures.share_of(name, rows) for name in figures.SHARES},
            "levels": figures.agreement(levels),
            "level_waits": figures.level_waits(rows),
            "worse_waiting": sum(row.worse_waiting for row in rows),
            "triaged_again": sum(row.triaged_again for row in rows),
        }

    def _work_of(self, who: str, called: int, window: Span) -> Figures:
        """Returns the seconds in a window at work (overtime included) and with patients, and the calls."""
        worked, duty, now = self._work[who], self.world.duty.get(who), self.world.t
        shifts = worked.shifts if duty is None else [*worked.shifts, (duty.since, window[1])]
        busy = [*worked.busy, (worked.since, now)] if worked.serves else worked.busy
        at_work, with_patients = figures.overlap(shifts, window), figures.overlap(busy, (window[0], now))
        return {"at_work": at_work, "busy": with_patients, "called": called}

    def series(self) -> Figures:
        """Returns what the log says so far, by day, hour and department."""
        since = self._since
        rows = self.visits.rows(since)
        served = -1 if self._served is None else self._served // DAY
        told = [row for row in rows if row.right_diagnosis is not None]
        acuity = Counter((row.right_acuity, row.acuity) for row in rows)
        outcomes = [one for one in self.visits.outcomes if one.since >= since]
        return {
            "days": figures.days_of(rows, self.begin // DAY),
            "hours": figures.hours_of((t, counts) for t, counts in self._hours if t >= since and t // DAY <= served),
            "diagnosis": {
                name: figures.share_of("diagnosis", part)
                for name, part in figures.grouped(told, lambda row: row.diagnosed_by).items()
            },
            "acuity": {right.value: {given.value: acuity[right, given] for given in Acuity} for right in Acuity},
            "outcomes": {
                treated.value: figures.counts_of(
                    FollowUpOutcome, (one.outcome for one in outcomes if one.treated is treated)
                )
                for treated in Treated
            },
        }

    def groups(self) -> Figures:
        """Returns what the log says so far by disease, department, acuity, level and hour."""
        return figures.groups_of(self.visits.rows(self.begin))

    def learnt(self) -> Figures:
        """Returns what the doctors learnt so far, also while the hospital warmed up."""
        return figures.learnt_of(self.visits.rows(), self._kept[events.MemoriesPublished])


_BEDS = {events.Admitted, events.Moved, events.Discharged, events.Died}
_KEPT = {
    events.FellIll, events.Operated, events.Referred, events.Died, events.Worsened, events.FollowedUp,
    events.FollowUpFailed, events.VisitFailed, events.MemoriesPublished,
}  # fmt: skip


def account_of(happenings: Iterable[Happening], *, begin: int = 0) -> Account:
    """Reads a whole log; `begin` is that of `Account`."""
    account = Account(begin=begin)
    for happening in happenings:
        account.add(happening)
    return account


class Sink(Protocol):
    """Where happenings go, in order."""

    def add(self, happening: Happening, account: Account) -> None:
        """Takes the next one, which the account has taken before."""


class Log:
    """Numbers what happens, counts it, and hands it to each sink; `begin` is that of `Account`."""

    def __init__(self, *sinks: Sink, begin: int = 0) -> None:
        self.account = Account(begin=begin)  # what the log says so far
        self._sinks = sinks

    def add(self, t: int, who: str, what: What) -> None:
        """Writes down what happened, when and to whom."""
        happening = Happening(seq=len(self.account), t=t, who=who, what=what)
        self.account.add(happening)
        for sink in self._sinks:
            sink.add(happening, self.account)
