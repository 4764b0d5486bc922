"""What the doctors of a run have learnt, day by day and week by week, beside how right they were."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from polyclinic.frames import Tabular
from polyclinic.hospital.record.befallen import MemoriesPublished
from polyclinic.hospital.record.figures import Proportion, proportion
from polyclinic.hospital.record.happenings import DAY, Diagnosed, Happening, Prescribed

WEEK = 7


class LearntBy(msgspec.Struct, frozen=True, kw_only=True):
    """A day, or a week.

    Attributes:
        number: which, from 0.
        records, experience: how much all memories hold together at its end, beside what doctors brought.
        questions: on what was read off shift, how many were answered rightly until then.
        examination, diagnosis, treatment: how much of what was decided in it was right.
    """

    number: int
    records: int
    experience: int
    questions: int
    examination: Proportion
    diagnosis: Proportion
    treatment: Proportion


class Learnt(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """What was learnt.

    Attributes:
        version: names the memories as they are at the end; "" where nobody learnt anything.
        cases: of so many patients.
        records, experience: as much.
        passages, questions: read off shift, and on them answered rightly.
        days, weeks: every one up to the last.
    """

    version: str
    cases: int
    records: int
    experience: int
    passages: int
    questions: int
    days: tuple[LearntBy, ...]
    weeks: tuple[LearntBy, ...]


class LearntTally:
    """Counts, happening by happening."""

    def __init__(self) -> None:
        self._version = ""
        self._days: dict[int, Counter[str]] = defaultdict(Counter)

    def add(self, happening: Happening) -> None:
        """Takes the next happening of the log."""
        what = happening.what
        if isinstance(what, MemoriesPublished):
            self._version = what.version
            # What is published at midnight was learnt on the day before.
            day = self._days[max(0, happening.t - 1) // DAY]
            day.update(cases=what.cases, records=what.records, experience=what.experience)
            day.update(passages=what.passages, questions=what.questions)
        elif isinstance(what, Diagnosed):
            day = self._days[max(0, happening.t) // DAY]
            day.update(diagnosed=1, examination=what.right_examination, diagnosis=what.right)
        elif isinstance(what, Prescribed):
            self._days[max(0, happening.t) // DAY].update(prescribed=1, treatment=what.right)

    def looking_on(self, happenings: Iterable[Happening]) -> Iterator[Happening]:
        """Passes happenings on to whoever reads them, and counts them."""
        for happening in happenings:
            self.add(happening)
            yield happening

    def learnt(self) -> Learnt:
        """Returns what it comes to so far."""
        total = sum(self._days.values(), Counter[str]())
        return Learnt(
            version=self._version,
            cases=total["cases"],
            records=total["records"],
            experience=total["experience"],
            passages=total["passages"],
            questions=total["questions"],
            days=self._by(1),
            weeks=self._by(WEEK),
        )

    def _by(self, days: int) -> tuple[LearntBy, ...]:
        last = max((day for day, counts in self._days.items() if counts), default=-1)
        found, so_far = [], Counter[str]()
        for number in range(last // days + 1):
            counts = sum((self._days[d] for d in range(number * days, (number + 1) * days)), Counter[str]())
            so_far += counts
            found.append(
                LearntBy(
                    number=number,
                    records=so_far["records"],
                    experience=so_far["experience"],
                    questions=so_far["questions"],
                    examination=proportion(counts["examination"], counts["diagnosed"]),
                    diagnosis=proportion(counts["diagnosis"], counts["diagnosed"]),
                    treatment=proportion(counts["treatment"], counts["prescribed"]),
                )
            )
        return tuple(found)
