"""What the rules doctor and the rules director say and write."""

from __future__ import annotations

import msgspec

from polyclinic.knowledge.knowledge import Severity
from polyclinic.players.rules.words import WORDS


class DoctorSayings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules doctor's sentences in one language; blanks are named."""

    order: str
    conclusion: str
    no_conclusion: str
    general: tuple[str, ...]
    probable: str
    reason: str
    absent: str
    duration: str
    doubt: str
    outside: str
    undecided: str
    known: str
    refer: str
    severity: str
    severities: dict[Severity, str]


class DirectorSayings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules director's sentences in one language; blanks are named."""

    look_again: str
    doctor: str
    doctors: str
    lead: str
    side: str
    nothing: str
    plan: str
    no_more: str
    pooled: str
    votes: str
    tie: str
    undecided: str
    refer: str


doctor_sayings = WORDS.section("doctor", DoctorSayings)
director_sayings = WORDS.section("director", DirectorSayings)
