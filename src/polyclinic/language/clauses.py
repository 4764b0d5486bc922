"""Cutting text into clauses, hearing yes and no, and finding what is named and not denied."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from polyclinic.language.language import Language
from polyclinic.language.word_lists import WORDS, Pattern

# Of either language, for what a record of any may say. "no penicillin or sulfa" denies both.
_REACH = re.compile(r"[.,;:!?\n，。；：！？]|\band\b|\bbut\b|但", re.IGNORECASE)
_DENIED_BEFORE = re.compile(r"\b(?:no|not|never|denies|denied|without|stopped|tolerates)\b|没有|否认|无|未|已停", re.I)
_DENIED_AFTER = re.compile(r"不过敏|\bis tolerated\b|\bnot allergic\b|已停", re.IGNORECASE)


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


def at_marks(text: str, marks: Iterable[re.Match[str]]) -> tuple[str, list[tuple[re.Match[str], str]]]:
    """Returns what stands in a text before the first of some marks, and each mark with what stands behind it."""
    found = list(marks)
    cuts = [*(mark.start() for mark in found), len(text)]
    return text[: cuts[0]], [(mark, text[mark.end() : end]) for mark, end in zip(found, cuts[1:], strict=True)]


def denies(text: str, language: Language) -> bool | None:
    """Returns whether an answer begins as a no (True) or as a yes (False); None where it begins as neither."""
    words = clause_words(language)
    if words.no.match(text):
        return True
    return False if words.yes.match(text) else None


def told(word: str, text: str, *, denied: re.Pattern[str] = _DENIED_BEFORE) -> bool:
    """Whether a text names something, as whole words, and not behind what denies it in the clause."""
    if not text or word.casefold() not in text.casefold():
        return False
    named = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)" if word.isascii() else re.escape(word), re.IGNORECASE)
    return any(
        (found := named.search(clause)) is not None
        and not denied.search(clause[: found.start()])
        and not _DENIED_AFTER.search(clause[found.end() :])
        for clause in _REACH.split(text)
    )
