"""Whether a patient is asked about its visits: to other doctors, or here before."""

from __future__ import annotations

import msgspec

from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.words import WORDS


class _VisitWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    visit: Pattern


_words = WORDS.section("visits_asked", _VisitWords)


def asks_of_visits(text: str, language: Language) -> bool:
    """Whether a question asks whom the patient saw before, what it was told or given there, or whether that helped."""
    return _words(language).visit.search(text) is not None
