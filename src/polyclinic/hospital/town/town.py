"""The town as the simulation needs it: who falls ill when, with which case, and how that goes on."""

from __future__ import annotations

from collections.abc import Iterable

from polyclinic.cases.case import Case
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.record.happenings import DAY
from polyclinic.hospital.town.illness import IllnessCourse, Incidence, Onset, Treatment, case_for, course, worsened
from polyclinic.hospital.town.residents import Residents
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.seeds import derive

_WAKES = (5.5 * 3600, 8.5 * 3600)  # earliest and latest, time of day
_DELAY = (0.0, 11 * 3600.0, 3600.0)  # from waking to setting out: least, most, likeliest


class Town:
    """Residents, illnesses and courses drawn from the knowledge; each answer depends on seed and arguments alone.

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
        """Returns who would fall ill on a day if it were healthy."""
        return self._incidence.onsets(day)

    def name(self, resident: int) -> str:
        """Returns the id of a resident, by its number."""
        return f"r{resident + 1:05d}"

    def department(self, onset: Onset) -> str:
        """Returns the department that an illness belongs to."""
        return self._knowledge.diseases[onset.disease].department

    def times(self, onset: Onset) -> tuple[int, int]:
        """Returns when somebody wakes up ill, and how many seconds later it is ready to go to hospital.

        Most are after an hour or two, some in the evening (triangular).
        """
        rng = derive(self._seed, "wakes", onset.day, onset.resident)
        wakes = onset.day * DAY + round(rng.uniform(*_WAKES))
        return wakes, round(rng.triangular(*_DELAY))

    def case_for(self, onset: Onset) -> Case:
        """Returns the case of the first visit."""
        return case_for(self._residents[onset.resident], onset, self._knowledge, seed=self._seed)

    def worsened(self, resident: int, case: Case) -> Case:
        """Returns the case of a further visit, one severity up."""
        return worsened(case, self._residents[resident], self._knowledge, seed=self._seed)

    def course(self, case: Case, visit: int, treatment: Treatment) -> IllnessCourse:
        """Returns how the illness goes on after a visit, which is counted from 1 within the illness."""
        days = self._follow_up_days
        return course(case, self._knowledge, visit=visit, treatment=treatment, follow_up_days=days, seed=self._seed)
