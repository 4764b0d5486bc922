"""The pharmacist: gets a prescription and what is known of the patient, hands out or withholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polyclinic.cases.presentation import Presentation
from polyclinic.knowledge.dispensing import Known
from polyclinic.knowledge.entries import Drug
from polyclinic.players.player import Mind, PlayedRole


@dataclass(eq=False)
class Pharmacist(PlayedRole):
    """The pharmacist of one visit; the drugs are in the order in which they were prescribed."""

    mind: Mind[Pharmacist]
    presentation: Presentation
    prescription: Sequence[Drug]
    known: Known
