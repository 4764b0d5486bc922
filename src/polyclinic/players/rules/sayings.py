"""What the rules doctor, director, nurse and pharmacist say and write in a language; blanks are named."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from polyclinic.knowledge.examination_words import EXAMINATION, MEASURED
from polyclinic.language.word_lists import WordLists

Voice = Literal["self", "parent"]
"""Who speaks for a patient: it, or a parent for a child that is small or comes with one."""

WORDS = WordLists(
    Path(__file__).with_name("words"), examination=f"(?:{EXAMINATION.pattern})", measured=MEASURED.pattern
)


doctor_sayings = WORDS.section("doctor", dict[str, str])
general_questions = WORDS.section("doctor_general", dict[str, tuple[str, ...]])
director_sayings = WORDS.section("director", dict[str, str])
nurse_sayings = WORDS.section("nurse", dict[str, str])
pharmacist_sayings = WORDS.section("pharmacist", dict[str, str])


def percent(probability: float, say: dict[str, str]) -> str:
    """Returns a probability as it is written; what is possible is never said to be 0 %."""
    written = f"{100 * probability:.0f} %"
    return say["below"] if written == "0 %" else written
