"""A town and its hospital over days: who falls ill, comes, is treated, recovers or comes back.

A resident's life between two healthy days (agent-hospital §3.4): it wakes up ill, goes to hospital when it is ready and
the doors are open, and is followed up some days after the visit. Better: it recovers at home. Worse: it comes back on
the next day, for as many visits as the hospital allows; then the illness takes its course at home. Who left before it
was treated, or whose visit failed, is untreated. Who was turned away comes again once, when the doors open next; that
is the same visit, with the same episode.

A visit's episode is launched `lookahead` minutes before triage could be over, or as soon as the visit is certain.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from polyclinic.cases.case import Case
from polyclinic.hospital.floor.clock import Clock, Signal, Steps
from polyclinic.hospital.floor.journey import Encounter, House, VisitEnd
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.record.episodes import Compute, Episode, EpisodeRequest
from polyclinic.hospital.record.figures import RunSummary
from polyclinic.hospital.record.happenings import DAY, FellIll, FollowedUp, FollowUpFailed, FollowUpOutcome, What
from polyclinic.hospital.record.log import Log, Sink
from polyclinic.hospital.town.forecast import NoCourse
from polyclinic.hospital.town.illness import IllnessCourse, Onset, Treatment
from polyclinic.hospital.town.town import Town
from polyclinic.seeds import derive

LOOKAHEAD = 720
"""Minutes before it is due at which an episode is launched."""

_FOLLOW_UP = (7 * 3600, 9 * 3600)  # when patients report back, time of day
_LAST_CALL = 30 * 60  # nobody sets out who would arrive later than this before closing


class SimulatedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a simulation."""

    days: float  # simulated, the last perhaps in part
    visits: int  # that residents set out for; who was turned away and came again is counted once
    happenings: int  # lines of the log
    log_hash: str  # of the log
    still_ill: int  # residents who are ill at the end
    summary: RunSummary  # what the log says


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
    sinks: Sequence[Sink] = (),
    clock: Clock | None = None,
) -> SimulatedRun:
    """Lets a town and its hospital live.

    Args:
        hospital: the hospital.
        town: who falls ill.
        compute: computes the episodes.
        days: nobody falls ill or sets out after so many; then the hospital empties.
        seed: the run's seed.
        kinds: kind of every examination, by id.
        visits: nobody sets out after so many; then the hospital empties, and each is followed up once, within `days`.
        lookahead: minutes by which an episode is launched ahead.
        forecast: says how an illness goes on after a visit; None takes the town's courses.
        sinks: each gets every happening, in order.
        clock: keeps the time.

    Raises:
        Exception: what computing an episode raised, where that was due.
    """
    async with clock or Clock() as time:
        log = Log(*sinks)
        house = House(hospital, time, log, kinds=kinds)
        life = _Life(
            hospital,
            town,
            compute,
            house=house,
            clock=time,
            log=log,
            end=days * DAY,
            visits=visits,
            lookahead=lookahead * 60,
            forecast=forecast,
            seed=seed,
        )
        time.start(life.town_days())
        await time.run(days * DAY)
        life.close()
        if house.inside:
            await time.run()
        return SimulatedRun(
            days=time.now / DAY,
            visits=life.visits,
            happenings=len(log.account),
            log_hash=log.account.log_hash,
            still_ill=life.ill,
            summary=log.account.summary(),
        )


Forecasting = Callable[[Case, int, Treatment], Awaitable[IllnessCourse | NoCourse]]
"""Says how an illness goes on: of a case, after the how-manieth visit, with which treatment."""


class _PlannedVisit:
    """A visit that a resident will make unless the run ends before.

    Attributes:
        visit: as the hospital will see it.
        leaves: when the resident sets out.
        gone: the resident has set out.
        place: its place among all plans, by which those who set out together are told apart.
        decided: happens when the episode is due; its value is the episode, None where none was needed.
    """

    def __init__(self, visit: Encounter, onset: Onset, case: Case | None, *, leaves: int, place: int) -> None:
        self.visit, self.leaves, self.place = visit, leaves, place
        self.gone = False
        self.decided: Signal
        self._onset, self._case = onset, case

    def case(self, town: Town) -> Case:
        """Returns the case, which is drawn when it is first wanted."""
        if self._case is None:
            self._case = town.case_for(self._onset)
        return self._case

    def __lt__(self, other: _PlannedVisit) -> bool:
        return (self.leaves, self.place) < (other.leaves, other.place)


class _Life:
    """What residents do when they are not in the hospital."""

    def __init__(
        self,
        hospital: Hospital,
        town: Town,
        compute: Compute,
        *,
        house: House,
        clock: Clock,
        log: Log,
        end: int,
        visits: int | None,
        lookahead: int,
        forecast: Forecasting | None,
        seed: int,
    ) -> None:
        self._forecast = forecast
        self._house, self._hospital, self._town, self._compute = house, hospital, town, compute
        self._clock, self._log, self._seed, self._lookahead = clock, log, seed, lookahead
        self._end, self._most = end, math.inf if visits is None else visits
        self._departments = tuple(hospital.departments)
        self._onsets: dict[int, deque[Onset]] = {}  # by resident: what it may fall ill with next
        self._planned: list[_PlannedVisit] = []  # in the order of setting out
        self._plans = 0
        self._set_out = 0
        self._open = 0  # who has set out and has not been followed up
        self._closed = False
        self.ill = 0

    def close(self) -> None:
        """Nobody falls ill or sets out any more; the clock stops when the hospital is empty."""
        self._closed = True

    def town_days(self) -> Steps:
        """Draws, day by day, who falls ill: early enough for the episodes of that day to be launched ahead."""
        ahead = math.ceil(self._lookahead / DAY) + 1
        for day in range(self._end // DAY):
            yield self._clock.at((day - ahead) * DAY)
            if self._over():
                return
            for onset in self._town.onsets(day):
                if onset.resident in self._onsets:
                    self._onsets[onset.resident].append(onset)
                else:
                    self._onsets[onset.resident] = deque([onset])
                    self._clock.start(self._resident(onset.resident))

    @property
    def visits(self) -> int:
        """How many visits were set out for."""
        return self._set_out

    def _over(self) -> bool:
        """Whether nobody sets out any more."""
        return self._closed or self._set_out >= self._most

    # --- one resident

    def _resident(self, resident: int) -> Steps:
        """One illness after the other; what would begin during another does not."""
        onsets = self._onsets[resident]
        while onsets and not self._over():
            onset = onsets.popleft()
            if self._town.times(onset)[0] >= self._clock.now:
                yield from self._illness(onset)
        del self._onsets[resident]
        if self._over() and not self._onsets:
            self._clock.stop()

    def _illness(self, onset: Onset) -> Steps:
        """From waking up ill to being healthy."""
        who, department = self._town.name(onset.resident), self._town.department(onset)
        wakes, delay = self._town.times(onset)
        # Planned and launched ahead; nobody in the world knows of it before the resident wakes up.
        plan = self._plan(onset, None, number=1, ready=wakes + delay, delay=delay)
        yield self._clock.at(wakes)
        if self._over():
            return
        case = plan.case(self._town)
        self.ill += 1
        ill = FellIll(case=case.id, disease=onset.disease, severity=onset.severity, department=department)
        self._note(who, ill)
        while True:
            yield self._clock.at(plan.leaves)
            goes = not self._surplus(plan)
            self._planned.pop(bisect_left(self._planned, plan))
            if self._closed or not goes:
                return
            self._set_out += 1
            self._open += 1
            plan.gone = True
            treatment = yield from self._attend(plan, onset, case)
            number = plan.visit.number
            del plan  # with its episode, which may be large, for convalescence may be long
            worse = yield from self._follow_up(who, case, number, treatment, of_visit=True)
            while worse and number >= self._hospital.illness.most_visits and not self._over():
                number += 1
                worse = yield from self._follow_up(who, case, number, Treatment())
            if not worse:
                self.ill -= 1
                return
            if self._over():
                return  # it would come again, and nobody sets out any more
            case = self._town.worsened(onset.resident, case)
            tomorrow = (self._clock.now // DAY + 1) * DAY
            ready = tomorrow + wakes % DAY + delay
            plan = self._plan(onset, case, number=number + 1, ready=ready, delay=delay)

    def _attend(self, plan: _PlannedVisit, onset: Onset, case: Case) -> Steps:
        """The visit; once more where the patient is turned away. Returns the treatment."""
        ended, episode = yield from self._house.visit(plan.visit, plan.decided)
        if ended is VisitEnd.TURNED_AWAY:
            delay = self._town.times(onset)[1]
            tomorrow = (self._clock.now // DAY + 1) * DAY
            yield self._clock.at(self._opportunity(tomorrow, delay))
            if not self._closed:
                visit = self._visit(onset, case, number=plan.visit.number, time=2)
                ended, episode = yield from self._house.visit(visit, plan.decided)
        if self._closed and not self._house.inside:
            self._clock.stop()
        if ended is not VisitEnd.SEEN or (episode.plan is None and not episode.treatment):
            return Treatment()
        diagnosis = episode.seen[-1].diagnosis if episode.seen else ""
        return Treatment(treated=True, right=episode.right_treatment, diagnosis=diagnosis, items=(*episode.treatment,))

    def _follow_up(self, who: str, case: Case, number: int, treatment: Treatment, *, of_visit: bool = False) -> Steps:
        """Convalescence after a visit, or without one; returns whether the patient has got worse."""
        course = self._town.course(case, number, treatment)
        rng = derive(self._seed, who, "follow-up", case.id, number)
        today, hour = self._clock.now // DAY, rng.randint(*_FOLLOW_UP)
        due = (today + self._hospital.illness.follow_up_days) * DAY + hour
        if self._forecast is None:
            yield self._clock.at(due)
        else:
            said = yield self._clock.launch(self._forecast(case, number, treatment), due=due)
            if isinstance(said, IllnessCourse):
                course = said
            else:
                self._note(who, FollowUpFailed(error=said.error, problem=said.problem))
        self._note(who, FollowedUp(outcome=course.outcome, severity=course.severity))
        if of_visit:
            self._open -= 1
            if self._over() and not self._open and not self._house.inside:
                # Recovery may take a year, and nothing else happens any more.
                self._clock.stop()
        if course.recovers_after_days is None:
            return True
        if course.outcome is not FollowUpOutcome.RECOVERED:
            yield self._clock.at((today + course.recovers_after_days) * DAY + hour)
            self._note(who, FollowedUp(outcome=FollowUpOutcome.RECOVERED, severity=course.severity))
        return False

    # --- planning

    def _plan(self, onset: Onset, case: Case | None, *, number: int, ready: int, delay: int) -> _PlannedVisit:
        self._plans += 1
        visit = self._visit(onset, case, number=number)
        plan = _PlannedVisit(visit, onset, case, leaves=self._opportunity(ready, delay), place=self._plans)
        insort(self._planned, plan)
        plan.decided = self._clock.start(self._decide(plan))
        return plan

    def _visit(self, onset: Onset, case: Case | None, *, number: int, time: int = 1) -> Encounter:
        who = self._town.name(onset.resident)
        severity = onset.severity if case is None or case.truth.severity is None else case.truth.severity
        return Encounter(
            who,
            number=number,
            department=self._town.department(onset),
            severity=severity,
            rng=derive(self._seed, who, "visit", onset.day, number, time),
            hospital=self._hospital,
        )

    def _decide(self, plan: _PlannedVisit) -> Steps:
        """Launches the episode; returns it when it is due, which is when triage could be over at the earliest."""
        due = plan.leaves + self._house.coming.seconds + plan.visit.triage
        yield self._clock.at(due - self._lookahead)
        if not plan.gone and (plan.leaves >= self._end or self._closed or self._surplus(plan)):
            return None
        request = EpisodeRequest(
            resident=plan.visit.who,
            case=plan.case(self._town),
            visit=plan.visit.number,
            departments=self._departments,
        )
        episode: Episode = yield self._clock.launch(self._compute(request), due=due)
        return episode

    def _surplus(self, plan: _PlannedVisit) -> bool:
        """Whether so many set out before it that the run will have ended; where that is so, it stays so."""
        if self._set_out >= self._most:
            return True
        # Whoever planned to set out before does so: nothing comes between, and plans that come later only add to them.
        return self._set_out + bisect_left(self._planned, plan) >= self._most

    def _opportunity(self, ready: int, delay: int) -> int:
        """Returns when to set out: to arrive as soon as the doors are open, and not just before they close."""
        walk = self._house.coming.seconds
        hours, arrival = self._house.hours, ready + walk
        if hours.is_open(arrival):
            closing = hours.next_closing(arrival)
            if arrival <= closing - _LAST_CALL or hours.is_open(closing):
                return ready
            arrival = closing
        opening = hours.next_opening(arrival)
        if opening // DAY > (ready + walk) // DAY:
            # Who could not come on the same day does not stand at the doors at dawn.
            opening = max(opening, min(opening + delay, hours.next_closing(opening) - _LAST_CALL))
        return opening - walk

    def _note(self, who: str, what: What) -> None:
        self._log.add(self._clock.now, who, what)
