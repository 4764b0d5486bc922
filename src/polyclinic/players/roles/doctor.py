"""The doctor: knows the presentation and what was said and found in its hearing; in one step, the whole record.

In a team a doctor has a number. It then hears the discussion too: the facts, every report, the points of dispute.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Record
from polyclinic.events import Examined, Said
from polyclinic.players.player import Mind, PlayedRole


@dataclass(eq=False)
class Doctor(PlayedRole):
    """The doctor of one visit.

    Attributes:
        max_turns: how often the doctor may speak.
        record: the whole record, for a diagnosis in one step without a dialogue.
        number: which doctor of a team it is, from 1; 0 where it works alone.
        max_examinations: how many examinations may be done; None for any number.
    """

    mind: Mind[Doctor]
    presentation: Presentation
    _: KW_ONLY
    max_turns: int
    record: Record | None = None
    number: int = 0
    max_examinations: int | None = None

    def turns_left(self) -> int:
        """Returns how often the doctor may still speak."""
        spoken = sum(isinstance(e, Said) and e.who == "doctor" for e in self.seen)
        return self.max_turns - spoken

    def may_order(self) -> bool:
        """Returns whether another examination may be done."""
        if self.max_examinations is None:
            return True
        done = {f.examination for e in self.seen if isinstance(e, Examined) for f in e.findings}
        return len(done) < self.max_examinations
