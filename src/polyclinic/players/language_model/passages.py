"""Passages that a model copied out of a text: whether they stand in it, as what, and which is nearest to one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from rapidfuzz import fuzz

_SIGNS = "<>≤≥±%‰°"
"""What belongs to the number beside it, also where it was not copied with it."""

_CLAUSE = re.compile(r"(?:[^，,。；;！!？?\n.]|\.(?=\S))+[，,。；;！!？?\n.]*\s*")
_ALIKE = 60.0  # percent of the letters that a clause at the edge must share with what was said


def nearest(said: str, text: str) -> str:
    """Returns the passage of a text that is most like what was said: whole clauses of it; "" of a text without any.

    It is for what a model gave in other words than the text's, so it is never empty where the text says something.
    """
    clauses = [match for match in _CLAUSE.finditer(text) if any(letter.isalnum() for letter in match[0])]
    if not clauses or not said.strip():
        return clauses[0][0].strip().removeprefix("- ") if clauses else ""
    wanted, low = said.casefold(), text.casefold()
    found = fuzz.partial_ratio_alignment(wanted, low) if len(said) <= len(text) else None
    begin, end = (0, len(text)) if found is None else (found.dest_start, found.dest_end)
    near = [one for one in clauses if one.start() < end and one.end() > begin] or clauses
    alike = [fuzz.partial_ratio(one[0].strip().casefold(), wanted) for one in near]
    kept = [place for place, score in enumerate(alike) if score >= _ALIKE] or [
        max(range(len(near)), key=alike.__getitem__)
    ]
    return text[near[kept[0]].start() : near[kept[-1]].end()].strip().removeprefix("- ")


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
