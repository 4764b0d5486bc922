"""What the log says of a visit, made from its episode."""

from __future__ import annotations

from polyclinic.hospital.floor.encounter import Encounter
from polyclinic.hospital.record.episodes import ConsultationHeld, Episode
from polyclinic.hospital.record.happenings import Diagnosed, Prescribed, Triaged


def triaged(visit: Encounter, episode: Episode, nurse: str) -> Triaged:
    """Returns where a nurse sent a patient, and how soon it must be seen."""
    return Triaged(
        nurse=nurse,
        department=episode.department,
        acuity=episode.acuity,
        right_department=visit.department,
        right_acuity=visit.right_acuity,
        right_level=visit.right_level,
        **episode.learnt_at_door,
    )


def diagnosed(episode: Episode, seen: ConsultationHeld, doctor: str) -> Diagnosed:
    """Returns what the last doctor told the patient."""
    return Diagnosed(
        staff=doctor,
        diagnosis=seen.diagnosis,
        right=episode.right_diagnosis,
        right_examination=episode.right_examination,
    )


def prescribed(episode: Episode, doctor: str) -> Prescribed:
    """Returns what it prescribed."""
    return Prescribed(
        staff=doctor,
        plan=episode.plan,
        treatment=episode.treatment,
        right=episode.right_treatment,
        not_begun=episode.not_begun,
    )
