"""A text as it is meant to be read, with where each of its characters came from.

What nobody sees (soft hyphens, joiners of no width) is left out; wide and compatible characters, traditional Chinese
ones, Latin letters with marks, and Cyrillic and Greek letters that look like Latin ones, are what they look like or
stand for. A word that a line's end parts, and words that nothing seen parts, may be read in more than one way.

How words sound is here too, as what is written by ear is nearly always read rightly aloud. English words have a key
that is the same for most ways of writing a sound ("newmonia", "asma"). Chinese characters have their syllables, with
and without tones.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

_RULES = tuple(
    (re.compile(found), instead)
    for found, instead in (
        (r"^(?:p(?=[nst])|[gkm](?=n))", ""),
        ("^x", "s"),
        ("rrh|rh", "r"),
        ("ph", "f"),
        ("sthm", "sm"),
        ("th", "t"),
        ("sc(?=[eiy])", "s"),
        ("sch|ch|ck|qu|q", "k"),
        ("c(?=[eiy])", "s"),
        ("c", "k"),
        ("x", "ks"),
        ("z", "s"),
        ("ew|eu|ue|oo|ou|ow", "u"),
        ("au|aw", "o"),
        ("ae|oe|ee|ea|ei|ie|ay|ey|ai", "e"),
        ("y", "i"),
        ("(?:er|or|ar|re|ur)$", "a"),
        (r"(.)\1+", r"\1"),
        ("(?<=..)e$", ""),
    )
)


@functools.lru_cache(maxsize=1 << 14)
def sound(word: str) -> str:
    """Returns the key of an English word in small letters, one for most ways of writing what is heard."""
    for found, instead in _RULES:
        word = found.sub(instead, word)
    return word


@functools.cache
def _syllables() -> dict[str, str]:
    lines = (Path(__file__).parent / "pinyin.txt").read_text(encoding="utf-8").splitlines()[1:]
    return {character: syllable for syllable, row in map(str.split, lines) for character in row}


@functools.cache
def _signs() -> dict[str, str]:
    """Returns a sign for every syllable, so that how a text sounds can be searched as a text."""
    told = sorted({one for syllable in _syllables().values() for one in (syllable, syllable[:-1])})
    return {syllable: chr(0xF0000 + number) for number, syllable in enumerate(told)}


@functools.lru_cache(maxsize=1 << 13)
def heard(text: str, *, tones: bool) -> str:
    """Returns a text with a sign for the syllable in place of each Chinese character, with its tone or without it."""
    syllables, signs = _syllables(), _signs()
    return "".join(
        signs[syllable if tones else syllable[:-1]] if (syllable := syllables.get(one)) else one for one in text
    )


@functools.lru_cache(maxsize=1 << 13)
def pinyin(name: str) -> str:
    """Returns the syllables of a Chinese name in Latin letters, without tones and blanks; "" where one is not known."""
    found = [_syllables().get(one, "") for one in name]
    return "".join(one[:-1] for one in found) if all(found) else ""


@functools.lru_cache(maxsize=1 << 13)
def is_pinyin(letters: str) -> bool:
    """Whether letters are Chinese syllables."""
    return _of_syllables().fullmatch(letters) is not None


@functools.cache
def _of_syllables() -> re.Pattern[str]:
    syllables = sorted({syllable[:-1] for syllable in _syllables().values()}, key=len, reverse=True)
    return re.compile(f"(?:{'|'.join(syllables)})+")


_LOOK_ALIKE = str.maketrans("АВЕЅІЈКМНОРСТУХаеѕіјорсухΑΒΕΖΗΙΚΜΝΟΡΤΥΧοıɡ", "ABESIJKMHOPCTYXaesijopcyxABEZHIKMNOPTYXoig")
_UNSEEN = frozenset(("Cf", "Mn", "Me", "Cc"))
_BLANKS = "\t\n\r"
_LATIN = 0x250  # code points below are Latin ones, with their marks
_PARTED = re.compile(r"(?<=[A-Za-z])-\s+(?=[a-z])")
_HYPHENED = re.compile(r"(?<=[A-Za-z]{4})-(?=[a-z]{4})")
_NO_WIDTH = re.compile("[\u200b\u2060\ufeff]")
_RUN_TOGETHER = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")


class Undisguised(NamedTuple):
    """A text as it is read."""

    text: str  # the characters
    places: tuple[int, ...] | range  # where each of them stands in the original, and the original's length behind them

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
        read = found[0]
        here = {match.start() for match in _RUN_TOGETHER.finditer(read.text)}
        pieces = [(f" {one}" if at in here else one, read.places[at]) for at, one in enumerate(read.text)]
        places = [place for said, place in pieces for _ in said]
        found.append(Undisguised("".join(said for said, _ in pieces), (*places, read.places[-1])))
    return found


def _cut(read: Undisguised, what: re.Pattern[str]) -> Undisguised:
    """Returns what is read without what a pattern finds."""
    gone = {place for match in what.finditer(read.text) for place in range(*match.span())}
    kept = [place for place in range(len(read.text)) if place not in gone]
    places = (*(read.places[place] for place in kept), read.places[-1])
    return Undisguised("".join(read.text[place] for place in kept), places)


@functools.cache
def _simplified() -> dict[str, str]:
    lines = (Path(__file__).parent / "traditional.txt").read_text(encoding="utf-8").splitlines()[1:]
    return {
        old: new
        for olds, news in zip(lines[::2], lines[1::2], strict=True)
        for old, new in zip(olds, news, strict=True)
    }
