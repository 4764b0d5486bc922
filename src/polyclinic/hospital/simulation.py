"""Simulates a town and its hospital: residents fall ill, come, are treated, recover or come back.

A resident's life between two healthy days (agent-hospital §3.4): the resident wakes up ill, goes to the hospital when
ready and when the doors are open, and is followed up some days after the visit. A patient who is better recovers at
home. A patient who is worse comes back on the next day, for as many visits as the hospital allows; after that the
illness takes its course at home. A patient who leaves before treatment, or whose visit fails, is untreated. A patient
who is turned away comes again once, when the doors open next; that is the same visit with the same episode.

The episode of a visit is launched `lookahead` minutes before triage could be over, or as soon as it is certain.

Patients may get worse while they wait for a doctor:
1. Some time after arrival the illness goes a stage up by the disease's course (`town/illness.py`), unless a doctor has
   seen the patient before.
2. The decisions of the doctors are launched again with the worse case. If they were likely to be needed, they were
   computed along with the visit.
3. A nurse looks at waiting patients again at the intervals of the scale (`polyclinic.knowledge.acuity.TARGETS`),
   counted from triage, and at a patient of level 1 at once. A patient found worse moves up in the queue; before triage,
   by what anybody sees. No model is asked whether a patient gets worse, or how that looks.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

import msgspec
from msgspec.structs import replace

from polyclinic.cases.case import Case
from polyclinic.errors import PlayFailure
from polyclinic.frames import Tabular
from polyclinic.hospital.care.registry import Registry
from polyclinic.hospital.floor.clock import Clock, Signal, Steps
from polyclinic.hospital.floor.journey import House, VisitEnd
from polyclinic.hospital.floor.lines import OF_SEVERITY, Encounter
from polyclinic.hospital.learning import HospitalLearning
from polyclinic.hospital.plan.events import Incident
from polyclinic.hospital.plan.opening_hours import OpeningHours
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.record import happenings as events
from polyclinic.hospital.record.account import Log, Sink
from polyclinic.hospital.record.episodes import AtDoor, Compute, Episode, EpisodeRequest
from polyclinic.hospital.record.figures import Figures
from polyclinic.hospital.record.happenings import (
    DAY,
    HOUR,
    ORDER,
    TURNED_AWAY,
    Acuity,
    FollowUpOutcome,
    HarmCause,
    What,
)
from polyclinic.hospital.town.illness import IllnessCourse, Nature, Onset, Treatment, Worsening
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.acuity import TARGETS
from polyclinic.players.player import URGENCY
from polyclinic.seeds import derive

LOOKAHEAD = 720
"""Minutes before it is due at which an episode is launched."""


def treatment_of(episode: Episode | None) -> Treatment:
    """Returns what a visit did."""
    if episode is None or (episode.plan is None and not episode.treatment):
        return Treatment()
    return Treatment(
        treated=True,
        right=episode.right_treatment,
        diagnosis=episode.seen[-1].diagnosis if episode.seen else "",
        items=episode.treatment,
        right_diagnosis=episode.right_diagnosis,
        treated_for=episode.treated_for,
        plan=episode.plan or "mild",
        disposition=episode.disposition,
        care=episode.care,
    )


Forecasting = Callable[[Case, int, Treatment], Awaitable[IllnessCourse | PlayFailure]]
"""Says how an illness goes on: of a case, after its visit of a number, with what was done."""


_AT_THE_DOORS = 30 * 60  # within so many seconds of their opening those come who could have come before
_LAST_CALL = 30 * 60  # nobody sets out who would arrive later than this before closing

SOON = 2 * 60 * 60
"""Seconds after arrival; a patient who gets worse later has nearly always been seen by then."""


@dataclass(eq=False)
class PlannedVisit:
    """A visit that a resident will make unless the run ends before."""

    visit: Encounter  # as the hospital will see it
    onset: Onset
    drawn: Case | None  # None until it is wanted
    leaves: int  # when the resident sets out
    place: int  # among all plans, by which those who set out together are told apart
    gone: bool = False  # the resident has set out
    request: EpisodeRequest | None = None  # what its episode is computed from
    worsening: Worsening | msgspec.UnsetType | None = msgspec.UNSET  # as `worsens` returns it, once it is known
    early: Signal | None = None  # the episode of a patient who may get worse before triage is over
    decided: Signal = field(init=False)  # happens when the episode is due, with it; with None where none was needed

    def case(self, town: Town) -> Case:
        """Returns the case, which is drawn when it is first wanted."""
        if self.drawn is None:
            self.drawn = town.case_for(self.onset)
        return self.drawn

    def worsens(self, town: Town) -> Worsening | None:
        """Returns how the illness goes on while nobody treats it; None: as it is."""
        if self.worsening is msgspec.UNSET:
            self.worsening = town.worsening(self.onset, self.case(town), self.visit.number)
        return self.worsening

    def __lt__(self, other: PlannedVisit) -> bool:
        return (self.leaves, self.place) < (other.leaves, other.place)


class SimulatedRun(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """What came of a simulation."""

    days: float  # simulated, the last perhaps in part
    visits: int  # a patient who was turned away and came again is counted once
    happenings: int  # lines of the log
    log_hash: str  # of the log
    still_ill: int  # residents who are ill at the end
    summary: Figures  # what the log says
    groups: Figures  # the same by disease, department, acuity, level and hour
    learnt: Figures  # by the doctors
    first_failure: str = ""  # whose visit failed first, and why


Looking = Callable[[Case], Acuity | None]
"""Says how urgent anybody sees that the patient of a case is; None where nobody sees anything."""


def look(visit: Encounter, case: Case, at_the_door: Looking | None) -> None:
    """Puts down how urgent a visit is, and what of that anybody sees at the door; once for each case."""
    if visit.seen_as is case:
        return
    visit.seen_as = case
    visit.is_of_level(case.truth.acuity)
    if at_the_door is not None:
        visit.acuity = at_the_door(case)


def opportunity(hours: OpeningHours, walk: int, ready: int, delay: int) -> int:
    """Returns when to set out: to arrive as soon as the doors are open, and not just before they close."""
    arrival = ready + walk
    if hours.is_open(arrival):
        closing = hours.next_closing(arrival)
        if arrival <= closing - _LAST_CALL or hours.is_open(closing):
            return ready
        arrival = closing
    opening = hours.next_opening(arrival)
    if opening // DAY == (ready + walk) // DAY:
        opening += delay % _AT_THE_DOORS
    else:
        # A patient who could not come on the same day does not wait at the doors at dawn.
        opening = max(opening, min(opening + delay, hours.next_closing(opening) - _LAST_CALL))
    return opening - walk


FOLLOW_UP = (7 * HOUR, 9 * HOUR)
"""When patients report back, from and to a time of day."""

LookingAgain = Callable[[Case, AtDoor], AtDoor]
"""Returns what a nurse finds at a waiting patient who got worse: of the case, and of what she learnt before."""

_AT_THE_DOOR = 30 * 60
"""Seconds; hardly anybody waits longer for the nurse."""


@dataclass(eq=False)
class Simulation:
    """Lets a town and its hospital live. What a model may say instead of nature is given as functions."""

    hospital: Hospital
    town: Town
    compute: Compute  # computes episodes
    _: KW_ONLY
    days: int  # nobody sets out later
    seed: int
    kinds: Mapping[str, str]  # kinds of examinations, by id
    visits: int | None = None  # nobody sets out after so many
    lookahead: int = LOOKAHEAD  # minutes
    forecast: Forecasting | None = None  # None: illnesses go on as the knowledge has it
    at_the_door: Looking | None = None
    look_again: LookingAgain | None = None  # None: nobody gets worse while waiting
    events: Sequence[Incident] = ()
    sinks: Sequence[Sink] = ()
    warm_up: int = 0  # days
    clock: Clock = field(default_factory=Clock)
    learns: Callable[[Clock, Log], HospitalLearning] | None = None

    def __post_init__(self) -> None:
        self.onsets: dict[int, deque[Onset]] = {}  # by resident: what may come next
        self.planned: list[PlannedVisit] = []  # in the order of setting out
        self.plans = self.came = 0  # visits that were planned, and that were set out for
        self.open = 0  # visits that have not been followed up
        self.closed = False  # nobody sets out any more; the clock stops when all are at home
        self.ill = 0
        self.dead: set[int] = set()  # residents
        self.end = self.days * DAY
        self.most = math.inf if self.visits is None else self.visits
        self.registry = Registry(self.hospital, seed=self.seed)
        self.log = Log(*self.sinks, begin=self.warm_up * DAY)

    async def run(self) -> SimulatedRun:
        """Runs to the end, when the last patient has left."""
        async with self.clock as time:
            self.house = House(self.hospital, time, self.log, kinds=self.kinds, events=self.events)
            self.learning = None if self.learns is None else self.learns(time, self.log)
            time.start(self._town_days())
            await time.run(self.end)
            self.closed = True
            if self.house.inside:
                await time.run()
            if self.learning is not None:
                await self.learning.finish()
            account = self.log.account
            return SimulatedRun(
                days=time.now / DAY,
                visits=self.came,
                happenings=len(account),
                log_hash=account.log_hash,
                still_ill=self.ill,
                summary=account.summary(),
                groups=account.groups(),
                learnt=account.learnt(),
                first_failure=account.first_failure,
            )

    def _town_days(self) -> Steps:
        """Draws, day by day, who falls ill: early enough for the episodes of that day to be launched ahead."""
        ahead = math.ceil(self.lookahead * 60 / DAY) + 1
        for day in range(self.end // DAY):
            yield self.clock.at((day - ahead) * DAY)
            if self._over():
                return
            for onset in self.town.onsets(day):
                if onset.resident in self.onsets:
                    self.onsets[onset.resident].append(onset)
                elif onset.resident not in self.dead:
                    self.onsets[onset.resident] = deque([onset])
                    self.clock.start(self._resident(onset.resident))

    def _over(self) -> bool:
        """Whether nobody sets out any more."""
        return self.closed or self.came >= self.most

    # --- one resident

    def _resident(self, resident: int) -> Steps:
        """One illness after the other; what would begin during another does not."""
        onsets = self.onsets[resident]
        while onsets and not self._over() and resident not in self.dead:
            onset = onsets.popleft()
            if self.town.times(onset)[0] >= self.clock.now:
                yield from self._illness(onset)
        del self.onsets[resident]
        if self._over() and not self.onsets:
            self.clock.stop()

    def _illness(self, onset: Onset) -> Steps:
        """From waking up ill to being healthy."""
        who = self.town.name(onset.resident)
        wakes, delay = self.town.times(onset)
        # Planned and launched ahead; nobody in the world knows of it before the resident wakes up.
        plan = self._plan(onset, None, number=1, ready=wakes + delay, delay=delay, at_once=self.town.at_once(onset))
        yield self.clock.at(wakes)
        if self._over():
            return
        case = plan.case(self.town)
        look(plan.visit, case, self.at_the_door)
        self.ill += 1
        self._note(who, self.town.fell_ill(onset, case))
        while True:
            yield self.clock.at(plan.leaves)
            goes = not self._surplus(plan)
            self.planned.pop(bisect_left(self.planned, plan))
            if self.closed or not goes:
                return
            self.came += 1
            self.open += 1
            plan.gone = True
            if self.look_again is not None and (worse := plan.worsens(self.town)) is not None:
                self.clock.start(self._worsens(plan.visit, plan, worse, self.look_again))
            ended, treatment, nature = yield from self._attend(plan, onset)
            case = plan.case(self.town)
            number = plan.visit.number
            del plan  # with its episode, which may be large, for convalescence may be long
            if ended is VisitEnd.DIED:
                self._die(onset.resident)
                self._followed_up()
                return
            course = self.town.course(case, number, treatment) if nature is None else nature.at_home()
            # What is fixed already is planned at once, so that its episode is launched as far ahead as it can be.
            stages = 1 if nature is None else 1 + nature.stage
            again, since, most = None, self.clock.now, self.hospital.illness.most_visits
            comes = course.outcome is FollowUpOutcome.WORSE and course.dies_after is None and number < most
            if comes and self.forecast is None:
                again = self._again(onset, case, number, course, stages, since=since)
            end = yield from self._follow_up(onset, case, number, treatment, course, of_visit=True)
            while end == "worse" and number >= most and not self._over():
                number += 1
                course = self.town.course(case, number, Treatment())
                end = yield from self._follow_up(onset, case, number, Treatment(), course)
            if end != "worse" or self._over():
                return  # who is worse would come again, and nobody sets out any more
            plan = again or self._again(onset, case, number, course, stages, since=since)

    def _attend(self, plan: PlannedVisit, onset: Onset) -> Steps:
        """The visit; once more where the patient is turned away.

        Returns how it ended, the treatment, and where it stayed in the hospital, how the illness goes on (`Nature`).
        """
        natures: list[tuple[Nature, int]] = []

        def admit(episode: Episode) -> Nature:
            case = plan.case(self.town)  # as it is by now
            natures.append((self.town.nature(case, plan.visit.number, treatment_of(episode)), self.clock.now))
            if self.closed and not self.house.inside:
                self.clock.stop()
            return natures[-1][0]

        ended, episode = yield from self.house.visit(plan.visit, plan.decided, admit)
        if ended in TURNED_AWAY:
            tonight = (self.clock.now // DAY + 1) * DAY - self.house.coming.seconds - 1
            yield self.clock.at(self._opportunity(tonight, self.town.times(onset)[1], at_once=False))
            if not self.closed:
                visit = self._visit(onset, plan.case(self.town), number=plan.visit.number, time=2)
                visit.episode, visit.anew = plan.visit.episode, plan.visit.anew
                ended, episode = yield from self.house.visit(visit, plan.decided, admit)
        if self.closed and not self.house.inside:
            self.clock.stop()
        treated = ended in (VisitEnd.SEEN, VisitEnd.DIED)
        if episode is not None and (treated or ended is VisitEnd.FAILED):
            self.registry.over(plan.visit.who, episode)
            if self.learning is not None:
                self.learning.over(plan.visit.who, plan.case(self.town), episode)
        nature = None
        if natures:
            nature, began = natures[-1]
            nature.since = self.clock.now - began
        return ended, treatment_of(episode) if treated else Treatment(), nature

    def _follow_up(
        self,
        onset: Onset,
        case: Case,
        number: int,
        treatment: Treatment,
        course: IllnessCourse,
        *,
        of_visit: bool = False,
    ) -> Steps:
        """Convalescence after a visit, or without one; returns how it ends: "healthy", "worse" or "dead"."""
        who = self.town.name(onset.resident)
        hour = derive(self.seed, who, "follow-up", case.id, number).randint(*FOLLOW_UP)
        today = self.clock.now // DAY
        after = course.worsens_after if course.dies_after is None else course.dies_after
        due = (today + self.hospital.illness.follow_up_days) * DAY + hour if after is None else self.clock.now + after
        if self.forecast is not None:
            if not of_visit or due >= self.end:
                # The run may be over before that: who is asked now would be asked or not as the answers come.
                yield self.clock.before(due)
            said = yield self.clock.launch(self.forecast(case, number, treatment), due=due, name=who)
            if isinstance(said, IllnessCourse):
                course = said
            else:
                self._note(who, events.FollowUpFailed(error=type(said).__name__, problem=str(said)))
        else:
            yield self.clock.at(due)
        if course.dies_after is not None:
            self._note(who, events.Died(disease=onset.disease, cause=course.cause or HarmCause.ILLNESS))
            self._die(onset.resident)
        else:
            self._note(who, events.FollowedUp(outcome=course.outcome, severity=course.severity, cause=course.cause))
            self._tell(who, course.outcome.value)
        if of_visit:
            self._followed_up()
        if course.dies_after is not None:
            return "dead"
        if course.recovers_after_days is None:
            return "worse"
        if course.outcome is not FollowUpOutcome.RECOVERED:
            yield self.clock.at((today + course.recovers_after_days) * DAY + hour)
            self._note(who, events.FollowedUp(outcome=FollowUpOutcome.RECOVERED, severity=course.severity))
        self.ill -= 1
        return "healthy"

    def _followed_up(self) -> None:
        """Somebody has been followed up after a visit."""
        self.open -= 1
        if self._over() and not self.open and not self.house.inside:
            self.clock.stop()  # recovery may take a year, and nothing else happens any more

    def _die(self, resident: int) -> None:
        self._tell(self.town.name(resident), "died")
        self.dead.add(resident)
        self.ill -= 1

    def _tell(self, who: str, outcome: str) -> None:
        """How a patient is after its last visit is known."""
        self.registry.followed_up(who, outcome)
        if self.learning is not None:
            self.learning.followed_up(who, outcome)

    # --- planning

    def _again(
        self, onset: Onset, case: Case, number: int, course: IllnessCourse, stages: int, *, since: int
    ) -> PlannedVisit:
        """Plans the next visit of somebody who gets worse: for the day after the follow-up, or for at once."""
        wakes, delay = self.town.times(onset)
        at_once = course.worsens_after is not None
        if course.worsens_after is not None:
            delay = min(delay, HOUR)
            ready = since + course.worsens_after + delay
        else:
            told = since // DAY + self.hospital.illness.follow_up_days
            ready = (told + 1) * DAY + wakes % DAY + delay
        for _ in range(stages):
            case = self.town.worsened(onset, case, max(0, ready // DAY - onset.day))
        return self._plan(onset, case, number=number + 1, ready=ready, delay=delay, at_once=at_once)

    def _plan(
        self, onset: Onset, case: Case | None, *, number: int, ready: int, delay: int, at_once: bool
    ) -> PlannedVisit:
        self.plans += 1
        visit = self._visit(onset, case, number=number)
        plan = PlannedVisit(visit, onset, case, leaves=self._opportunity(ready, delay, at_once), place=self.plans)
        insort(self.planned, plan)
        plan.decided = self.clock.start(self._decide(plan))
        return plan

    def _visit(self, onset: Onset, case: Case | None, *, number: int, time: int = 1) -> Encounter:
        who, department = self.town.name(onset.resident), self.town.department(onset)
        rng, right = derive(self.seed, who, "visit", onset.day, number, time), OF_SEVERITY[onset.severity]
        visit = Encounter(
            who, number=number, department=department, right_acuity=right, rng=rng, hospital=self.hospital
        )
        if case is not None:
            look(visit, case, self.at_the_door)
        return visit

    def _decide(self, plan: PlannedVisit) -> Steps:
        """Launches the episode; returns it when it is due, which is when triage could be over at the earliest."""
        comes = plan.leaves + self.house.coming.seconds
        yield self.clock.before(comes - self.lookahead * 60)
        if not plan.gone and (plan.leaves >= self.end or self.closed or self._surplus(plan)):
            return None
        look(plan.visit, plan.case(self.town), self.at_the_door)
        due = comes if plan.visit.at_once else comes + plan.visit.triage
        yield self.clock.before(due - self.lookahead * 60)
        if self.learning is not None:
            yield from self.learning.morning()
        visit, case = plan.visit, plan.case(self.town)
        request = self.registry.request(visit.who, case, visit.number, arrives=due)
        request = replace(request, wanted=self.clock.wanted(due))
        plan.request = request if self.learning is None else self.learning.read(request)
        if self.look_again is not None:
            self._foresee(visit, plan, comes=comes)
        return (yield self.clock.launch(self.compute(plan.request), due=due, name=visit.who))

    def _surplus(self, plan: PlannedVisit) -> bool:
        """Whether so many set out before it that the run will have ended; where that is so, it stays so."""
        # Patients who planned to set out before do so, and later plans only add to them.
        return self.came >= self.most or self.came + bisect_left(self.planned, plan) >= self.most

    def _opportunity(self, ready: int, delay: int, at_once: bool) -> int:
        """Returns when to set out, as `opportunity`; emergencies come to the door for emergencies."""
        hours = self.house.emergency_hours if at_once else self.house.hours
        return opportunity(hours, self.house.coming.seconds, ready, delay)

    def _note(self, who: str, what: What) -> None:
        self.log.add(self.clock.now, who, what)

    # --- who gets worse while waiting

    def _foresee(self, visit: Encounter, plan: PlannedVisit, *, comes: int) -> None:
        """Has computed beforehand what will be decided about a patient who gets worse, where that may be wanted.

        Else a whole visit would have to be computed when it is wanted at once, and everything would wait for it. Who
        may get worse before triage is over gets a decision of its own; else it comes along with the visit's.
        """
        request, worse = plan.request, plan.worsens(self.town)
        assert request is not None  # noqa: S101
        if worse is None or worse.case is request.case:
            return
        if worse.after <= SOON:
            plan.request = replace(request, worse=worse.case)
        if worse.after < visit.triage + _AT_THE_DOOR and not visit.at_once:
            due = max(self.clock.now, comes + worse.after)
            wanted = self.clock.wanted(due)
            anew = replace(request, case=worse.case, worse=None, wanted=wanted)
            plan.early = self.clock.launch(self.compute(anew), due=due, name=visit.who)

    def _worsens(self, visit: Encounter, plan: PlannedVisit, worse: Worsening, look_again: LookingAgain) -> Steps:
        """Lets a patient get worse while it waits, if no doctor has seen it before."""
        yield self.clock.wait(self.house.coming.seconds + worse.after)
        if not visit.unseen:
            return
        plan.drawn = worse.case
        level, severity = worse.case.truth.acuity, worse.case.truth.severity
        visit.is_of_level(level)
        assert severity is not None  # noqa: S101
        self._note(visit.who, events.GotWorse(severity=severity, level=level))
        before, request = visit.episode, plan.request
        if before is None:
            # Who gets worse before a nurse has called it moves up by what anybody sees, as anybody does of level 1.
            seen = Acuity.EMERGENCY if visit.right_level == 1 else self.at_the_door and self.at_the_door(worse.case)
            if seen is not None and ORDER[visit.acuity] > ORDER[seen]:
                visit.acuity = seen
                if visit.ticket is not None:
                    self.house.floor.move_up(visit.ticket, seen)
        if request is None:
            return  # what is launched from now on is about how it is now
        again = None if before is None else before.worse
        if again is None:
            received = None if before is None else before.received
            if before is None and plan.early is not None:
                visit.anew = plan.early
            else:
                wanted = self.clock.wanted(self.clock.now)
                anew = replace(request, case=worse.case, worse=None, received=received, wanted=wanted)
                # Due now: the next thing that a doctor decides about this patient is about how it is now.
                visit.anew = self.clock.launch(self.compute(anew), due=self.clock.now, name=visit.who)
            again = yield visit.anew
        visit.episode = again
        if before is not None and before.at_door is not None:
            yield from self._notice(visit, before.at_door, look_again(worse.case, before.at_door))

    def _notice(self, visit: Encounter, before: AtDoor, now: AtDoor) -> Steps:
        """Has somebody look at the patient again at the next interval; who lies there lifeless is seen at once."""
        if now.level > 1:
            interval = TARGETS[before.level].minutes * 60
            passed = self.clock.now - visit.triaged
            yield self.clock.wait(-passed % interval if interval else 0)
        if not visit.unseen or now.level == before.level:
            return
        acuity = Acuity(URGENCY[now.level])
        visit.acuity = acuity
        right, signs = visit.right_level, now.measured
        self._note(visit.who, events.TriagedAgain(level=now.level, acuity=acuity, right_level=right, vital_signs=signs))
        if visit.ticket is not None:
            before_doctors = visit.episode is not None and visit.ticket.queue.id == visit.episode.department
            alarms = acuity is Acuity.EMERGENCY and before_doctors
            self.house.floor.move_up(visit.ticket, acuity, alarms=alarms)
