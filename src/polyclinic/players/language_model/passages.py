"""Passages that a model copied out of a text: whether they stand in it, and as what."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_SIGNS = "<>≤≥±%‰°"
"""What belongs to the number beside it, also where it was not copied with it."""


def standing(passages: Iterable[str], text: str) -> tuple[str, ...]:
    """Returns those passages that stand in a text, once each and as they stand there.

    Width and case of letters, blanks and punctuation do not count; a passage that begins or ends inside a word or a
    number does not stand there, nor does one without a letter or digit.
    """
    plain, places = _bare(text)
    found: dict[str, None] = {}
    for passage in passages:
        wanted, copied = _bare(passage)
        at = plain.find(wanted) if wanted else -1
        while at >= 0:
            begin, end = places[at], places[at + len(wanted) - 1] + 1
            if not _inside(text, begin) and not _inside(text, end):
                lead, tail = _narrow(passage[: copied[0]]) + _SIGNS, _narrow(passage[copied[-1] + 1 :]) + _SIGNS
                while begin and _narrow(text[begin - 1]) in lead:
                    begin -= 1
                while end < len(text) and _narrow(text[end]) in tail:
                    end += 1
                found[text[begin:end].strip()] = None
                break
            at = plain.find(wanted, at + 1)
    return tuple(found)


def _narrow(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _bare(text: str) -> tuple[str, list[int]]:
    """Returns the letters and digits of a text, and where each of them stands."""
    kept = [(bare, place) for place, char in enumerate(text) for bare in _narrow(char).casefold() if bare.isalnum()]
    return "".join(bare for bare, _ in kept), [place for _, place in kept]


def _inside(text: str, at: int) -> bool:
    """Whether a place is inside a Latin word or a number."""
    before, after = text[at - 1 : at] if at else "", text[at : at + 1]
    if before.isascii() and after.isascii() and before.isalnum() and after.isalnum():
        return True
    if before == ".":
        return after.isdigit() and text[at - 2 : at - 1].isdigit()
    return after == "." and before.isdigit() and text[at + 1 : at + 2].isdigit()
