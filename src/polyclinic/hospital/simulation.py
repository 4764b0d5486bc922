"""A town and its hospital over days: who falls ill, comes, is treated, recovers or comes back.

A resident's life between two healthy days (agent-hospital §3.4): it wakes up ill, goes to hospital when it is ready and
the doors are open, and is followed up some days after the visit. Better: it recovers at home. Worse: it comes back on
the next day, for as many visits as the hospital allows; then the illness takes its course at home. Who left before it
was treated, or whose visit failed, is untreated. Who was turned away comes again once, when the doors open next; that
is the same visit, with the same episode.

A visit's episode is launched `lookahead` minutes before triage could be over, or as soon as it is certain.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from polyclinic.cases.case import Case
from polyclinic.hospital.care.registry import Registry
from polyclinic.hospital.floor.clock import Clock, Steps
from polyclinic.hospital.floor.journey import House, VisitEnd
from polyclinic.hospital.floor.lines import OF_SEVERITY, Encounter
from polyclinic.hospital.learning import HospitalLearning
from polyclinic.hospital.plan.events import Incident
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.planned import (
    FOLLOW_UP,
    ConvalescenceEnd,
    Forecasting,
    Looking,
    PlannedVisit,
    SimulatedRun,
    comes_again,
    follow_up_due,
    look,
    opportunity,
    treatment_of,
)
from polyclinic.hospital.record.account import Log, Sink
from polyclinic.hospital.record.episodes import Compute, Episode
from polyclinic.hospital.record.figures import incident
from polyclinic.hospital.record.happenings import (
    DAY,
    Died,
    FollowedUp,
    FollowUpFailed,
    FollowUpOutcome,
    HarmCause,
    What,
)
from polyclinic.hospital.town.illness import IllnessCourse, Nature, Onset, Treatment
from polyclinic.hospital.town.town import Town
from polyclinic.hospital.waiting import LookingAgain, Waiting
from polyclinic.seeds import derive

LOOKAHEAD = 720
"""Minutes before it is due at which an episode is launched."""


async def simulate(
    hospital: Hospital,
    town: Town,
    compute: Compute,
    *,
    days: int,
    seed: int,
    kinds: Mapping[str, str],
    visits: int | None = None,
    lookahead: int = LOOKAHEAD,
    forecast: Forecasting | None = None,
    at_the_door: Looking | None = None,
    look_again: LookingAgain | None = None,
    events: Sequence[Incident] = (),
    sinks: Sequence[Sink] = (),
    warm_up: int = 0,
    clock: Clock | None = None,
    learns: Callable[[Clock, Log], HospitalLearning] | None = None,
) -> SimulatedRun:
    """Lets a town and its hospital live."""
    async with clock or Clock() as time:
        log = Log(*sinks, begin=warm_up * DAY)
        house = House(hospital, time, log, kinds=kinds, events=events)
        learning = None if learns is None else learns(time, log)
        life = _Life(
            hospital,
            town,
            compute,
            house,
            time,
            log,
            Registry(hospital, seed=seed),
            end=days * DAY,
            most=math.inf if visits is None else visits,
            lookahead=lookahead * 60,
            forecast=forecast,
            at_the_door=at_the_door,
            waiting=None if look_again is None else Waiting(house, time, log, compute, look_again, at_the_door),
            learning=learning,
            seed=seed,
        )
        time.start(life.town_days())
        await time.run(days * DAY)
        life.closed = True
        if house.inside:
            await time.run()
        await learning.finish() if learning else None
        rows = log.account.visits.rows()
        return SimulatedRun(
            days=time.now / DAY,
            visits=life.visits,
            happenings=len(log.account),
            log_hash=log.account.log_hash,
            still_ill=life.ill,
            summary=log.account.summary(),
            groups=log.account.groups(),
            incidents=tuple(incident(rows, event.said, event.begin, event.end) for event in events),
            learnt=log.account.learnt(),
            first_failure=log.account.first_failure,
        )


@dataclass(eq=False)
class _Life:
    """What residents do when they are not in the hospital."""

    hospital: Hospital
    town: Town
    compute: Compute
    house: House
    clock: Clock
    log: Log
    registry: Registry
    end: int  # nobody sets out from here on
    most: float  # visits
    lookahead: int  # seconds
    forecast: Forecasting | None
    at_the_door: Looking | None
    waiting: Waiting | None
    learning: HospitalLearning | None
    seed: int
    onsets: dict[int, deque[Onset]] = field(default_factory=dict)  # by resident: what it may fall ill with next
    planned: list[PlannedVisit] = field(default_factory=list)  # in the order of setting out
    plans: int = 0
    visits: int = 0  # that were set out for
    open: int = 0  # who has set out and has not been followed up
    closed: bool = False  # nobody falls ill or sets out any more; the clock stops when the hospital is empty
    ill: int = 0
    dead: set[int] = field(default_factory=set)  # residents

    def town_days(self) -> Steps:
        """Draws, day by day, who falls ill: early enough for the episodes of that day to be launched ahead."""
        ahead = math.ceil(self.lookahead / DAY) + 1
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
        return self.closed or self.visits >= self.most

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
            self.visits += 1
            self.open += 1
            plan.gone = True
            if self.waiting is not None:
                self.waiting.watch(plan.visit, plan, plan.worsens(self.town))
            ended, treatment, nature = yield from self._attend(plan, onset)
            case = plan.case(self.town)
            number = plan.visit.number
            del plan  # with its episode, which may be large, for convalescence may be long
            if ended is VisitEnd.DIED:
                self._die(onset.resident)
                self._follow(of_visit=True)
                return
            course = self.town.course(case, number, treatment) if nature is None else nature.at_home()
            # What is fixed already is planned at once, so that its episode is launched as far ahead as it can be.
            stages = 1 if nature is None else 1 + nature.stage
            again, since, most = None, self.clock.now, self.hospital.illness.most_visits
            comes = course.outcome is FollowUpOutcome.WORSE and course.dies_after is None and number < most
            if comes and self.forecast is None:
                again = self._again(onset, case, number, course, stages, since=since)
            end = yield from self._follow_up(onset, case, number, treatment, course, of_visit=True)
            while end is ConvalescenceEnd.WORSE and number >= most and not self._over():
                number += 1
                course = self.town.course(case, number, Treatment())
                end = yield from self._follow_up(onset, case, number, Treatment(), course)
            if end is not ConvalescenceEnd.WORSE or self._over():
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
        if ended is VisitEnd.TURNED_AWAY:
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
        """Convalescence after a visit, or without one; returns how it ends."""
        who = self.town.name(onset.resident)
        hour = derive(self.seed, who, "follow-up", case.id, number).randint(*FOLLOW_UP)
        today = self.clock.now // DAY
        due = follow_up_due(course, self.clock.now, hour, self.hospital.illness.follow_up_days)
        if self.forecast is not None:
            if not of_visit or due >= self.end:
                # The run may be over before that: who is asked now would be asked or not as the answers come.
                yield self.clock.before(due)
            said = yield self.clock.launch(self.forecast(case, number, treatment), due=due)
            if isinstance(said, IllnessCourse):
                course = said
            else:
                self._note(who, FollowUpFailed(error=said.error, problem=said.problem))
        else:
            yield self.clock.at(due)
        if course.dies_after is not None:
            self._note(who, Died(disease=onset.disease, cause=course.cause or HarmCause.ILLNESS))
            self._die(onset.resident)
        else:
            self._note(who, FollowedUp(outcome=course.outcome, severity=course.severity, cause=course.cause))
            self._tell(who, course.outcome.value)
        self._follow(of_visit=of_visit)
        if course.dies_after is not None:
            return ConvalescenceEnd.DEAD
        if course.recovers_after_days is None:
            return ConvalescenceEnd.WORSE
        if course.outcome is not FollowUpOutcome.RECOVERED:
            yield self.clock.at((today + course.recovers_after_days) * DAY + hour)
            self._note(who, FollowedUp(outcome=FollowUpOutcome.RECOVERED, severity=course.severity))
        self.ill -= 1
        return ConvalescenceEnd.HEALTHY

    def _follow(self, *, of_visit: bool) -> None:
        """Somebody has been followed up."""
        if of_visit:
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
        follow_up_days = self.hospital.illness.follow_up_days
        ready, delay, at_once = comes_again(course, wakes, delay, since=since, follow_up_days=follow_up_days)
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
        yield self.clock.before(comes - self.lookahead)
        if not plan.gone and (plan.leaves >= self.end or self.closed or self._surplus(plan)):
            return None
        look(plan.visit, plan.case(self.town), self.at_the_door)
        due = comes if plan.visit.at_once else comes + plan.visit.triage
        yield self.clock.before(due - self.lookahead)
        if self.learning is not None:
            yield from self.learning.morning()
        visit, case = plan.visit, plan.case(self.town)
        request = self.registry.request(visit.who, case, visit.number, arrives=due)
        request = msgspec.structs.replace(request, wanted=self.clock.wanted(due))
        plan.request = request if self.learning is None else self.learning.read(request)
        if self.waiting is not None:
            self.waiting.foresee(visit, plan, self.town, comes=comes)
        return (yield self.clock.launch(self.compute(plan.request), due=due))

    def _surplus(self, plan: PlannedVisit) -> bool:
        """Whether so many set out before it that the run will have ended; where that is so, it stays so."""
        # Whoever planned to set out before does so: nothing comes between, and plans that come later only add to them.
        return self.visits >= self.most or self.visits + bisect_left(self.planned, plan) >= self.most

    def _opportunity(self, ready: int, delay: int, at_once: bool) -> int:
        """Returns when to set out, as `opportunity`; who does not wait comes to the door for emergencies."""
        hours = self.house.emergency_hours if at_once else self.house.hours
        return opportunity(hours, self.house.coming.seconds, ready, delay)

    def _note(self, who: str, what: What) -> None:
        self.log.add(self.clock.now, who, what)
