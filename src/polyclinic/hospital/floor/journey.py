"""One visit to the hospital, from home and back: where somebody goes, waits and is served, in simulated time.

What is said and decided there is the episode's, which comes from elsewhere (`hospital/care/clinic.py`) and enters at
triage.

1. The patient walks to the triage station; a nurse sends it to a department (agent-hospital §3.4.2). Whose danger
   anybody sees is the next there; who is of level 1 is brought to a doctor at once, and triaged beside it.
2. It registers, and waits (§3.4.3). Who has routine acuity leaves when its patience is spent. An emergency is
   registered at the bedside, and seen at once: see `queues.py`.
3. A doctor sees it, and may order examinations: what the doctor does with bare hands at once, the others where
   they are done (§3.4.4-5). Samples are taken once for all tests, of who is of level 1 at the bedside; they go on side
   by side while the patient has its pictures taken or waits; a picture's report comes later, too. An emergency is
   treated before its cultures are read.
4. It comes back to the same doctor, who calls it before new patients: the diagnosis, or a referral, with which 2 and 3
   begin again in another department, without the counter (§3.4.6).
5. The plan, the pharmacy, the way home (§3.4.7).

Who is told that it is closed goes home; so does whoever's episode failed, where it failed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

from polyclinic.hospital.floor.clock import Clock, Signal, Steps
from polyclinic.hospital.floor.lines import Encounter, Gone, Server
from polyclinic.hospital.floor.queues import Floor
from polyclinic.hospital.floor.rota import Rota
from polyclinic.hospital.floor.stays import Beds, Stay, handed_out
from polyclinic.hospital.plan.events import Incident
from polyclinic.hospital.plan.opening_hours import OpeningHours
from polyclinic.hospital.plan.plan import AreaKind, Durations, Hospital
from polyclinic.hospital.plan.ways import Ways
from polyclinic.hospital.record.account import Log
from polyclinic.hospital.record.episodes import ConsultationHeld, Episode
from polyclinic.hospital.record.happenings import (
    Activity,
    ActivityBegan,
    ActivityEnded,
    Acuity,
    CalledIn,
    Consulted,
    Diagnosed,
    ExaminationDone,
    LeftUnseen,
    Prescribed,
    Queued,
    Referred,
    Registered,
    Sampled,
    Triaged,
    VisitFailed,
    Walked,
    WentHome,
    What,
)
from polyclinic.hospital.town.illness import Nature

SAMPLED = ("laboratory", "microbiology")
"""The kinds of examinations that are made of samples, which one taking serves."""

CULTURED = "microbiology"
"""The kind of examinations for whose results the treatment of an emergency does not wait."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """An examination as it was ordered."""

    examination: str
    kind: str  # "" where it is not known
    seconds: int  # from its beginning to its result
    there: int  # of these, how many the patient is there


@dataclass(frozen=True, slots=True)
class LateResult:
    """A result that comes while the patient is elsewhere, who hears of it back in the hall."""

    comes: int  # when
    examination: str
    area: str  # where it was done


def order(examination: str, kind: str, durations: Durations, rng: random.Random) -> Ordered:
    """Draws how long an examination takes; one of no known kind takes no time."""
    duration = durations.examination.get(kind)
    if duration is None:
        return Ordered(examination, kind, 0, 0)
    seconds = duration.draw(rng)
    present = durations.present.get(kind)
    there = seconds if present is None else min(seconds, present.draw(rng))
    return Ordered(examination, kind, seconds, there)


class VisitEnd(Enum):
    """How a visit ends unless the patient leaves uncalled (`Gone`)."""

    SEEN = "seen"
    FAILED = "failed"
    DIED = "died"


class House:
    """The hospital at work: its floor, its ways, and what patients do there.

    `kinds` is the kind of each examination by id; an examination without one takes no time.
    """

    def __init__(
        self,
        hospital: Hospital,
        clock: Clock,
        log: Log,
        *,
        kinds: Mapping[str, str],
        events: Sequence[Incident] = (),
    ) -> None:
        self._hospital, self._clock, self._log, self._kinds = hospital, clock, log, kinds
        self.hours, self.emergency_hours = OpeningHours(hospital), OpeningHours(hospital, emergencies=True)
        self.ways = Ways(hospital.areas)
        places = {id: area.capacity for id, area in hospital.areas.items()}
        self._resuscitation = next(iter(hospital.of_kind(AreaKind.RESUSCITATION)), "")
        self.floor = Floor(clock, log, places=places, weekday=self.hours.weekday(0), resuscitation=self._resuscitation)
        self.beds = Beds(hospital.areas)
        self.inside = 0  # without those who are admitted
        self._home, *_ = [*hospital.of_kind(AreaKind.HOME), *hospital.of_kind(AreaKind.ENTRANCE)]
        worked = {member.area for member in hospital.staff.values()}
        (entrance,) = hospital.of_kind(AreaKind.ENTRANCE)

        def desk(kind: AreaKind) -> str:
            """Returns the area of a kind nearest to the entrance, one with staff if there is any."""
            areas = hospital.of_kind(kind)
            return self.ways.nearest(entrance, [id for id in areas if id in worked] or areas) or ""

        self._triage, self._registration = desk(AreaKind.TRIAGE), desk(AreaKind.REGISTRATION)
        self._pharmacy = desk(AreaKind.PHARMACY)
        self.coming = self.ways.find(self._home, self._triage)
        doors = {self._triage, self._registration}
        used = {*doors, self._pharmacy, *hospital.of_kind(AreaKind.EXAMINATION)}
        self._rota = Rota(
            hospital, self.floor, self.hours, clock, log, doors=doors, used=used, ways=self.ways, events=events
        )

    # --- a visit

    def visit(self, visit: Encounter, decided: Signal, admit: Callable[[Episode], Nature] | None = None) -> Steps:
        """Lets somebody come, be seen and go home; returns a `VisitEnd` or `Gone`, and the episode or None.

        `decided` happens when triage is over at the earliest, and has the episode as its value. `admit` is called for a
        patient whom the hospital admits; without it nobody is admitted.
        """
        self.inside += 1
        visit.at, visit.unseen = self._home, True
        ended, episode = yield from self._inside(visit, decided)
        visit.unseen = False
        if visit.care:
            self.floor.discharge(visit.care)
        if admit is not None and ended is VisitEnd.SEEN and self.beds.admits(episode.disposition):
            self.inside -= 1
            note, walk = partial(self._note, visit), partial(self._walk, visit)
            stay = Stay(self.beds, self._clock, note, walk, patient=visit, inpatient=admit(episode))
            died = yield from stay.run()
            self.inside += 1
            if died:
                visit.left = True
                self.inside -= 1
                return VisitEnd.DIED, episode
        visit.left = True
        yield from self._walk(visit, self._home)
        if ended is VisitEnd.SEEN:
            self._note(visit, WentHome())
        self.inside -= 1
        return ended, episode

    def _inside(self, visit: Encounter, decided: Signal) -> Steps:
        yield from self._walk(visit, self._triage)
        nurse = None  # of who is seen at once: she works beside the doctor, and nobody waits for her
        if visit.at_once:
            self._note(visit, Queued(queue=self._triage, acuity=visit.acuity))
            self._note(visit, CalledIn(queue=self._triage, staff="", area=self._triage, waited=0))
        else:
            nurse = yield from self._wait(visit, self._triage)
            if isinstance(nurse, Gone):
                return nurse, None
            yield self._clock.wait(visit.triage)
        episode: Episode = yield decided
        episode = visit.episode or episode
        if visit.anew is not None:
            episode = yield visit.anew
        visit.episode, visit.triaged = episode, self._clock.now
        if nurse is not None:
            self.floor.release(nurse)
        if not episode.department:
            return self._fail(visit, episode), episode
        visit.acuity = episode.acuity if nurse is not None else Acuity.EMERGENCY
        at_door = episode.at_door
        signs, asked = ((), 0) if at_door is None else (at_door.measured, len(at_door.told))
        triaged = Triaged(
            nurse="" if nurse is None else nurse.id,
            department=episode.department,
            acuity=episode.acuity,
            right_department=visit.department,
            right_acuity=visit.right_acuity,
            level=None if at_door is None else at_door.level,
            right_level=visit.right_level,
            vital_signs=signs,
            asked=asked,
        )
        self._note(visit, triaged)
        registered = Registered(department=episode.department, visit=visit.number)
        if visit.acuity is Acuity.EMERGENCY:
            self._note(visit, registered)
            return (yield from self._doctors(visit, episode))
        yield from self._walk(visit, self._registration)
        clerk = yield from self._wait(visit, self._registration)
        if isinstance(clerk, Gone):
            return clerk, episode
        yield self._clock.wait(visit.registration)
        self._note(visit, registered)
        self.floor.release(clerk)
        return (yield from self._doctors(visit, episode))

    def _doctors(self, visit: Encounter, episode: Episode) -> Steps:
        """The doctors; returns how that ended, and the episode, which is another's where the patient got worse."""
        department = episode.department
        first = yield from self._see_doctor(visit, department, episode.seen[0].doctor if episode.seen else "")
        if isinstance(first, Gone):
            return first, episode
        if visit.anew is not None:
            visit.episode = yield visit.anew
        episode = visit.episode or episode
        return (yield from self._treat(visit, episode, first)), episode

    def _treat(self, visit: Encounter, episode: Episode, first: Server) -> Steps:
        department, doctor = episode.department, first
        for number, seen in enumerate(episode.seen):
            doctor = yield from self._consult(visit, department, seen, None if number else first)
            if isinstance(doctor, Gone):
                return doctor
            if number + 1 == len(episode.seen) and not seen.refer_to:
                ended = self._conclude(visit, episode, doctor, seen)
                self.floor.release(doctor, visit.room)
                self.floor.refer(visit.care, "")
                if ended is VisitEnd.SEEN and self.beds.admits(episode.disposition):
                    self._note(visit, handed_out(episode))
                elif ended is VisitEnd.SEEN and (episode.dispensed or episode.withheld):
                    ended = yield from self._collect(visit, episode)
                return ended
            self._note(visit, Referred(staff=doctor.id, from_department=department, to_department=seen.refer_to))
            department = seen.refer_to
            self.floor.refer(visit.care, department)
            self.floor.release(doctor, visit.room)
            self._note(visit, Registered(department=department, visit=visit.number))
        # The next doctor came to no report: the patient waits for it all the same.
        if episode.seen:
            doctor = yield from self._see_doctor(visit, department)
        if isinstance(doctor, Gone):
            return doctor
        yield self._work(visit, doctor, visit.turn)
        ended = self._fail(visit, episode)
        self.floor.release(doctor, visit.room)
        return ended

    def _conclude(self, visit: Encounter, episode: Episode, doctor: Server, seen: ConsultationHeld) -> VisitEnd:
        if episode.failed:
            return self._fail(visit, episode)
        told = Diagnosed(
            staff=doctor.id,
            diagnosis=seen.diagnosis,
            right=episode.right_diagnosis,
            right_examination=episode.right_examination,
        )
        self._note(visit, told)
        prescribed = Prescribed(
            staff=doctor.id,
            plan=episode.plan,
            treatment=episode.treatment,
            right=episode.right_treatment,
            not_begun=episode.not_begun,
        )
        self._note(visit, prescribed)
        return VisitEnd.SEEN

    def _collect(self, visit: Encounter, episode: Episode) -> Steps:
        """The pharmacy."""
        yield from self._walk(visit, self._pharmacy)
        pharmacist = yield from self._wait(visit, self._pharmacy)
        if isinstance(pharmacist, Gone):
            return pharmacist
        yield self._clock.wait(visit.dispensing)
        self._note(visit, handed_out(episode, pharmacist.id))
        self.floor.release(pharmacist)
        return VisitEnd.SEEN

    def _consult(
        self, visit: Encounter, department: str, seen: ConsultationHeld, doctor: Server | Gone | None
    ) -> Steps:
        """A consultation with its examinations, up to the last talk; returns the doctor, who is still with the patient.

        It begins with a doctor who has called the patient, or with waiting for one. A `Gone` in place of the doctor
        says why the patient left before.
        """
        doctor = doctor or (yield from self._see_doctor(visit, department, seen.doctor))
        if isinstance(doctor, Gone):
            return doctor
        yield self._work(visit, doctor, seen.turns * visit.turn)
        self._note(
            visit,
            Consulted(staff=doctor.id, department=department, turns=seen.turns, ordered=seen.examinations),
        )
        elsewhere: dict[str, list[Ordered]] = {}
        for examination in seen.examinations:
            ordered = order(examination, self._kinds.get(examination, ""), self._hospital.durations, visit.rng)
            area = self._examined_in(ordered.kind, visit.room)
            if area != visit.room:
                elsewhere.setdefault(area, []).append(ordered)
                continue
            if ordered.seconds:
                self._begin(visit, Activity.EXAMINATION, area, doctor, examination)
                yield self._work(visit, doctor, ordered.seconds)
            self._note(visit, ExaminationDone(examination=examination, area=area, staff=doctor.id))
        if not elsewhere:
            return doctor
        self.floor.release(doctor, visit.room)
        results: list[LateResult] = []
        # Samples first: what is made of them goes on while the patient is elsewhere.
        for area, orders in sorted(elsewhere.items(), key=lambda pair: pair[1][0].kind not in SAMPLED):
            technician = yield from self._examine(visit, area, orders, results)
            if isinstance(technician, Gone):
                return technician
        yield from self._walk_to_wait(visit, department)
        for result in sorted(results, key=lambda result: result.comes):
            if visit.acuity is Acuity.EMERGENCY and self._kinds.get(result.examination) == CULTURED:
                self._clock.start(self._told(visit, result))
            else:
                yield from self._told(visit, result)
        doctor = yield from self._see_doctor(visit, department, back_to=doctor)
        if isinstance(doctor, Server):
            yield self._work(visit, doctor, visit.turn)
        return doctor

    def _told(self, visit: Encounter, result: LateResult) -> Steps:
        """Waits for a result; the log has it where the patient is still there."""
        yield self._clock.at(result.comes)
        yield self._clock.at(self.floor.places.open_from(result.area, self._clock.now))
        if not visit.left:
            self._note(visit, ExaminationDone(examination=result.examination, area=result.area))

    def _examine(self, visit: Encounter, area: str, orders: Sequence[Ordered], results: list[LateResult]) -> Steps:
        """Examinations in an area of theirs; adds the results that come later.

        Returns who did them, or why the patient left before; None where samples were taken at the bedside.
        """
        samples = [ordered for ordered in orders if ordered.kind in SAMPLED]
        if visit.lies and len(samples) == len(orders):
            yield from self._sample(visit, samples, area, "", results)
            return None
        yield from self._walk(visit, area)
        technician = yield from self._wait(visit, area)
        if isinstance(technician, Gone):
            return technician
        if samples:
            yield from self._sample(visit, samples, area, technician.id, results)
        for ordered in orders:
            if ordered.kind in SAMPLED:
                continue
            if ordered.there:
                self._begin(visit, Activity.EXAMINATION, area, technician, ordered.examination)
            yield self._clock.wait(ordered.there)
            left = ordered.seconds - ordered.there
            if left:
                done, by = ordered.examination, technician.id
                self._note(visit, ActivityEnded(activity=Activity.EXAMINATION, area=area, staff=by, examination=done))
                results.append(LateResult(self._clock.now + left, done, area))
            else:
                self._note(visit, ExaminationDone(examination=ordered.examination, area=area, staff=technician.id))
        self.floor.release(technician)
        return technician

    def _sample(
        self, visit: Encounter, samples: Sequence[Ordered], area: str, staff: str, results: list[LateResult]
    ) -> Steps:
        """Samples are taken where the patient is, all at once; each result comes from their area when it is made."""
        self._note(visit, ActivityBegan(activity=Activity.SAMPLING, area=visit.at, staff=staff))
        yield self._clock.wait(visit.sampling)
        names, now = tuple(sample.examination for sample in samples), self._clock.now
        self._note(visit, Sampled(examinations=names, area=visit.at, staff=staff))
        results += [LateResult(now + sample.seconds, sample.examination, area) for sample in samples]

    def _work(self, visit: Encounter, doctor: Server, seconds: int) -> Signal:
        """A doctor's time, which an emergency may interrupt unless it is one's own."""
        return self.floor.work(doctor, seconds, visit.who, emergency=visit.acuity is Acuity.EMERGENCY)

    def _see_doctor(self, visit: Encounter, department: str, who: str = "", *, back_to: Server | None = None) -> Steps:
        yield from self._walk_to_wait(visit, department)
        doctor = yield from self._wait(visit, department, who, back_to=back_to)
        if isinstance(doctor, Server):
            visit.unseen = False
            if not visit.care:
                visit.care = self.floor.take(department, doctor, emergency=visit.acuity is Acuity.EMERGENCY)
            else:
                self.floor.refer(visit.care, department, doctor)
            yield from self._walk(visit, visit.room)
            activity = Activity.CONSULTATION if back_to is None else Activity.RESULTS
            self._begin(visit, activity, visit.room, doctor)
        return doctor

    def _walk_to_wait(self, visit: Encounter, department: str) -> Steps:
        if visit.acuity is Acuity.EMERGENCY and self._resuscitation:
            yield from self._walk(visit, self._resuscitation)
            return
        # A hall of the department, else one of everybody's.
        halls = {id: self._hospital.areas[id].departments for id in self._hospital.of_kind(AreaKind.WAITING)}
        named = [id for id, departments in halls.items() if department in departments]
        unnamed = [id for id, departments in halls.items() if not departments]
        if (hall := self.ways.nearest(visit.at, named or unnamed or halls)) is not None:
            yield from self._walk(visit, hall)

    def _examined_in(self, kind: str, room: str) -> str:
        """Returns where an examination is done: by the doctor where the room is for it, or no other place is."""
        areas = self._hospital.areas
        if not kind or kind in areas[room].examinations:
            return room
        there = [id for id in self._hospital.of_kind(AreaKind.EXAMINATION) if kind in areas[id].examinations]
        return self.ways.nearest(room, there) or room

    # --- the pieces

    def _wait(self, visit: Encounter, queue: str, who: str = "", *, back_to: Server | None = None) -> Steps:
        """Waits for somebody, first for who is expected; returns who calls, or why the patient has left."""
        expected, only_for = self._rota.waited_for(who, visit.acuity)
        again = bool(visit.care)
        self._note(visit, Queued(queue=queue, acuity=visit.acuity, again=again))
        impatient = not again and visit.acuity is Acuity.ROUTINE and queue not in self._hospital.areas
        ticket = self.floor.join(
            queue,
            visit.acuity,
            again=again,
            back_to=back_to or expected,
            only_for=only_for,
            patience=visit.patience if impatient else None,
            alarms=visit.acuity is Acuity.EMERGENCY and queue not in self._hospital.areas,
        )
        visit.ticket = ticket
        if ticket.waits:
            self._rota.call_in(queue, alarms=visit.acuity is Acuity.EMERGENCY)
        came: Server | Gone = yield ticket.called
        waited = self._clock.now - ticket.since
        visit.ticket = None
        if isinstance(came, Gone):
            self._note(visit, LeftUnseen(reason=came.value, waited=waited))
        else:
            other = "" if who == came.id else who
            self._note(visit, CalledIn(queue=queue, staff=came.id, area=ticket.area, waited=waited, instead_of=other))
            visit.room = ticket.area
        return came

    def _begin(self, visit: Encounter, activity: Activity, area: str, staff: Server, examination: str = "") -> None:
        self._note(visit, ActivityBegan(activity=activity, area=area, staff=staff.id, examination=examination))

    def _walk(self, visit: Encounter, to: str) -> Steps:
        if visit.at == to:
            return
        way = self.ways.find(visit.at, to)
        now = self._clock.now
        self._note(visit, Walked(path=way.path, times=tuple(now + seconds for seconds in way.reached)))
        visit.at = to
        yield self._clock.wait(way.seconds)

    def _fail(self, visit: Encounter, episode: Episode) -> VisitEnd:
        self._note(visit, VisitFailed(who=episode.failed, error=episode.error, problem=episode.problem))
        return VisitEnd.FAILED

    def _note(self, visit: Encounter, what: What) -> None:
        self._log.add(self._clock.now, visit.who, what)
