"""What a log says: visits and how they ended, waits, work, how right triage, diagnosis and treatment were.

Fed happening by happening; what is kept grows with those who are in the hospital, with departments and staff, and not
with the length of the log. What failed stands outside every share, with its counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import msgspec

from polyclinic.hospital.record.happenings import (
    Acuity,
    Called,
    Consulted,
    Diagnosed,
    Dispensed,
    Examined,
    FellIll,
    FollowedUp,
    FollowUpFailed,
    Happening,
    LeftUnseen,
    Outcome,
    Prescribed,
    Queued,
    Referred,
    Registered,
    ShiftBegan,
    ShiftEnded,
    Triaged,
    VisitFailed,
    Walked,
    WentHome,
    What,
)
from polyclinic.statistics.uncertainty import share

_RANK = {acuity: rank for rank, acuity in enumerate(Acuity)}
_SERVED = Triaged | Registered | Consulted | Examined | Referred | Diagnosed | Prescribed | Dispensed


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """How many of how many, in percent, with Wilson's 95 % interval; None where there is none to count.

    Visits of one resident are not independent, so that the interval is a little too narrow where many come back.
    """

    right: int
    n: int
    percent: float | None
    low: float | None
    high: float | None


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """How long people waited before they were called. Who left uncalled is counted in `Summary.left`.

    Attributes:
        n: calls.
        mean: in seconds, like the others.
        median: half waited no longer.
        p90: nine in ten waited no longer.
        p99: 99 in a hundred waited no longer.
        longest: of all.
    """

    n: int
    mean: float
    median: int
    p90: int
    p99: int
    longest: int


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a member of the staff did.

    Attributes:
        at_work: seconds between the beginnings and ends of its shifts, overtime included.
        busy: seconds of these with somebody, from the call to the end of the service.
        called: patients, once for each call.
    """

    at_work: int
    busy: int
    called: int


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a log says.

    Attributes:
        fell_ill: onsets.
        arrived: comings to the hospital: the sum of `seen`, `left`, `failed` and `inside`.
        seen: treated and gone home.
        left: by reason, those who left before.
        failed: by the failure's name, visits that came to no report.
        inside: on the way to or in the hospital at the end of the log.
        referred: patients sent on to another department.
        follow_ups: by outcome, or by what failed; somebody who is better is told again when recovered.
        waits: for the first talk with a doctor, by department.
        area_waits: by area; triage, registration, examinations, the pharmacy.
        work: by member of the staff.
        triage: sent to the right department.
        acuity: judged as urgent as it was.
        over_triage: judged more urgent.
        under_triage: judged less urgent.
        examination: an examination that is right for the disease was done.
        diagnosis: right.
        treatment: the plan of the disease at its severity.
    """

    fell_ill: int
    arrived: int
    seen: int
    left: dict[str, int]
    failed: dict[str, int]
    inside: int
    referred: int
    follow_ups: dict[str, int]
    waits: dict[str, Waits]
    area_waits: dict[str, Waits]
    work: dict[str, Work]
    triage: Share
    acuity: Share
    over_triage: Share
    under_triage: Share
    examination: Share
    diagnosis: Share
    treatment: Share


class _Patient:
    __slots__ = ("department", "first", "queue", "served", "staff")

    def __init__(self) -> None:
        self.department = ""
        self.first = True  # has not been with a doctor of its department
        self.queue: Queued | None = None
        self.staff = ""
        self.served = False


class _Post:
    __slots__ = ("at_work", "began", "busy", "called", "since", "with_it")

    def __init__(self) -> None:
        self.at_work = self.busy = self.called = self.with_it = self.since = 0
        self.began: int | None = None


class Results:
    """Counts as happenings come."""

    def __init__(self) -> None:
        self._now = 0
        self._counts: Counter[str] = Counter()
        self._left: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._follow_ups: Counter[str] = Counter()
        self._right: dict[str, Counter[bool]] = defaultdict(Counter)
        self._waits: dict[str, Counter[int]] = defaultdict(Counter)
        self._area_waits: dict[str, Counter[int]] = defaultdict(Counter)
        self._patients: dict[str, _Patient] = {}
        self._posts: dict[str, _Post] = defaultdict(_Post)

    def add(self, happening: Happening) -> None:
        """Takes the next line of the log."""
        t, who, what = happening.t, happening.who, happening.what
        self._now = t
        patient = self._patients.get(who)
        if patient is not None and patient.staff:
            if isinstance(what, _SERVED):
                patient.served = True
            elif patient.served or not isinstance(what, Walked):
                self._free(patient, t)
        match what:
            case FellIll():
                self._counts["fell ill"] += 1
            case Queued():
                if patient is None:
                    patient = self._patients[who] = _Patient()
                    self._counts["arrived"] += 1
                patient.queue = what
            case Called() if patient is not None:
                self._call(patient, what, t)
            case Registered() if patient is not None:
                patient.department, patient.first = what.department, True
            case Diagnosed():
                self._right["examination"][what.right_examination] += 1
                self._right["diagnosis"][what.right] += 1
            case Prescribed():
                self._right["treatment"][what.right] += 1
            case _:
                self._rest(who, t, what)

    def summary(self) -> Summary:
        """Returns what the log says so far."""
        return Summary(
            fell_ill=self._counts["fell ill"],
            arrived=self._counts["arrived"],
            seen=self._counts["seen"],
            left=dict(sorted(self._left.items())),
            failed=dict(sorted(self._failed.items())),
            inside=self._counts["arrived"] - self._counts["seen"] - self._left.total() - self._failed.total(),
            referred=self._counts["referred"],
            follow_ups={**{outcome.value: 0 for outcome in Outcome}, **self._follow_ups},
            waits={queue: _waits(counts) for queue, counts in sorted(self._waits.items())},
            area_waits={queue: _waits(counts) for queue, counts in sorted(self._area_waits.items())},
            work={id: self._work(post) for id, post in sorted(self._posts.items())},
            triage=self._share("triage"),
            acuity=self._share("acuity"),
            over_triage=self._share("over_triage"),
            under_triage=self._share("under_triage"),
            examination=self._share("examination"),
            diagnosis=self._share("diagnosis"),
            treatment=self._share("treatment"),
        )

    def _rest(self, who: str, t: int, what: What) -> None:
        match what:
            case LeftUnseen():
                self._left[what.reason] += 1
                del self._patients[who]
            case FollowUpFailed():
                self._follow_ups[f"failed: {what.error}"] += 1
            case VisitFailed():
                self._failed[what.error] += 1
                del self._patients[who]
            case WentHome():
                self._counts["seen"] += 1
                del self._patients[who]
            case Triaged():
                self._triage(what)
            case Referred():
                self._counts["referred"] += 1
            case FollowedUp():
                self._follow_ups[what.outcome.value] += 1
            case ShiftBegan():
                self._posts[who].began = t
            case ShiftEnded():
                post = self._posts[who]
                if post.began is not None:
                    post.at_work += t - post.began
                    post.began = None

    def _call(self, patient: _Patient, called: Called, t: int) -> None:
        if called.queue != patient.department:
            self._area_waits[called.queue][called.waited] += 1
        elif patient.first:
            patient.first = False
            self._waits[called.queue][called.waited] += 1
        if called.staff:
            patient.staff, patient.served = called.staff, False
            post = self._posts[called.staff]
            post.called += 1
            post.with_it += 1
            if post.with_it == 1:
                post.since = t

    def _free(self, patient: _Patient, t: int) -> None:
        post = self._posts[patient.staff]
        post.with_it -= 1
        if not post.with_it:
            post.busy += t - post.since
        patient.staff = ""

    def _triage(self, what: Triaged) -> None:
        given, right = _RANK[what.acuity], _RANK[what.right_acuity]
        self._right["triage"][what.department == what.right_department] += 1
        self._right["acuity"][given == right] += 1
        self._right["over_triage"][given < right] += 1
        self._right["under_triage"][given > right] += 1

    def _work(self, post: _Post) -> Work:
        at_work = post.at_work + (0 if post.began is None else self._now - post.began)
        busy = post.busy + (self._now - post.since if post.with_it else 0)
        return Work(at_work=at_work, busy=busy, called=post.called)

    def _share(self, name: str) -> Share:
        counts = self._right[name]
        percent, low, high = share(counts[True], counts.total())
        return Share(right=counts[True], n=counts.total(), percent=percent, low=low, high=high)


def summarise(happenings: Iterable[Happening]) -> Summary:
    """Returns what a log says."""
    results = Results()
    for happening in happenings:
        results.add(happening)
    return results.summary()


def _waits(counts: Counter[int]) -> Waits:
    n = counts.total()
    ordered = sorted(counts.items())

    def quantile(q: float) -> int:
        below = 0
        for waited, count in ordered:
            below += count
            if below >= q * n:
                return waited
        return ordered[-1][0]

    return Waits(
        n=n,
        mean=sum(waited * count for waited, count in ordered) / n,
        median=quantile(0.5),
        p90=quantile(0.9),
        p99=quantile(0.99),
        longest=ordered[-1][0],
    )
