"""The town as the simulation needs it: who falls ill when, with which case, and how that goes on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from polyclinic.cases.case import Case
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.record.happenings import DAY
from polyclinic.hospital.town.illness import Course, Incidence, Onset, case_for, course, worsened
from polyclinic.hospital.town.residents import Residents
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.seeds import derive

_WAKES = (5.5 * 3600, 8.5 * 3600)  # earliest and latest, time of day
_DELAY = (0.0, 11 * 3600.0, 3600.0)  # from waking to setting out: least, most, likeliest


class Town(Protocol):
    """Residents who fall ill. Every answer depends on the seed and the arguments alone."""

    def onsets(self, day: int) -> Iterable[Onset]:
        """Returns who would fall ill on a day if it were healthy."""

    def name(self, resident: int) -> str:
        """Returns the id of a resident, by its number."""

    def department(self, onset: Onset) -> str:
        """Returns the department that an illness belongs to."""

    def times(self, onset: Onset) -> tuple[int, int]:
        """Returns when somebody wakes up ill, and how many seconds later it is ready to go to hospital."""

    def case_for(self, onset: Onset) -> Case:
        """Returns the case of the first visit."""

    def worsened(self, resident: int, case: Case) -> Case:
        """Returns the case of a further visit, one severity up."""

    def course(self, case: Case, *, visit: int, treated: bool, right_treatment: bool) -> Course:
        """Returns how the illness goes on after a visit."""


class DrawnTown:
    """A town whose residents, illnesses and courses are drawn from the knowledge.

    Args:
        hospital: how the town falls ill.
        knowledge: the diseases.
        residents: who lives there.
        seed: the run's seed.
    """

    def __init__(self, hospital: Hospital, knowledge: Knowledge, residents: Residents, *, seed: int) -> None:
        self._incidence = Incidence(hospital, knowledge, residents, seed=seed)
        self._knowledge, self._residents, self._seed = knowledge, residents, seed
        self._follow_up_days = hospital.illness.follow_up_days

    def onsets(self, day: int) -> Iterable[Onset]:
        """See `Town`."""
        return self._incidence.onsets(day)

    def name(self, resident: int) -> str:
        """See `Town`."""
        return f"r{resident + 1:05d}"

    def department(self, onset: Onset) -> str:
        """See `Town`."""
        return self._knowledge.diseases[onset.disease].department

    def times(self, onset: Onset) -> tuple[int, int]:
        """See `Town`. Most set out an hour or two after waking, some in the evening (triangular)."""
        rng = derive(self._seed, "wakes", onset.day, onset.resident)
        wakes = onset.day * DAY + round(rng.uniform(*_WAKES))
        return wakes, round(rng.triangular(*_DELAY))

    def case_for(self, onset: Onset) -> Case:
        """See `Town`."""
        return case_for(self._residents[onset.resident], onset, self._knowledge, seed=self._seed)

    def worsened(self, resident: int, case: Case) -> Case:
        """See `Town`."""
        return worsened(case, self._residents[resident], self._knowledge, seed=self._seed)

    def course(self, case: Case, *, visit: int, treated: bool, right_treatment: bool) -> Course:
        """See `Town`."""
        return course(
            case,
            self._knowledge,
            visit=visit,
            treated=treated,
            right_treatment=right_treatment,
            follow_up_days=self._follow_up_days,
            seed=self._seed,
        )
