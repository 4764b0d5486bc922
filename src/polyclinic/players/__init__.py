"""Whoever takes part in a visit: a role with a mind. What a mind of one's own needs is imported from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.cases.report import Diagnosis as Diagnosis, Report as Report
    from polyclinic.players.language_model.saps import Saps as Saps
    from polyclinic.players.minds import Minds as Minds
    from polyclinic.players.minds import Cast as Cast, open_minds as open_minds
    from polyclinic.players.player import (
        REPLY as REPLY,
        Ask as Ask,
        Choice as Choice,
        Dispensing as Dispensing,
        Disputes as Disputes,
        DoctorTurn as DoctorTurn,
        Facts as Facts,
        Mind as Mind,
        PatientTurn as PatientTurn,
        Player as Player,
        Purpose as Purpose,
        Request as Request,
        Triage as Triage,
        Withheld as Withheld,
    )
    from polyclinic.players.roles.staff import Director as Director
    from polyclinic.players.roles.doctor import Doctor as Doctor
    from polyclinic.players.roles.examiner import Examiner as Examiner
    from polyclinic.players.roles.staff import Nurse as Nurse
    from polyclinic.players.roles.patient import Patient as Patient
    from polyclinic.players.roles.staff import Pharmacist as Pharmacist

__getattr__ = lazily(__name__, __file__)
