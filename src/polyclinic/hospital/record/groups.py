"""What a log says by disease, department, acuity, level and hour: each coming to the hospital counts once in each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import msgspec

from polyclinic.frames import Tabular
from polyclinic.hospital.record.attendance import FAILED, LEFT, SEEN, Attendance
from polyclinic.hospital.record.figures import Proportion, proportion_of, waits_of
from polyclinic.hospital.record.happenings import DAY, HOUR, Acuity, FollowUpOutcome

_MINUTE = 60


class UntilDoctor(msgspec.Struct, frozen=True, kw_only=True):
    """Minutes from arrival to the first doctor's call, of those who were called; None where nobody was."""

    mean: float | None
    median: float | None
    p90: float | None  # nine in ten waited no longer
    n: int


class Subtotal(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a part of those who came to the hospital."""

    visits: int  # comings
    seen: int  # treated and gone home
    left: int  # before
    failed: int  # visits that came to no report
    admitted: int  # lay down in a bed
    died: int  # of the illness, in the hospital or later
    worse: int  # got worse in a bed or by the first follow-up
    waiting: UntilDoctor
    department: Proportion  # sent to the right one
    acuity: Proportion  # judged as urgent as it was
    diagnosis: Proportion  # right
    treatment: Proportion  # the plan of the disease at its severity
    outcomes: dict[str, int]  # at the first follow-up


class Groups(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """The same figures of parts of those who came; whom a part cannot be said of is in none."""

    by_disease: dict[str, Subtotal]  # that they had
    by_department: dict[str, Subtotal]  # where the nurse sent them
    by_acuity: dict[str, Subtotal]  # as the nurse judged it first
    by_level: dict[str, Subtotal]  # of the five-level index, as she judged it
    by_hour: dict[str, Subtotal]  # of the day at which they arrived, "00" to "23"
    all: Subtotal  # everybody


class _GroupCount:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.waits: Counter[int] = Counter()
        self.right: dict[str, Counter[bool]] = defaultdict(Counter)
        self.outcomes: Counter[FollowUpOutcome] = Counter()

    def add(self, one: Attendance) -> None:
        counts = self.counts
        counts["visits"] += 1
        if one.ended:
            counts[one.ended] += 1
        counts["admitted"] += bool(one.admitted)
        counts["dead"] += one.died
        counts["worse"] += one.worse or one.outcome is FollowUpOutcome.WORSE
        if one.waited is not None:
            self.waits[one.waited] += 1
        if one.outcome is not None:
            self.outcomes[one.outcome] += 1
        acuity = None if one.acuity is None else one.acuity is one.right_acuity
        for name, right in (
            ("department", one.right_department),
            ("acuity", acuity),
            ("diagnosis", one.right_diagnosis),
            ("treatment", one.right_treatment),
        ):
            if right is not None:
                self.right[name][right] += 1

    def copy(self) -> _GroupCount:
        copied = _GroupCount()
        copied.counts, copied.waits = self.counts.copy(), self.waits.copy()
        copied.outcomes = self.outcomes.copy()
        copied.right = defaultdict(Counter, {name: counts.copy() for name, counts in self.right.items()})
        return copied

    def subtotal(self) -> Subtotal:
        counts = self.counts
        return Subtotal(
            visits=counts["visits"],
            seen=counts[SEEN],
            left=counts[LEFT],
            failed=counts[FAILED],
            admitted=counts["admitted"],
            died=counts["dead"],
            worse=counts["worse"],
            waiting=_minutes(self.waits),
            department=proportion_of(self.right["department"]),
            acuity=proportion_of(self.right["acuity"]),
            diagnosis=proportion_of(self.right["diagnosis"]),
            treatment=proportion_of(self.right["treatment"]),
            outcomes={outcome.value: self.outcomes[outcome] for outcome in FollowUpOutcome},
        )


def _minutes(waits: Counter[int]) -> UntilDoctor:
    if not waits:
        return UntilDoctor(mean=None, median=None, p90=None, n=0)
    found = waits_of(waits)
    mean, median, p90 = (round(seconds / _MINUTE, 2) for seconds in (found.mean, found.median, found.p90))
    return UntilDoctor(mean=mean, median=median, p90=p90, n=found.n)


def _places(one: Attendance) -> Iterable[tuple[str, str]]:
    """Yields the parts that somebody belongs to."""
    yield "all", ""
    yield "hour", f"{max(0, one.arrived) % DAY // HOUR:02}"
    if one.disease:
        yield "disease", one.disease
    if one.department:
        yield "department", one.department
    if one.acuity is not None:
        yield "acuity", one.acuity.value
    if one.level is not None:
        yield "level", str(one.level)


class GroupTally:
    """Counts comings by their parts.

    Args:
        begin: who arrived before this time of the run, in seconds, is left out.
    """

    def __init__(self, *, begin: int = 0) -> None:
        self._begin = begin
        self._parts: dict[tuple[str, str], _GroupCount] = defaultdict(_GroupCount)

    def add(self, one: Attendance) -> None:
        """Counts one."""
        if one.arrived >= self._begin:
            for place in _places(one):
                self._parts[place].add(one)

    def groups(self, open: Iterable[Attendance] = ()) -> Groups:
        """Returns what they come to, with those that are not counted yet."""
        whole = GroupTally(begin=self._begin)
        whole._parts.update({place: part.copy() for place, part in self._parts.items()})
        for one in open:
            whole.add(one)
        nobody = _GroupCount()

        def by(what: str, always: Iterable[str] = ()) -> dict[str, Subtotal]:
            names = sorted(name for kind, name in whole._parts if kind == what)
            return {
                name: whole._parts.get((what, name), nobody).subtotal() for name in dict.fromkeys([*always, *names])
            }

        return Groups(
            by_disease=by("disease"),
            by_department=by("department"),
            by_acuity=by("acuity", [acuity.value for acuity in Acuity]),
            by_level=by("level"),
            by_hour=by("hour"),
            all=whole._parts.get(("all", ""), nobody).subtotal(),
        )
