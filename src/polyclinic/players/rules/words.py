"""The words of the rules minds: `words.en.yaml` and `words.zh.yaml`, a section a module."""

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
