"""Whoever takes part in a visit: a role with a mind. What a mind of one's own needs is imported from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.cases.report import Diagnosis, Report
    from polyclinic.players.language_model.saps import Saps
    from polyclinic.players.minds import Minds
    from polyclinic.players.opening import Cast, open_minds
    from polyclinic.players.player import (
        REPLY,
        Ask,
        Choice,
        Dispensing,
        Disputes,
        DoctorTurn,
        Facts,
        Mind,
        PatientTurn,
        Player,
        Purpose,
        Request,
        Triage,
        Withheld,
    )
    from polyclinic.players.roles.doctor import Doctor
    from polyclinic.players.roles.examiner import Examiner
    from polyclinic.players.roles.patient import Patient

__all__ = [
    "REPLY",
    "Ask",
    "Cast",
    "Choice",
    "Diagnosis",
    "Dispensing",
    "Disputes",
    "Doctor",
    "DoctorTurn",
    "Examiner",
    "Facts",
    "Mind",
    "Minds",
    "Patient",
    "PatientTurn",
    "Player",
    "Purpose",
    "Report",
    "Request",
    "Saps",
    "Triage",
    "Withheld",
    "open_minds",
]

__getattr__ = lazily(
    __name__,
    {
        "polyclinic.cases.report": "Diagnosis Report",
        "language_model.saps": "Saps",
        "minds": "Minds",
        "opening": "Cast open_minds",
        "player": "REPLY Ask Choice Dispensing Disputes DoctorTurn Facts Mind PatientTurn Player Purpose Request "
        "Triage Withheld",
        "roles.doctor": "Doctor",
        "roles.examiner": "Examiner",
        "roles.patient": "Patient",
    },
)
