"""The pharmacist: gets a prescription and what is known of the patient, hands out or withholds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History
from polyclinic.knowledge.entries import Drug
from polyclinic.language.clauses import clauses
from polyclinic.players.player import Mind, PlayedRole

_PREGNANT = re.compile(r"\bpregnan(?:t|cy)\b|\bgestation\b|怀孕|孕妇|妊娠|孕\d+周", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|no|never|previous|earlier|past|negative|denies)\b|没有|未|否认|无|既往|曾", re.IGNORECASE)


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What the patient tells of allergies and intolerances, what it takes already, and whether it is pregnant."""

    allergies: str = ""
    medications: str = ""
    pregnant: bool = False


@dataclass(eq=False)
class Pharmacist(PlayedRole):
    """The pharmacist of one visit; the drugs are in the order in which they were prescribed."""

    mind: Mind[Pharmacist]
    presentation: Presentation
    prescription: Sequence[Drug]
    known: Known


def told_at_the_counter(presentation: Presentation, history: History) -> Known:
    """Returns what a patient tells the pharmacist, from what it can tell at all."""
    texts = (presentation.complaint, presentation.about, history.present, history.past, history.personal, history.other)
    language = presentation.language
    pregnant = any(
        _PREGNANT.search(clause) and not _NOT.search(clause) for text in texts for clause in clauses(text, language)
    )
    return Known(allergies=history.allergies, medications=history.medications, pregnant=pregnant)
