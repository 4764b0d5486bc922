"""Tells what a patient knows of a disease from what this visit is to find out, by how a clause speaks of it.

Known is what was so before this visit: what stands among past illnesses, medicines or habits, what is told as history
("a history of ...", "known ...", diagnosed years ago), a relative's illness, and what is denied. What a clause only
suspects, or finds in this visit, is not.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import msgspec

from polyclinic.language.folding import Folded, tidy
from polyclinic.language.language import is_chinese
from polyclinic.language.word_lists import Pattern, WordLists

WORDS = WordLists(Path(__file__).with_name("words"))
"""The words of this room."""

Known = Literal["had", "a relative's", "denied"]
"""How a patient knows of a disease: its own, somebody else's (or one it met, or was warded off), or denied."""

_OF_BEFORE = frozenset(("past", "medications", "allergies", "personal"))


class _KnownWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    before: Pattern
    taken: Pattern
    shared: Pattern
    brief: Pattern
    behind: Pattern
    long_ago: Pattern
    recent: Pattern
    diagnosed: Pattern
    found: Pattern
    visit: Pattern
    kin: Pattern
    not_kin: Pattern
    kin_behind: Pattern
    denial: Pattern
    not_denial: Pattern


_words = WORDS.section("known", _KnownWords)


def known_as(term: str, clause: str, *, section: str = "present", earlier: str = "", later: str = "") -> Known | None:
    """Returns how a clause shows that the patient knows of what a term names; None where it does not.

    Args:
        term: what is named, as `fold_term` gives it.
        clause: what holds it.
        section: the section of the history in which the clause stands.
        earlier: what stands before it in its sentence.
        later: what stands behind it there.
    """
    folded = Folded(clause)
    at = folded.find(term)
    if at < 0:
        return None
    text = folded.plain if len(folded.plain) == len(folded.cased) else folded.cased
    before, behind = text[:at], text[at + len(term) :]
    how = _at(before, behind, section, tidy(earlier), tidy(later))
    # Where it is named twice, it is known only if it is so both times.
    if how is not None and Folded(behind).find(term) >= 0 and known_as(term, behind, section=section) is None:
        return None
    return how


def _at(before: str, behind: str, section: str, earlier: str, later: str) -> Known | None:
    words = _words("zh" if is_chinese(before + behind + earlier) else "en")
    denial = _last(words.denial, before)
    if denial and not words.not_denial.search(before, denial.end()):
        return "denied"
    if words.visit.search(before) or words.visit.search(behind):
        return None
    if section == "family":
        return "a relative's"
    shared = words.shared.search(f"{behind} {later}")
    kin = None if shared else _last(words.kin, before)
    if (kin and not words.not_kin.search(before, kin.end())) or (not shared and words.kin_behind.search(behind)):
        return "a relative's"
    if section in _OF_BEFORE:
        return "had"
    known, found = _last(words.before, before), _last(words.found, before)
    if known and not words.brief.search(before[: known.start()]) and (found is None or found.start() < known.start()):
        return "had"
    if words.taken.search(before) and not words.recent.search(behind):
        return "had"
    if found is None and words.behind.search(behind):
        return "had"
    ago, recent = _last(words.long_ago, earlier), _last(words.recent, earlier)
    since = ago is not None and (recent is None or recent.start() < ago.start())
    if since and found is None and words.diagnosed.search(before) and not words.recent.search(before):
        return "had"
    return None


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    last = None
    for last in pattern.finditer(text):  # noqa: B007
        pass
    return last
