"""Files of patients from visit to visit, and the doctors who are expected to see a visit.

Files grow with the residents and not with the visits: the last visits of a patient are kept. A visit gets what is known
when it is launched.
"""

from __future__ import annotations

from collections import deque

import msgspec
from msgspec.structs import replace

from polyclinic.cases.case import Case
from polyclinic.cases.patient_record import NotedVisit
from polyclinic.hospital.plan.opening_hours import Roster
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.record.episodes import Episode, EpisodeRequest
from polyclinic.hospital.record.happenings import DAY, FollowUpOutcome
from polyclinic.seeds import derive

VISITS_KEPT = 6
"""Of one patient."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(NotedVisit).decode


class Registry:
    """Files of patients, and the doctors who are expected to see a visit."""

    def __init__(self, hospital: Hospital, *, seed: int) -> None:
        self._hospital, self._seed = hospital, seed
        self._roster = Roster(hospital)
        # As bytes: a tenth of what the objects take, and a few only are looked into on a day.
        self._visits: dict[str, deque[bytes]] = {}
        self._open: dict[str, NotedVisit] = {}  # by patient, the visit that has not been followed up

    def request(self, patient: str, case: Case, number: int, *, arrives: int) -> EpisodeRequest:
        """Returns what the episode of a visit is computed from; `number` counts from 1 within the illness."""
        illness = case.id.partition(".")[0]
        rng = derive(self._seed, "doctor", f"{illness}/{number}")
        there = {d: self._roster.doctors(d, arrives) for d in self._hospital.departments}
        return EpisodeRequest(
            resident=patient,
            case=case,
            visit=number,
            departments=tuple(self._hospital.departments),
            day=self._hospital.date(arrives // DAY).isoformat(),
            # A patient who comes again with an illness has got worse, even if no follow-up has said so yet.
            earlier=tuple(
                replace(visit, outcome=visit.outcome or FollowUpOutcome.WORSE.value)
                if visit.illness == illness
                else visit
                for visit in self.file(patient)
            ),
            # The same doctors, whether the patient gets worse before the launch or after it.
            doctors={d: tuple(rng.sample(doctors, len(doctors))) for d, doctors in there.items() if doctors},
        )

    def over(self, patient: str, episode: Episode) -> None:
        """A visit is over at which the patient was seen."""
        if episode.noted is not None:
            self._visits.setdefault(patient, deque(maxlen=VISITS_KEPT)).append(_encode(episode.noted))
            self._open[patient] = episode.noted

    def followed_up(self, patient: str, outcome: str) -> None:
        """How the patient is after its last visit is known, or that it has died: its file takes note."""
        open_visit = self._open.pop(patient, None)
        if open_visit is None:
            return
        kept = self._visits[patient]
        for place, visit in enumerate(map(_decode, kept)):
            if (visit.illness, visit.number) == (open_visit.illness, open_visit.number):
                kept[place] = _encode(replace(visit, outcome=outcome))

    def file(self, patient: str) -> tuple[NotedVisit, ...]:
        """Returns what is kept of a patient's visits, the earliest first."""
        return tuple(map(_decode, self._visits.get(patient, ())))
