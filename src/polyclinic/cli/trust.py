"""How far a simulated patient is to be trusted, said beside the results."""

from __future__ import annotations

from polyclinic.players.patient_trust import PatientTrust
from polyclinic.terminal.screen import note


def note_trust(trust: PatientTrust | None) -> PatientTrust | None:
    """Notes it on stderr, where there is something to say, and returns it."""
    if trust is not None:
        note(trust.line)
    return trust
