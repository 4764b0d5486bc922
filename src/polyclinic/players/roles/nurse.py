"""The nurse: sees who comes through the door, measures, asks, and says which department and how soon.

Agent-hospital §3.4.2. She measures before she asks (`seen` begins with that), asks a few questions, and knows nothing
of the record but what she measured and was told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from polyclinic.cases.patient_record import PatientRecord
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding
from polyclinic.events import Examined, Role, Said
from polyclinic.players.player import Mind, PlayedRole

MAX_QUESTIONS = 3
"""Questions at the door, each of which may name two things: two to five minutes, as the index is meant to take."""


@dataclass(eq=False)
class Nurse(PlayedRole):
    """The nurse of one visit; the hospital's departments are id to name in the language of the visit.

    `past` is what the hospital noted of the patient before.
    """

    mind: Mind[Nurse]
    presentation: Presentation
    departments: Mapping[str, str]
    max_questions: int = 0
    past: PatientRecord | None = None

    free: ClassVar[frozenset[str]] = frozenset()
    record = None  # nobody shows her one

    def questions_left(self) -> int:
        """Returns how many questions she may still ask."""
        return self.max_questions - sum(isinstance(e, Said) and e.who is Role.NURSE for e in self.seen)

    def vital_signs(self) -> tuple[Finding, ...]:
        """Returns what she measured."""
        return tuple(finding for event in self.seen if isinstance(event, Examined) for finding in event.findings)

    def exchanges(self) -> tuple[tuple[str, str], ...]:
        """Returns what she asked and what was answered."""
        said = [event for event in self.seen if isinstance(event, Said)]
        asked = [event.text for event in said if event.who is Role.NURSE]
        return tuple(zip(asked, (event.text for event in said if event.who is Role.PATIENT), strict=False))

    def may_order(self) -> bool:
        """Returns that she orders no examination."""
        return False
