"""Those who wait for a doctor and get worse: their stage, when that is noticed, and who looks after them then.

1. Some time after coming in, by the disease's course (`town/worsening.py`), the illness goes a stage up, unless a
   doctor has seen the patient before.
2. What the doctors will do is launched anew with the worse case, beside the rest. Where it was likely to be wanted, it
   was computed along with the visit, and is there.
3. Who waits is looked at again at the intervals of the scale (`polyclinic.knowledge.acuity.TARGETS`), counted from the
   triage; who is of level 1 by then, at once. Found worse, a patient moves up in the queue.

No model is asked whether somebody gets worse, or how it looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from polyclinic.cases.case import Case
from polyclinic.hospital.floor.clock import Clock, Steps
from polyclinic.hospital.floor.encounter import Encounter
from polyclinic.hospital.floor.journey import House
from polyclinic.hospital.record.episodes import AtDoor, Compute, EpisodeRequest
from polyclinic.hospital.record.happenings import Acuity, GotWorse, TriagedAgain
from polyclinic.hospital.record.log import Log
from polyclinic.hospital.town.worsening import Worsening
from polyclinic.knowledge.acuity import TARGETS
from polyclinic.players.player import URGENCY

LookingAgain = Callable[[Case, AtDoor], AtDoor]
"""Says what a nurse finds of who waits and has got worse: of the case, after what she learnt before."""


class _Worsenable(Protocol):
    request: EpisodeRequest | None

    def becomes(self, case: Case) -> None: ...


@dataclass(frozen=True, eq=False)
class Waiting:
    """Watches over those who wait."""

    house: House
    clock: Clock
    log: Log
    compute: Compute
    look_again: LookingAgain

    def watch(self, visit: Encounter, plan: _Worsenable, worse: Worsening | None) -> None:
        """Lets a patient get worse while it waits, where it does.

        Args:
            visit: who waits, from its setting out on.
            plan: the illness, which is another case from then on.
            worse: how, and when; None: it does not.
        """
        if worse is not None:
            self.clock.start(self._worsens(visit, plan, worse))

    def _worsens(self, visit: Encounter, plan: _Worsenable, worse: Worsening) -> Steps:
        yield self.clock.wait(self.house.coming.seconds + worse.after)
        if not visit.unseen:
            return
        plan.becomes(worse.case)
        level, severity = worse.case.truth.acuity, worse.case.truth.severity
        visit.is_of_level(level)
        assert severity is not None  # noqa: S101
        self.log.add(self.clock.now, visit.who, GotWorse(severity=severity, level=level))
        before, request = visit.episode, plan.request
        if request is None:
            return  # what is launched from now on is about how it is now
        again = None if before is None else before.worse
        if again is None:
            received = None if before is None else before.received
            anew = msgspec.structs.replace(request, case=worse.case, worse=None, received=received)
            # Due now: the next thing that a doctor decides about this patient is about how it is now.
            visit.anew = self.clock.launch(self.compute(anew), due=self.clock.now)
            again = yield visit.anew
        visit.episode = again
        if before is not None and before.at_door is not None:
            yield from self._notice(visit, before.at_door, self.look_again(worse.case, before.at_door))

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
