"""Whoever takes part in a visit: a role with a mind. What a mind of one's own needs is imported from here."""

from polyclinic.cases.report import Diagnosis, Report
from polyclinic.players.player import (
    Ask,
    Choice,
    Dispensing,
    Disputes,
    DoctorTurn,
    Facts,
    Mind,
    PatientTurn,
    Purpose,
    Request,
    Triage,
    Withheld,
)

__all__ = [
    "Ask",
    "Choice",
    "Diagnosis",
    "Dispensing",
    "Disputes",
    "DoctorTurn",
    "Facts",
    "Mind",
    "PatientTurn",
    "Purpose",
    "Report",
    "Request",
    "Triage",
    "Withheld",
]
