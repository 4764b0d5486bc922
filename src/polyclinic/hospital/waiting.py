"""Those who wait for a doctor and get worse: their stage, when that is noticed, and who looks after them then.

1. Some time after coming in, by the disease's course (`town/illness.py`), the illness goes a stage up, unless a
   doctor has seen the patient before.
2. What the doctors will do is launched anew with the worse case, beside the rest. Where it was likely to be wanted, it
   was computed along with the visit, and is there.
3. Who waits is looked at again at the intervals of the scale (`polyclinic.knowledge.acuity.TARGETS`), counted from the
   triage; who is of level 1 by then, at once. Found worse, a patient moves up in the queue. Before triage it moves up
   by what anybody sees.

No model is asked whether somebody gets worse, or how it looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from polyclinic.cases.case import Case
from polyclinic.hospital.floor.clock import Clock, Steps
from polyclinic.hospital.floor.journey import House
from polyclinic.hospital.floor.lines import ORDER, Encounter
from polyclinic.hospital.planned import PlannedVisit
from polyclinic.hospital.record.account import Log
from polyclinic.hospital.record.episodes import AtDoor, Compute
from polyclinic.hospital.record.happenings import Acuity, GotWorse, TriagedAgain
from polyclinic.hospital.town.illness import Worsening
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.acuity import TARGETS
from polyclinic.players.player import URGENCY

LookingAgain = Callable[[Case, AtDoor], AtDoor]
"""Says what a nurse finds of who waits and has got worse: of the case, after what she learnt before."""


_AT_THE_DOOR = 30 * 60
"""Seconds; hardly anybody waits longer for the nurse."""


@dataclass(frozen=True, eq=False)
class Waiting:
    """Watches over those who wait."""

    house: House
    clock: Clock
    log: Log
    compute: Compute
    look_again: LookingAgain
    at_the_door: Callable[[Case], Acuity | None] | None = None  # how urgent anybody sees that somebody is

    def foresee(self, visit: Encounter, plan: PlannedVisit, town: Town, *, comes: int) -> None:
        """Has computed beforehand what will be decided about a patient who gets worse, where that may be wanted.

        Else a whole visit would have to be computed when it is wanted at once, and everything would wait for it. Who
        may get worse before triage is over gets a decision of its own; else it comes along with the visit's.
        """
        request, worse = plan.request, plan.worsens(town)
        assert request is not None  # noqa: S101
        if worse is None or worse.case is request.case:
            return
        plan.request = plan.with_worse(request, town)
        if worse.after < visit.triage + _AT_THE_DOOR and not visit.at_once:
            due = max(self.clock.now, comes + worse.after)
            wanted = self.clock.wanted(due)
            anew = msgspec.structs.replace(request, case=worse.case, worse=None, wanted=wanted)
            plan.early = self.clock.launch(self.compute(anew), due=due)

    def watch(self, visit: Encounter, plan: PlannedVisit, worse: Worsening | None) -> None:
        """Lets a patient get worse while it waits, where it does."""
        if worse is not None:
            self.clock.start(self._worsens(visit, plan, worse))

    def _worsens(self, visit: Encounter, plan: PlannedVisit, worse: Worsening) -> Steps:
        yield self.clock.wait(self.house.coming.seconds + worse.after)
        if not visit.unseen:
            return
        plan.drawn = worse.case
        level, severity = worse.case.truth.acuity, worse.case.truth.severity
        visit.is_of_level(level)
        assert severity is not None  # noqa: S101
        self.log.add(self.clock.now, visit.who, GotWorse(severity=severity, level=level))
        before, request = visit.episode, plan.request
        if before is None:
            self._is_seen(visit, worse.case)
        if request is None:
            return  # what is launched from now on is about how it is now
        again = None if before is None else before.worse
        if again is None:
            received = None if before is None else before.received
            if before is None and plan.early is not None:
                visit.anew = plan.early
            else:
                wanted = self.clock.wanted(self.clock.now)
                anew = msgspec.structs.replace(request, case=worse.case, worse=None, received=received, wanted=wanted)
                # Due now: the next thing that a doctor decides about this patient is about how it is now.
                visit.anew = self.clock.launch(self.compute(anew), due=self.clock.now)
            again = yield visit.anew
        visit.episode = again
        if before is not None and before.at_door is not None:
            yield from self._notice(visit, before.at_door, self.look_again(worse.case, before.at_door))

    def _is_seen(self, visit: Encounter, case: Case) -> None:
        """Who gets worse before a nurse has called it moves up by what anybody sees, as anybody does of level 1."""
        seen = Acuity.EMERGENCY if visit.right_level == 1 else self.at_the_door and self.at_the_door(case)
        if seen is None or (visit.acuity is not None and ORDER[visit.acuity] <= ORDER[seen]):
            return
        visit.acuity = seen
        if visit.ticket is not None:
            self.house.floor.move_up(visit.ticket, seen)

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
        self.log.add(
            self.clock.now,
            visit.who,
            TriagedAgain(level=now.level, acuity=acuity, right_level=visit.right_level, vital_signs=now.measured),
        )
        if visit.ticket is not None:
            before_doctors = visit.episode is not None and visit.ticket.queue.id == visit.episode.department
            alarms = acuity is Acuity.EMERGENCY and before_doctors
            self.house.floor.move_up(visit.ticket, acuity, alarms=alarms)
