"""Cutting text into clauses, and hearing yes and no."""

from __future__ import annotations

import msgspec

from polyclinic.language.language import Language
from polyclinic.language.word_lists import WORDS, Pattern


class ClauseWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What divides clauses, how an answer begins as a no or a yes, and what denies what follows it in its clause."""

    divider: Pattern
    no: Pattern
    yes: Pattern
    denial: Pattern


clause_words = WORDS.section("clauses", ClauseWords)


def clauses(text: str, language: Language) -> list[str]:
    """Returns the clauses of a text that say something, without what divides them."""
    return [c.strip() for c in clause_words(language).divider.split(text) if c and any(ch.isalpha() for ch in c)]


def denies(text: str, language: Language) -> bool | None:
    """Returns whether an answer begins as a no (True) or as a yes (False); None where it begins as neither."""
    words = clause_words(language)
    if words.no.match(text):
        return True
    return False if words.yes.match(text) else None
