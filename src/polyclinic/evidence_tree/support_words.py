"""The words that say what a result is, and those that say nothing beside it."""

from __future__ import annotations

import msgspec

from polyclinic.language.word_lists import Pattern


class SupportWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of a value, what frames it, and the names of a record's sections."""

    low: Pattern
    high: Pattern
    normal: Pattern
    abnormal: Pattern
    degree: Pattern
    framing: Pattern
    section: Pattern
