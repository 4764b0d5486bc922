"""Where a history tells what somebody concluded of this illness: it may name it in words that nobody listed."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from polyclinic.cases.known import WORDS, known_as
from polyclinic.cases.withhold import clauses_of
from polyclinic.language.folding import tidy
from polyclinic.language.language import is_chinese
from polyclinic.language.word_lists import Pattern


class _ConclusionWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    who: Pattern
    found: Pattern
    says: Pattern
    others: Pattern
    opinion: Pattern


_words = WORDS.section("concluded", _ConclusionWords)


def conclusions(text: str, *, section: str) -> Iterator[str]:
    """Yields the clauses of a section of a history that tell what was concluded or found, and not long ago."""
    for earlier, clause, later in clauses_of(text):
        words = _words("zh" if is_chinese(clause) else "en")
        plain = tidy(clause).casefold()
        cue = words.found.search(plain) or (words.who.search(plain) and words.says.search(plain))
        cue = cue or (words.others.search(plain) and words.opinion.search(plain))
        if not cue:
            continue
        known = known_as(cue[0], clause, section=section, earlier=earlier, later=later)
        if known is None:
            yield clause.strip(" ,，")
