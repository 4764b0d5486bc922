"""A text as it is meant to be read, with where each of its characters came from.

What nobody sees (soft hyphens, joiners of no width) is left out; wide and compatible characters, traditional Chinese
ones, and Cyrillic and Greek letters that look like Latin ones, are what they look like or stand for.
"""

from __future__ import annotations

import functools
import unicodedata
from pathlib import Path
from typing import NamedTuple

_LOOK_ALIKE = str.maketrans("АВЕЅІЈКМНОРСТУХаеѕіјорсухΑΒΕΖΗΙΚΜΝΟΡΤΥΧοıɡ", "ABESIJKMHOPCTYXaesijopcyxABEZHIKMNOPTYXoig")
_UNSEEN = frozenset(("Cf", "Mn", "Me", "Cc"))
_BLANKS = "\t\n\r"


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
        for one in unicodedata.normalize("NFKC", character):
            if unicodedata.category(one) in _UNSEEN and one not in _BLANKS:
                continue
            characters.append(simplified.get(one, one))
            places.append(place)
    return Undisguised("".join(characters).translate(_LOOK_ALIKE), (*places, len(text)))


@functools.cache
def _simplified() -> dict[str, str]:
    lines = (Path(__file__).parent / "traditional.txt").read_text(encoding="utf-8").splitlines()[1:]
    return {
        old: new
        for olds, news in zip(lines[::2], lines[1::2], strict=True)
        for old, new in zip(olds, news, strict=True)
    }
