"""What doctors do off their shifts: they read (agent-hospital §3.5.2).

Each who learns, or a department together, reads so many passages of a corpus a day, in an order of its own, at an hour
at which it is not on duty. What comes of it is known at the next midnight, in a library of its own beside its patients.
"""

from __future__ import annotations

import datetime
from collections.abc import Awaitable, Callable, Sequence

from polyclinic.errors import UserError
from polyclinic.hospital.care.setup import LearningSetup
from polyclinic.hospital.floor.clock import Clock, Signal, Steps
from polyclinic.hospital.plan.opening_hours import OpeningHours
from polyclinic.hospital.plan.plan import Hospital, Job, Member
from polyclinic.hospital.record.episodes import StudyRequest
from polyclinic.hospital.record.happenings import DAY, HOUR
from polyclinic.language.language import Language, language_of
from polyclinic.memory.reading import PassageRead
from polyclinic.retrieval.corpus import Corpus
from polyclinic.retrieval.library import find_corpus
from polyclinic.retrieval.retriever import Passage
from polyclinic.seeds import derive

_HOURS = (19, 20, 21, 12, 10, 16, 8)
"""At which somebody may read, the one that it likes best first; it takes an hour."""

_LOOKED_AT = 50
"""Passages that say in which language a corpus is."""

Read = Callable[[StudyRequest], Awaitable[PassageRead]]
"""Lets a doctor read a passage."""


class OffShift:
    """Lets the doctors of a hospital read.

    Args:
        hospital: whose.
        setup: how they learn, and how much they read a day.
        passages: what there is to read.
        clock: keeps the time.
        seed: the run's.
        read: reads.
        takes: is told of whoever has begun to read what; its signal happens at the next midnight.
    """

    def __init__(
        self,
        hospital: Hospital,
        setup: LearningSetup,
        passages: Sequence[Passage],
        clock: Clock,
        *,
        seed: int,
        read: Read,
        takes: Callable[[str, Signal], None],
    ) -> None:
        self._setup, self._passages, self._clock, self._seed = setup, passages, clock, seed
        self._read, self._takes = read, takes
        self._first = datetime.date.fromisoformat(hospital.first_day)
        self._weekday = OpeningHours(hospital).weekday
        self._readers: dict[str, list[Member]] = {}
        for member in hospital.staff.values():
            if member.job is Job.DOCTOR:
                for holder in [member.id] if setup.holder == "doctor" else member.departments:
                    self._readers.setdefault(holder, []).append(member)

    def begin(self, days: int) -> None:
        """Lets everybody read on so many days."""
        for holder in self._readers:
            self._clock.start(self._reads(holder, days))

    def _reads(self, holder: str, days: int) -> Steps:
        order = list(self._passages)
        derive(self._seed, holder, "reading").shuffle(order)
        for day in range(days):
            hour = self._hour(holder, day)
            if hour is None:
                continue
            today, order = order[: self._setup.passages], order[self._setup.passages :]
            if not today:
                return
            yield self._clock.at(day * DAY + hour * HOUR)
            for passage in today:
                request = StudyRequest(
                    holder=holder,
                    date=(self._first + datetime.timedelta(days=day)).isoformat(),
                    language=self._setup.language,
                    passage=passage,
                )
                self._takes(holder, self._clock.launch(self._read(request), due=(day + 1) * DAY))

    def _hour(self, holder: str, day: int) -> int | None:
        """Returns at which hour of a day somebody is not on duty; None where there is none."""
        weekday = self._weekday(day)
        for hour in _HOURS:
            begin, end = hour * HOUR, (hour + 1) * HOUR
            for member in self._readers[holder]:
                shifts = (shift for shift in member.shifts if weekday in shift.days)
                if all(shift.end <= begin or end <= shift.begin for shift in shifts):
                    return hour
        return None


def read_whole(corpus: str, language: Language) -> list[Passage]:
    """Returns what there is to read in a corpus, in its order.

    Raises:
        UserError: there is no such corpus, nothing in it, or it is in another language.
    """
    with Corpus(find_corpus(corpus)) as opened:
        found = list(opened.passages())
    if not found:
        raise UserError(f"--read {corpus}: the corpus holds nothing")
    there = language_of([passage.text for passage in found[:_LOOKED_AT]])
    if there != language:
        raise UserError(f"--read {corpus}: is in {there!r}, and the town in {language!r}")
    return found
