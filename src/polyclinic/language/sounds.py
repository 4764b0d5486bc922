"""How words sound: what is written by ear is nearly always read rightly aloud.

English words have a key that is one for most ways of writing a sound ("newmonia", "asma"). Chinese characters have
their syllables, with tones and without.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

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
