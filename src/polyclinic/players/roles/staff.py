"""The nurse, the pharmacist, and the director who chairs a discussion.

The nurse (Agent-hospital §3.4.2) measures before she asks (`seen` begins with that), asks a few questions, and knows
only what she measured and was told. The pharmacist gets a prescription and what is known of the patient. The director
(AI Hospital §4) knows the presentation, what the doctors report, and what patient and examiner answer it; it has not
seen the patient and never knows the truth. (The director who grades reports is a judge, in `polyclinic.judging`.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from polyclinic.cases.patient_record import PatientRecord
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding
from polyclinic.events import Established, Examined, Revised, Role, Said, Shared
from polyclinic.knowledge.entries import Drug
from polyclinic.knowledge.safety import Known
from polyclinic.players.player import Mind, PlayedRole
from polyclinic.players.staging import OURS, Staging

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


@dataclass(eq=False)
class Pharmacist(PlayedRole):
    """The pharmacist of one visit; the drugs are in the order in which they were prescribed.

    `past` is what the hospital noted of the patient, this visit included.
    """

    mind: Mind[Pharmacist]
    presentation: Presentation
    prescription: Sequence[Drug]
    known: Known
    past: PatientRecord | None = None


@dataclass(eq=False)
class Director(PlayedRole):
    """The director of one discussion, ours or AI Hospital's (Table 16).

    `may_ask` says whether patient and examiner can be asked again.
    """

    mind: Mind[Director]
    presentation: Presentation
    may_ask: bool = field(default=True, kw_only=True)
    staging: Staging = field(default=OURS, kw_only=True)

    def shared(self) -> list[Shared]:
        """Returns the facts that the doctors brought, in the order of their numbers."""
        return [event for event in self.seen if isinstance(event, Shared)]

    def established(self) -> Established | None:
        """Returns the summary of the facts; None before there is one."""
        return next((event for event in reversed(self.seen) if isinstance(event, Established)), None)

    def standing(self) -> list[Revised]:
        """Returns every doctor's report as it stands now, in the order of their numbers."""
        last = {event.doctor: event for event in self.seen if isinstance(event, Revised)}
        return [last[number] for number in sorted(last)]
