"""A text as it is meant to be read, with where each of its characters came from.

What nobody sees (soft hyphens, joiners of no width) is left out; wide and compatible characters, traditional Chinese
ones, Latin letters with marks, and Cyrillic and Greek letters that look like Latin ones, are what they look like or
stand for. A word that a line's end parts, and words that nothing seen parts, may be read in more than one way.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

_LOOK_ALIKE = str.maketrans("АВЕЅІЈКМНОРСТУХаеѕіјорсухΑΒΕΖΗΙΚΜΝΟΡΤΥΧοıɡ", "ABESIJKMHOPCTYXaesijopcyxABEZHIKMNOPTYXoig")
_UNSEEN = frozenset(("Cf", "Mn", "Me", "Cc"))
_BLANKS = "\t\n\r"
_LATIN = 0x250  # code points below are Latin ones, with their marks
_PARTED = re.compile(r"(?<=[A-Za-z])-\s+(?=[a-z])")
_HYPHENED = re.compile(r"(?<=[A-Za-z]{4})-(?=[a-z]{4})")
_NO_WIDTH = re.compile("[\u200b\u2060\ufeff]")
_RUN_TOGETHER = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")


class Undisguised(NamedTuple):
    """A text as it is read.

    Attributes:
        text: the characters.
        places: where each of them stands in the original, and the original's length behind them.
    """

    text: str
    places: tuple[int, ...] | range

    def original(self, text: str, begin: int, end: int) -> str:
        """Returns what stands in the original `text` from a place in what is read to another."""
        return text[self.places[begin] : self.places[end - 1] + 1]


def undisguised(text: str) -> Undisguised:
    """Returns a text as it is read."""
    if text.isascii():
        return Undisguised(text, range(len(text) + 1))
    simplified = _simplified()
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for one in unicodedata.normalize("NFKD" if ord(character) < _LATIN else "NFKC", character):
            if unicodedata.category(one) in _UNSEEN and one not in _BLANKS:
                continue
            characters.append(simplified.get(one, one))
            places.append(place)
    return Undisguised("".join(characters).translate(_LOOK_ALIKE), (*places, len(text)))


def readings(text: str) -> list[Undisguised]:
    """Returns the ways in which a text may be read: as it stands, with parted words joined, with joined ones parted."""
    found = [undisguised(text)]
    if _PARTED.search(text):
        found.append(_cut(found[0], _PARTED))
    if _HYPHENED.search(found[0].text):
        found.append(_cut(found[0], _HYPHENED))
    if _NO_WIDTH.search(text):
        found.append(undisguised(_NO_WIDTH.sub(" ", text)))
    if _RUN_TOGETHER.search(text):
        found.append(_blanks_at(found[0], _RUN_TOGETHER))
    return found


def _cut(read: Undisguised, what: re.Pattern[str]) -> Undisguised:
    """Returns what is read without what a pattern finds."""
    gone = {place for match in what.finditer(read.text) for place in range(*match.span())}
    kept = [place for place in range(len(read.text)) if place not in gone]
    places = (*(read.places[place] for place in kept), read.places[-1])
    return Undisguised("".join(read.text[place] for place in kept), places)


def _blanks_at(read: Undisguised, what: re.Pattern[str]) -> Undisguised:
    """Returns what is read with a blank wherever a pattern finds a place for one."""
    here = {match.start() for match in what.finditer(read.text)}
    pieces = [(f" {one}" if at in here else one, read.places[at]) for at, one in enumerate(read.text)]
    places = [place for said, place in pieces for _ in said]
    return Undisguised("".join(said for said, _ in pieces), (*places, read.places[-1]))


@functools.cache
def _simplified() -> dict[str, str]:
    lines = (Path(__file__).parent / "traditional.txt").read_text(encoding="utf-8").splitlines()[1:]
    return {
        old: new
        for olds, news in zip(lines[::2], lines[1::2], strict=True)
        for old, new in zip(olds, news, strict=True)
    }
