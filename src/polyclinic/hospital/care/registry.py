"""What a hospital keeps from visit to visit: a file for each patient, what each doctor remembers, and who sees whom.

Files and memories grow with the residents and the staff, and not with the visits: of a patient the last visits are
kept, of a doctor the last cases. What a visit is given of them is what is known when it is launched.
"""

from __future__ import annotations

import datetime
from collections import deque
from typing import NamedTuple, Protocol

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.patient_record import NotedVisit
from polyclinic.hospital.plan.opening_hours import Roster
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.record.episodes import Episode, EpisodeRequest
from polyclinic.hospital.record.happenings import DAY, FollowUpOutcome
from polyclinic.players.roles.doctor import CaseSeen
from polyclinic.seeds import derive

VISITS_KEPT = 6
"""Of one patient."""

CASES_KEPT = 200
"""Of one doctor."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(NotedVisit).decode


class _OpenCase(NamedTuple):
    """A visit that is over and has not been followed up."""

    visit: NotedVisit
    doctor: str
    seen: CaseSeen


class Learns(Protocol):
    """Whoever learns from visits: it is told of them, and says what is read in the next."""

    def read(self, request: EpisodeRequest) -> EpisodeRequest:
        """Returns a request with what its doctors remember."""

    def over(self, patient: str, case: Case, episode: Episode) -> None:
        """A visit is over at which the patient was seen."""

    def followed_up(self, patient: str, outcome: str) -> None:
        """How a patient is after its last visit is known."""


class Registry:
    """Files of patients, memories of doctors, and who is expected to see a visit.

    Args:
        hospital: whose.
        seed: the run's.
        memory: how many of its own cases a doctor is told of.
        learning: learns from the visits; nobody where None.
    """

    def __init__(self, hospital: Hospital, *, seed: int, memory: int = 0, learning: Learns | None = None) -> None:
        self._hospital, self._seed, self._memory, self._learning = hospital, seed, memory, learning
        self._roster = Roster(hospital)
        self._first = datetime.date.fromisoformat(hospital.first_day)
        # As bytes: a tenth of what the objects take, and a few only are looked into on a day.
        self._visits: dict[str, deque[bytes]] = {}
        self._open: dict[str, _OpenCase] = {}
        self._memories: dict[str, deque[tuple[int, CaseSeen]]] = {}

    def request(self, patient: str, case: Case, number: int, *, arrives: int, now: int) -> EpisodeRequest:
        """Returns what a visit's episode is computed from."""
        # Whoever got worse before the launch is expected by the same doctors as whoever does so after it.
        doctors = self._doctors(f"{case.id.partition('.')[0]}/{number}", arrives)
        remembering = dict.fromkeys(doctor for there in doctors.values() for doctor in there)
        memories = {doctor: self.memory(doctor, before=now // DAY) for doctor in remembering} if self._memory else {}
        request = EpisodeRequest(
            resident=patient,
            case=case,
            visit=number,
            departments=tuple(self._hospital.departments),
            day=(self._first + datetime.timedelta(days=arrives // DAY)).isoformat(),
            earlier=self._earlier(patient, case),
            doctors=doctors,
            memories={doctor: cases for doctor, cases in memories.items() if cases},
        )
        return request if self._learning is None else self._learning.read(request)

    def over(self, patient: str, case: Case, episode: Episode) -> None:
        """A visit is over at which the patient was seen."""
        if episode.noted is None:
            return
        if self._learning is not None:
            self._learning.over(patient, case, episode)
        self._visits.setdefault(patient, deque(maxlen=VISITS_KEPT)).append(_encode(episode.noted))
        doctor = episode.seen[-1].doctor if episode.seen else ""
        self._open[patient] = _OpenCase(episode.noted, doctor, _seen(case, episode.noted, episode.plan or ""))

    def followed_up(self, patient: str, outcome: str, day: int) -> None:
        """How the patient is after its last visit is known, or that it has died: its file and its doctor take note."""
        if self._learning is not None:
            self._learning.followed_up(patient, outcome)
        open_case = self._open.pop(patient, None)
        if open_case is None:
            return
        kept = self._visits[patient]
        for place, visit in enumerate(map(_decode, kept)):
            if (visit.illness, visit.number) == (open_case.visit.illness, open_case.visit.number):
                kept[place] = _encode(msgspec.structs.replace(visit, outcome=outcome))
        if open_case.doctor:
            memory = self._memories.setdefault(open_case.doctor, deque(maxlen=CASES_KEPT))
            memory.append((day, msgspec.structs.replace(open_case.seen, outcome=outcome)))

    def file(self, patient: str) -> tuple[NotedVisit, ...]:
        """Returns what is kept of a patient's visits, the earliest first."""
        return tuple(map(_decode, self._visits.get(patient, ())))

    def memory(self, doctor: str, *, before: int) -> tuple[CaseSeen, ...]:
        """Returns a doctor's last cases whose outcomes were known before a day, as many as it is told of."""
        known = [case for day, case in self._memories.get(doctor, ()) if day < before]
        return tuple(known[-self._memory :]) if self._memory else ()

    def _earlier(self, patient: str, case: Case) -> tuple[NotedVisit, ...]:
        illness = case.id.partition(".")[0]
        # Who comes again with an illness has got worse, though the visit may be launched before it says so.
        return tuple(
            msgspec.structs.replace(visit, outcome=visit.outcome or FollowUpOutcome.WORSE.value)
            if visit.illness == illness
            else visit
            for visit in self.file(patient)
        )

    def _doctors(self, key: str, arrives: int) -> dict[str, tuple[str, ...]]:
        rng = derive(self._seed, "doctor", key)
        there = {d: self._roster.doctors(d, arrives) for d in self._hospital.departments}
        return {d: tuple(rng.sample(doctors, len(doctors))) for d, doctors in there.items() if doctors}


def _seen(case: Case, visit: NotedVisit, plan: str) -> CaseSeen:
    """Returns what a doctor remembers of a visit; of the case, what was known at the door."""
    known = case.presentation
    return CaseSeen(
        day=visit.day,
        age=known.age,
        sex=known.sex,
        complaint=known.complaint,
        examinations=tuple(dict.fromkeys(finding.examination for finding in visit.findings)),
        diagnosis=visit.diagnoses[0].name if visit.diagnoses else "",
        plan=plan,
    )
