"""Names of a disease that are not spelled as they should be, in a text: by a slip, by ear, by homophones, in pinyin."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from rapidfuzz.distance import OSA

from polyclinic.knowledge.disease_names.kept_words import vocabulary
from polyclinic.language.language import is_chinese
from polyclinic.language.sounds import heard, is_pinyin, pinyin, sound

LEAST_MISSPELT = 4
"""Letters of a word that may be misspelt."""

_LEAST_SLIP = 6  # letters of a word of which one may be wrong
_ENDING = 3  # letters of an ending: "hyperthyroid", of a hyperthyroidism
_LONG = 9  # letters of a word of which two may be wrong
_LEAST_SOUND = 4
_LONG_SOUND = 7  # sounds of which one may be wrong
_LEAST_PINYIN = 6
_MOST_SYLLABLES = 6
_FEW = 2  # characters of a name, of which one at least must be right, tones and all
_BETWEEN = " -'’"
_WORD = re.compile(r"[A-Za-z]+")


@functools.lru_cache(maxsize=1 << 14)
def is_misspelt(word: str, names: frozenset[str], *, known: bool) -> bool:
    """Whether a word is one of some names but for its end, or, where nobody knows it, for a letter or for its sound."""
    for own in names:
        if len(word) >= _LEAST_SLIP and own.startswith(word) and len(own) - len(word) <= _ENDING:
            return True
        if known or word == own:
            continue
        wrong = 2 if min(len(own), len(word)) >= _LONG else 1
        if min(len(own), len(word)) >= _LEAST_SLIP and OSA.distance(word, own, score_cutoff=wrong) <= wrong:
            return True
        if _sounds_like(word, own):
            return True
    return False


def _sounds_like(word: str, own: str) -> bool:
    one, other = sound(word), sound(own)
    if one == other:
        return len(one) >= _LEAST_SOUND or OSA.distance(word, own) == 1
    return min(len(one), len(other)) >= _LONG_SOUND and one[0] == other[0] and OSA.distance(one, other) == 1


def may_be_chinese(text: str) -> bool:
    """Whether a text has something in Chinese, or what can be pinyin."""
    return is_chinese(text) or bool(_in_pinyin(text))


def written_by_ear(text: str, names: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yields where a text has other characters that sound like a Chinese name, or its pinyin."""
    in_pinyin = _in_pinyin(text)
    for name in names if in_pinyin else ():
        yield from in_pinyin.get(pinyin(name), ())
    if not is_chinese(text):
        return
    for name in names:
        few = len(name) <= _FEW
        sounds, wanted = heard(text, tones=few), heard(name, tones=few)
        at = sounds.find(wanted)
        while at >= 0:
            said = text[at : at + len(name)]
            right = sum(one == other for one, other in zip(said, name, strict=True))
            if said != name and right * 2 >= len(name):
                yield at, at + len(name)
            at = sounds.find(wanted, at + 1)


@functools.lru_cache(maxsize=1 << 12)
def _in_pinyin(text: str) -> dict[str, list[tuple[int, int]]]:
    """Returns where a text has what can be pinyin, by its letters: words in a row, and all that stands within these."""
    found: dict[str, list[tuple[int, int]]] = {}
    words = [word for word in _WORD.finditer(text) if is_pinyin(word[0].casefold())]
    for first, word in enumerate(words):
        letters, end = "", word.start()
        for other in words[first : first + _MOST_SYLLABLES]:
            if len(text[end : other.start()].strip(_BETWEEN)) > 0:
                break
            letters, end = letters + other[0].casefold(), other.end()
            if letters in _all_pinyin():
                found.setdefault(letters, []).append((word.start(), end))
    return found


@functools.cache
def _all_pinyin() -> frozenset[str]:
    """Returns the pinyin of all Chinese names."""
    names = (called for row in vocabulary().said for called in row.names if is_chinese(called))
    return frozenset(letters for name in names if len(letters := pinyin(name.lstrip("=^"))) >= _LEAST_PINYIN)


@functools.cache
def names_by_atom() -> dict[str, tuple[str, ...]]:
    """Returns all that each atom is called, in small letters."""
    return {row.atom: tuple(called.lstrip("=^").casefold() for called in row.names) for row in vocabulary().said}
