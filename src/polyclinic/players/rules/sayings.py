"""What the rules doctor, director, nurse and pharmacist say and write in a language; blanks are named."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from polyclinic.knowledge.data import Severity
from polyclinic.knowledge.examination_words import EXAMINATION, MEASURED
from polyclinic.language.word_lists import WordLists

Voice = Literal["self", "parent"]
"""Who speaks for a patient: it, or a parent for a child that is small or comes with one."""

WORDS = WordLists(
    Path(__file__).with_name("words"), examination=f"(?:{EXAMINATION.pattern})", measured=MEASURED.pattern
)


class DoctorSayings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules doctor's sentences."""

    order: str
    orders: str
    between_orders: str
    conclusion: str
    no_conclusion: str
    general: tuple[str, ...]
    probable: str
    reason: str
    absent: str
    duration: str
    doubt: str
    suspected: str
    outside: str
    undecided: str
    candidate: str
    unread: str
    known: str
    refer: str
    severity: str
    severities: dict[Severity, str]
    below: str

    def percent(self, probability: float) -> str:
        """Returns a probability as it is written; what is possible is never said to be 0 %."""
        percent = f"{100 * probability:.0f} %"
        return self.below if percent == "0 %" else percent


doctor_sayings = WORDS.section("doctor", DoctorSayings)
director_sayings = WORDS.section("director", dict[str, str])
nurse_sayings = WORDS.section("nurse", dict[str, str])
pharmacist_sayings = WORDS.section("pharmacist", dict[str, str])
