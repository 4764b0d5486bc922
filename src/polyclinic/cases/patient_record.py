"""The record that follows a patient through a hospital: what was said, found, thought and done, and what came of it.

It holds what people said and found out, and nothing of what is so: a diagnosis in it is what somebody took it for.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from polyclinic.cases.record import Finding
from polyclinic.cases.report import Diagnosis

Step = Literal["conclude", "refer", "admit"]
"""What a doctor does with a patient at the end of a consultation."""


class NotedLine(msgspec.Struct, frozen=True, array_like=True):
    """Something that was said; `who` is `nurse`, `doctor` or `patient`."""

    who: Literal["nurse", "doctor", "patient"]
    text: str


class NotedTriage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the nurse noted at the door."""

    acuity: str = ""  # how soon the patient must be seen
    reason: str = ""  # why, in a sentence
    said: tuple[NotedLine, ...] = ()  # what she asked, and what was answered
    findings: tuple[Finding, ...] = ()  # what she measured


class NotedConsultation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a doctor noted of a consultation."""

    department: str  # its name, in the language of the patient
    doctor: str = ""  # the doctor's name; "" where nobody knows
    said: tuple[NotedLine, ...] = ()  # in the hearing of doctor and patient; only as long as the visit lasts
    findings: tuple[Finding, ...] = ()  # the results, each once
    symptoms: tuple[str, ...] = ()  # as the report names them
    diagnoses: tuple[Diagnosis, ...] = ()  # the likeliest first
    rationale: tuple[str, ...] = ()  # the reasons
    step: Step = "conclude"  # what came next
    refer_to: str = ""  # the name of the department that the patient was sent on to
    reason: str = ""  # why it was referred or admitted


class NotedVisit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A visit as it was noted."""

    illness: str  # the same for all visits of one illness
    day: str  # the date, as 2026-01-05
    number: int = 1  # within the illness
    triage: NotedTriage | None = None
    consultations: tuple[NotedConsultation, ...] = ()
    treatment: tuple[str, ...] = ()  # what was done and given, short items
    handed_out: tuple[str, ...] = ()  # names of drugs
    withheld: tuple[str, ...] = ()  # names of drugs, each with the reason behind a colon
    outcome: str = ""  # "recovered", "better", "worse" or "died"; "" where nobody knows yet

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All results of the visit."""
        at_door = () if self.triage is None else self.triage.findings
        return (*at_door, *(finding for held in self.consultations for finding in held.findings))

    @property
    def diagnoses(self) -> tuple[Diagnosis, ...]:
        """What the last doctor took it for, the likeliest first."""
        return self.consultations[-1].diagnoses if self.consultations else ()

    @property
    def is_empty(self) -> bool:
        """Whether nobody has noted anything."""
        return self.triage is None and not self.consultations

    def closed(self) -> NotedVisit:
        """Returns what is kept of it when it is over: all but who said what, word for word."""
        held = tuple(msgspec.structs.replace(one, said=()) for one in self.consultations)
        triage = None if self.triage is None else msgspec.structs.replace(self.triage, said=())
        return msgspec.structs.replace(self, triage=triage, consultations=held)


class PatientRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a hospital knows of a patient: the visit that goes on, and those before it, the earliest first."""

    today: NotedVisit
    earlier: tuple[NotedVisit, ...] = ()

    @property
    def of_this_illness(self) -> tuple[NotedVisit, ...]:
        """The earlier visits of the illness that goes on."""
        return tuple(visit for visit in self.earlier if visit.illness == self.today.illness)

    def with_consultation(self, held: NotedConsultation) -> PatientRecord:
        """Returns the record after another consultation of this visit."""
        today = msgspec.structs.replace(self.today, consultations=(*self.today.consultations, held))
        return msgspec.structs.replace(self, today=today)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is noted yet."""
        return self.today.is_empty and not self.earlier
