"""What a record says is not known: "Allergies: unknown", "family history not documented", "过敏史不详".

That is neither told nor denied. Such a sentence has a heading of the history, words for not knowing, and perhaps why;
one that names anything besides ("the cause of his fall is unknown") tells something. "No known allergies" denies.
"""

from __future__ import annotations

import functools
import re

import msgspec

from polyclinic.language.language import language_of
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.words import WORDS


class Unsaid(msgspec.Struct, frozen=True):
    """A sentence of a section of the history that says that something is not known."""

    section: str
    text: str


class _UnsaidWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    not_known: Pattern


_COMMA = re.compile("([,，])")
_words = WORDS.section("unsaid", _UnsaidWords)


@functools.lru_cache(maxsize=4096)
def is_not_known(text: str) -> bool:
    """Whether a text says only that something of the history is not known, in whichever language."""
    return _words(language_of([text])).not_known.search(text) is not None


def without_unknown(sentence: str) -> tuple[list[str], str]:
    """Returns what a sentence says is not known, and the rest of it: "on insulin, allergies unknown" has both."""
    if is_not_known(sentence.strip()):
        return [sentence.strip()], ""
    pieces = _COMMA.split(sentence)
    unknown = [piece.strip() for piece in pieces[::2] if is_not_known(piece.strip())]
    if not unknown:
        return [], sentence
    kept = [at for at in range(0, len(pieces), 2) if pieces[at].strip() not in unknown]
    return unknown, "".join("".join(pieces[at - 1 : at + 1]) if n else pieces[at] for n, at in enumerate(kept))
