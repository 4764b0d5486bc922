"""The pharmacist: gets a prescription and what is known of the patient, hands out or withholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyclinic.cases.patient_record import PatientRecord
from polyclinic.cases.presentation import Presentation
from polyclinic.knowledge.dispensing import Known
from polyclinic.knowledge.entries import Drug
from polyclinic.players.player import Mind, PlayedRole


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
