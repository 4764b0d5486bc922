"""One coming to the hospital: who, how urgent, and how long everything takes that it brings along."""

from __future__ import annotations

import random

from polyclinic.cases.case import Case
from polyclinic.hospital.floor.clock import Signal
from polyclinic.hospital.floor.lines import Ticket
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.record.episodes import Episode
from polyclinic.hospital.record.happenings import Acuity
from polyclinic.knowledge.acuity import Level

RIGHT_ACUITY = {
    1: Acuity.EMERGENCY,
    2: Acuity.EMERGENCY,
    3: Acuity.URGENT,
    4: Acuity.ROUTINE,
    5: Acuity.ROUTINE,
}
"""How urgent somebody of each level of the five-level index is (see `polyclinic.knowledge.acuity`)."""

OF_SEVERITY = {"mild": Acuity.ROUTINE, "moderate": Acuity.URGENT, "severe": Acuity.EMERGENCY}
"""The same by severity, of a case whose maker does not say the level."""


class Encounter:
    """One coming to the hospital; `number` counts from 1 within the illness, which belongs to `department`."""

    def __init__(
        self, who: str, *, number: int, department: str, right_acuity: Acuity, rng: random.Random, hospital: Hospital
    ) -> None:
        self.who, self.number, self.department, self.rng = who, number, department, rng
        self.right_acuity = right_acuity
        self.right_level: Level | None = None
        # Drawn at once and in this order, so that what happens on the way does not change what is drawn.
        durations = hospital.durations
        self.triage = durations.triage.draw(rng)
        self.registration = durations.registration.draw(rng)
        self.turn = durations.turn.draw(rng)
        self.dispensing = durations.dispensing.draw(rng)
        self.patience = None if durations.patience is None else durations.patience.draw(rng)
        self.sampling = durations.sampling.draw(rng)
        self.at = ""
        self.room = ""  # where it is served
        self.acuity: Acuity | None = None  # before triage, what anybody sees
        self.care = 0  # its number among those under care
        self.unseen = False  # has set out, and neither seen a doctor nor left yet
        self.seen_as: Case | None = None  # the case that was looked at
        self.left = False  # is out of the hospital again, or has died there
        self.episode: Episode | None = None  # once triage is over
        self.anew: Signal | None = None  # happens with the episode of who got worse, where that is launched anew
        self.triaged = 0  # when
        self.ticket: Ticket | None = None  # its place in a queue

    @property
    def at_once(self) -> bool:
        """Whether anybody sees at the door that minutes are too long: nobody asks first, and no nurse is waited for."""
        return self.right_level == 1 and self.acuity is Acuity.EMERGENCY

    @property
    def lies(self) -> bool:
        """Whether it is of level 1, as anybody sees or the nurse has judged: nobody lets it walk to the laboratory."""
        at_door = None if self.episode is None else self.episode.at_door
        return self.at_once or (at_door is not None and at_door.level == 1)

    def is_of_level(self, level: Level | None) -> None:
        """Takes down of which level of the five-level index it is, where its case says so."""
        if level is not None:
            self.right_acuity, self.right_level = RIGHT_ACUITY[level], level
