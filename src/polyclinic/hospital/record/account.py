"""Reads a log once, happening by happening: the state of the hospital, the hash, and every figure that is made of them.

What is kept grows with those who are ill or in the hospital, with departments, staff and days, and not with the length
of the log. `Log` numbers what happens and hands it on; `Periods` splits a log by an event.
"""

from __future__ import annotations

import copy
import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from polyclinic.hospital.record.figures import (
    OF_BEDS,
    Attendances,
    Day,
    Groups,
    GroupTally,
    Hour,
    Inpatients,
    LevelAgreement,
    LevelWaits,
    RunSummary,
    Series,
    TimeInWindow,
    Treated,
    Window,
    Work,
    by_cause,
    proportion,
    proportion_of,
    waits_of,
)
from polyclinic.hospital.record.happenings import (
    DAY,
    HOUR,
    TURNED_AWAY,
    Acuity,
    CalledIn,
    Diagnosed,
    Died,
    FollowedUp,
    FollowUpFailed,
    FollowUpOutcome,
    GotWorse,
    Happening,
    LeftUnseen,
    Prescribed,
    Queued,
    Registered,
    ShiftEnded,
    Triaged,
    TriagedAgain,
    VisitFailed,
    WentHome,
    What,
)
from polyclinic.hospital.record.world import Counts, Doing, World
from polyclinic.knowledge.acuity import LEVELS, TARGETS
from polyclinic.statistics.agreement import weighted_kappa, weighted_kappa_error

_CENSUS = {
    Doing.WAITING: "waiting",
    Doing.CONSULTED: "served",
    Doing.SERVED: "served",
    Doing.LYING: "lying",
    Doing.WALKING: "other",
    Doing.THERE: "other",
}


class Census:
    """Who is in the hospital at each full hour, counted by what they do, up to the last day with a service."""

    def __init__(self, *, begin: int = 0) -> None:
        self.next = begin  # the next full hour
        self._hours: list[Counter[str]] = [Counter() for _ in range(24)]
        self._most = [0] * 24
        self._today: list[tuple[int, Counter[str]]] = []
        self._serves = False  # somebody has been served today
        self._later: list[list[tuple[int, Counter[str]]]] = []  # days since somebody has been served
        self._visited = 0  # days on which somebody was there

    def until(self, t: int, world: World) -> None:
        """Counts at every full hour up to a time; nothing happens in the world before it."""
        while self.next <= t:
            world.advance(self.next)
            self._take(world)
            self.next += HOUR

    def serve(self) -> None:
        """Somebody has been served: the days before count."""
        self._serves = True
        for day in self._later:
            self._count(day)
        self._later = []

    def hours(self) -> tuple[Hour, ...]:
        """Returns the mean day."""
        self._end_day()
        n = max(1, self._visited)
        return tuple(
            Hour(
                hour=hour,
                waiting=counts["waiting"] / n,
                served=counts["served"] / n,
                lying=counts["lying"] / n,
                other=counts["other"] / n,
                most=self._most[hour],
            )
            for hour, counts in enumerate(self._hours)
        )

    def _take(self, world: World) -> None:
        counts: Counter[str] = Counter()
        for person in world.people.values():
            doing = person.doing(world.t)
            if doing is Doing.WALKING and person.home in (person.path[0], person.path[-1]):
                continue
            counts[_CENSUS[doing]] += 1
        hour = world.t // HOUR % 24
        if not hour:
            self._end_day()
        self._today.append((hour, counts))

    def _end_day(self) -> None:
        if self._serves:
            self._count(self._today)
        else:
            self._later.append(self._today)
        self._today, self._serves = [], False

    def _count(self, day: list[tuple[int, Counter[str]]]) -> None:
        if any(counts for _, counts in day):
            self._visited += 1
            for hour, counts in day:
                self._hours[hour].update(counts)
                self._most[hour] = max(self._most[hour], counts.total())


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


_RANK = {acuity: rank for rank, acuity in enumerate(Acuity)}
_HASH = 16  # bytes

encode = msgspec.json.Encoder(order="deterministic").encode
"""Writes a happening, or a part of one, as JSON with its keys in a fixed order."""


class _Workload:
    """Of a member of the staff: time at work in shifts that have ended, seconds with somebody, and calls."""

    def __init__(self, window: Window) -> None:
        self.serves = 0
        self.count_anew(window)

    def count_anew(self, window: Window) -> None:
        self.at_work, self.busy, self.called, self.since = TimeInWindow(window), 0, 0, window.begin

    def take(self, t: int) -> None:
        self.serves += 1
        if self.serves == 1:
            self.since = t

    def let_go(self, t: int) -> None:
        self.serves -= 1
        if not self.serves:
            self.busy += t - self.since


def log_hash() -> hashlib.blake2b:
    """Returns the beginning of a log's hash: of each happening as JSON, and a line feed."""
    return hashlib.blake2b(digest_size=_HASH)


class Account:
    """What a log says so far.

    Args:
        begin: seconds of the run that are left out of every figure, and not of the hash, while the hospital warms up.
            Who arrived before is in no figure of visits; deaths, beds, follow-ups and work are those that come after.
    """

    def __init__(self, *, begin: int = 0) -> None:
        self.world = World()  # the hospital after the last happening
        self._hash = log_hash()
        self.begin = begin
        self._earlier: set[str] = set()  # in the hospital since before the figures begin
        self._before = Counts()  # what had happened until then
        self.first_failure = ""  # whose visit failed first, and why
        self._window = Window()
        self._inpatients = Inpatients(self._window)
        self._work: dict[str, _Workload] = {}
        self._census = Census()
        self._counts = not begin  # whether the figures have begun
        self._count_anew()

    def _count_anew(self) -> None:
        self._arrived = self._again = self._seen = self._died_inside = 0
        self._inside: set[str] = set()
        self._turned_away: set[str] = set()  # once, and may come again for the same visit
        self._came_again: set[str] = set()
        self._unseen: set[str] = set()  # registered for a department, and not called by it yet
        self._left: Counter[str] = Counter()
        self._taken_over = 0
        self._failed: Counter[str] = Counter()
        self._follow_up_failures: Counter[str] = Counter()
        self._right: dict[str, Counter[bool]] = defaultdict(Counter)
        self._waits: dict[str, Counter[int]] = defaultdict(Counter)
        self._area_waits: dict[str, Counter[int]] = defaultdict(Counter)
        self._days: dict[int, Counter[str]] = defaultdict(Counter)
        self._departments: dict[str, Counter[bool]] = defaultdict(Counter)
        self._acuity: Counter[tuple[Acuity, Acuity]] = Counter()
        self._treated: dict[str, Treated] = {}
        self._outcomes: Counter[tuple[Treated, FollowUpOutcome]] = Counter()
        self._door = DoorTally()
        self._groups = GroupTally(begin=self.begin)
        self._attendances = Attendances(self._groups.add)

    def leave_out(self, begin: int) -> None:
        """Leaves out what happens before a time that has not come yet, as `begin` does."""
        self.begin, self._counts = begin, not begin

    def _begin_to_count(self) -> None:
        """Begins to count; whatever was counted before is left out."""
        self._earlier, self._before = set(self._inside), copy.copy(self.world.counts)
        attendances = self._attendances
        self._count_anew()
        self._attendances = attendances.onto(self._groups.add)
        self._window = Window(self.begin)
        self._inpatients = Inpatients(self._window, before=self._inpatients)
        self._census = Census(begin=self._census.next)
        for work in self._work.values():
            work.count_anew(self._window)
        self._counts = True

    def __len__(self) -> int:
        return self.world.seq + 1

    @property
    def log_hash(self) -> str:
        """Equal for two runs with the same history: of each happening as JSON, and a line feed."""
        return self._hash.hexdigest()

    def add(self, happening: Happening) -> None:
        """Takes the next line of the log."""
        t, who, world = happening.t, happening.who, self.world
        if not self._counts and t >= self.begin:
            self._begin_to_count()
        self._hash.update(encode(happening) + b"\n")
        if t >= self._census.next:
            self._census.until(t, world)
        before = world.staff_with(who)
        if who in world.duty:
            self._shift(t, who, happening.what)
        world.apply(happening)
        after = world.staff_with(who)
        if before != after:
            if before:
                self._workload(before).let_go(t)
                self._census.serve()
                self._window.until = t
            if after:
                self._workload(after).take(t)
        if type(happening.what) in OF_BEDS:
            self._inpatients.add(t, who, happening.what)
        self._attendances.add(happening)
        if who in self._earlier:
            if type(happening.what) in _LEAVING:
                self._earlier.discard(who)
            return
        if type(happening.what) in OF_DOOR:
            self._door.add(t, who, happening.what)
        count = _COUNTED.get(type(happening.what))
        if count is not None:
            count(self, who, happening.what, self._days[max(0, t) // DAY])

    def _shift(self, t: int, who: str, what: What) -> None:
        if isinstance(what, ShiftEnded):
            self._workload(who).at_work.add(self._at_work_since(who), t)

    def _workload(self, who: str) -> _Workload:
        work = self._work.get(who)
        if work is None:
            work = self._work[who] = _Workload(self._window)
        return work

    def _at_work_since(self, who: str) -> int:
        since = self.world.duty[who].since
        return max(since, self.begin) if self._counts else since

    def _queue(self, who: str, _: Queued, day: Counter[str]) -> None:
        if who not in self._inside:
            self._inside.add(who)
            self._arrived += 1
            if who in self._turned_away:
                self._again += 1
                self._turned_away.discard(who)
                self._came_again.add(who)
            day["arrived"] += 1

    def _call(self, who: str, what: CalledIn, _: Counter[str]) -> None:
        if what.staff:
            self._workload(what.staff).called += 1
        self._taken_over += bool(what.instead_of)
        if what.queue != self.world.people[who].department:
            self._area_waits[what.queue][what.waited] += 1
        elif who in self._unseen:
            self._unseen.discard(who)
            self._waits[what.queue][what.waited] += 1

    def _triage(self, _: str, what: Triaged, __: Counter[str]) -> None:
        given, right = _RANK[what.acuity], _RANK[what.right_acuity]
        self._right["triage"][what.department == what.right_department] += 1
        self._right["acuity"][given == right] += 1
        self._right["over_triage"][given < right] += 1
        self._right["under_triage"][given > right] += 1
        self._acuity[what.right_acuity, what.acuity] += 1

    def _register(self, who: str, _: Registered, __: Counter[str]) -> None:
        self._unseen.add(who)

    def _diagnose(self, who: str, what: Diagnosed, day: Counter[str]) -> None:
        self._right["examination"][what.right_examination] += 1
        self._right["diagnosis"][what.right] += 1
        person = self.world.people.get(who)
        self._departments[person.department if person is not None else ""][what.right] += 1
        day["diagnosed"] += 1
        day["right"] += what.right

    def _prescribe(self, who: str, what: Prescribed, _: Counter[str]) -> None:
        self._right["treatment"][what.right] += 1
        self._treated[who] = Treated.RIGHT if what.right else Treated.WRONG

    def _go_home(self, who: str, _: WentHome, day: Counter[str]) -> None:
        self._door.go(who)
        day["seen"] += 1
        self._seen += 1
        self._inside.discard(who)
        self._unseen.discard(who)

    def _die(self, who: str, _: Died, day: Counter[str]) -> None:
        if who in self._inside:
            day["died"] += 1
            self._died_inside += 1
            self._inside.discard(who)
            self._unseen.discard(who)
        self._treated.pop(who, None)

    def _end_untreated(self, who: str, what: LeftUnseen | VisitFailed, day: Counter[str]) -> None:
        if isinstance(what, VisitFailed):
            day["failed"] += 1
            self._failed[what.error] += 1
            self.first_failure = self.first_failure or f"resident {who}: {what.error}: {what.problem}"
        else:
            day["left"] += 1
            self._left[what.reason] += 1
            if what.reason in TURNED_AWAY and who not in self._came_again:
                self._turned_away.add(who)
        self._inside.discard(who)
        self._unseen.discard(who)
        self._treated[who] = Treated.NOT

    def _follow_up(self, who: str, what: FollowedUp, _: Counter[str]) -> None:
        self._turned_away.discard(who)
        self._came_again.discard(who)
        treated = self._treated.pop(who, None)
        # Somebody who was better is told of again when recovered; that is no second outcome.
        if treated is not None:
            self._outcomes[treated, what.outcome] += 1
        if what.outcome is FollowUpOutcome.WORSE:
            self._treated[who] = Treated.NOT

    def _fail_follow_up(self, _: str, what: FollowUpFailed, __: Counter[str]) -> None:
        self._follow_up_failures[f"failed: {what.error}"] += 1

    def summary(self) -> RunSummary:
        """Returns what the log says so far, over all of it."""
        counts, before = self.world.counts, self._before
        if self._serves() or not self._arrived:
            self._window.until = max(self.world.t, self._window.begin)
        return RunSummary(
            fell_ill=counts.fell_ill - before.fell_ill,
            counted=(self._window.begin, self._window.until),
            arrived=self._arrived,
            came_again=self._again,
            seen=self._seen,
            admitted=dict(self._inpatients.admitted.most_common()),
            operated=self._inpatients.operations,
            died=counts.died - before.died,
            died_inside=self._died_inside,
            died_by_cause=by_cause(self._inpatients.died),
            died_by_disease=dict(sorted(self._inpatients.died_of.items())),
            worse_by_cause=by_cause(self._inpatients.worse),
            beds=self._inpatients.occupancy(),
            left=dict(sorted(self._left.items())),
            failed=dict(sorted(self._failed.items())),
            inside=self._arrived - self._seen - self._died_inside - self._left.total() - self._failed.total(),
            referred=counts.referred - before.referred,
            taken_over=self._taken_over,
            follow_ups={
                **{
                    outcome.value: getattr(counts, outcome.value) - getattr(before, outcome.value)
                    for outcome in FollowUpOutcome
                },
                **self._follow_up_failures,
            },
            waits={queue: waits_of(waited) for queue, waited in sorted(self._waits.items())},
            area_waits={area: waits_of(waited) for area, waited in sorted(self._area_waits.items())},
            work={who: self._work_of(who) for who in sorted({*self._work, *self.world.duty})},
            triage=proportion_of(self._right["triage"]),
            acuity=proportion_of(self._right["acuity"]),
            over_triage=proportion_of(self._right["over_triage"]),
            under_triage=proportion_of(self._right["under_triage"]),
            levels=self._door.agreement(),
            level_waits=self._door.waits(),
            worse_waiting=self._door.worse,
            triaged_again=self._door.again,
            examination=proportion_of(self._right["examination"]),
            diagnosis=proportion_of(self._right["diagnosis"]),
            treatment=proportion_of(self._right["treatment"]),
        )

    def _serves(self) -> bool:
        """Whether anybody is with somebody of the staff now."""
        return any(work.serves for work in self._work.values())

    def _work_of(self, who: str) -> Work:
        work = self._workload(who)
        return Work(
            at_work=work.at_work.so_far(self._at_work_since(who) if who in self.world.duty else None),
            busy=work.busy + (self.world.t - work.since if work.serves else 0),
            called=work.called,
        )

    def series(self) -> Series:
        """Returns what the log says so far, by day, hour and department."""
        last = max((day for day, counts in self._days.items() if counts), default=-1)
        return Series(
            days=tuple(self._day(day, self._days[day]) for day in range(self.begin // DAY, last + 1)),
            hours=self._census.hours(),
            diagnosis={name: proportion_of(counts) for name, counts in sorted(self._departments.items())},
            acuity={right.value: {given.value: self._acuity[right, given] for given in Acuity} for right in Acuity},
            outcomes={
                treated.value: {outcome.value: self._outcomes[treated, outcome] for outcome in FollowUpOutcome}
                for treated in Treated
            },
        )

    def groups(self) -> Groups:
        """Returns what the log says so far by disease, department, acuity and hour."""
        return self._groups.groups(self._attendances.open())

    def _day(self, day: int, counts: Counter[str]) -> Day:
        ends = {name: counts[name] for name in ("arrived", "seen", "left", "failed", "died")}
        return Day(day=day + 1, **ends, diagnosis=proportion(counts["right"], counts["diagnosed"]))


_LEAVING = (WentHome, LeftUnseen, VisitFailed, Died)
_COUNTED: dict[type, Callable[[Account, str, Any, Counter[str]], None]] = {
    Queued: Account._queue,
    CalledIn: Account._call,
    Triaged: Account._triage,
    Registered: Account._register,
    Diagnosed: Account._diagnose,
    Prescribed: Account._prescribe,
    WentHome: Account._go_home,
    LeftUnseen: Account._end_untreated,
    VisitFailed: Account._end_untreated,
    Died: Account._die,
    FollowedUp: Account._follow_up,
    FollowUpFailed: Account._fail_follow_up,
}


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
    """Numbers what happens, counts it, and hands it to each sink."""

    def __init__(self, *sinks: Sink) -> None:
        self.account = Account()  # what the log says so far
        self._sinks = sinks

    def add(self, t: int, who: str, what: What) -> None:
        """Writes down what happened, when and to whom."""
        happening = Happening(seq=len(self.account), t=t, who=who, what=what)
        self.account.add(happening)
        for sink in self._sinks:
            sink.add(happening, self.account)


PERIODS = ("before", "during", "after")
"""The three periods."""

_ENDS = (WentHome, LeftUnseen, VisitFailed, Died)
_MINUTE = 60


class Periods:
    """A sink that splits a log by one event: visits, waits and patients who left unseen before, during and after it.

    A visit belongs to the period in which it came to the door, a wait at an area to that in which it was called.

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
