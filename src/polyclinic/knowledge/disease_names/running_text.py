"""A running text as rows of words, each with the units of a name that it is and with where it stands.

A mark ends a row. Initials with points or blanks between them ("C.O.P.D.") are one word, and so is an organism's
genus that is shortened to its letter ("M. tuberculosis") no row of its own.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from polyclinic.knowledge.disease_names.kept_words import vocabulary
from polyclinic.knowledge.disease_names.spelling import units
from polyclinic.language.language import CHINESE

_TOKEN = re.compile(rf"[A-Za-z0-9]+|[{CHINESE}]")
_SPELT = re.compile(
    r"\b(?:(?:[A-Za-z][.·-]){2,24}[A-Za-z]\b|(?:[A-Za-z][.·-]?\s){2,24}[A-Za-z]\b|[A-Z]\.\s?[A-Z]\b(?=\.))"
)
_JOINS = re.compile(r"(?:\s+|\s?[-/’'·(]\s?|['’]s\s+)?")
_GENUS = re.compile(r"\.\s?(?=[a-z]{4})")
_APOSTROPHES = frozenset("'’`")
_LEAST_SPELT = 2  # letters of initials


class TextWord(NamedTuple):
    """A word of a text.

    Attributes:
        begin: where it begins; `end` is where it ends.
        units: what it is in a name.
        spelt: its letters, where it is written letter by letter; else "".
    """

    begin: int
    end: int
    units: tuple[str, ...]
    spelt: str


@functools.lru_cache(maxsize=1 << 10)
def rows(text: str) -> tuple[list[TextWord], ...]:
    """Returns the words that stand together, with no mark between them, row by row."""
    return tuple(_rows(text))


def _rows(text: str) -> Iterator[list[TextWord]]:
    spelt = {begin: (end, letters) for begin, end, letters in map(_initials, _SPELT.finditer(text))}
    row: list[TextWord] = []
    at = 0
    while match := _TOKEN.search(text, at):
        begin, end = match.span()
        if row and match[0] == "s" and begin == row[-1].end + 1 and text[begin - 1] in _APOSTROPHES:
            at = end
            continue
        letters = ""
        if begin in spelt:
            end, letters = spelt[begin]
        if row and _JOINS.fullmatch(text, at, begin) is None and not _is_genus(text, row[-1], begin):
            yield row
            row = []
        written = letters or match[0]
        row.append(TextWord(begin, end, units(written) or (written.casefold(),), letters))
        at = end
    if row:
        yield row


def _is_genus(text: str, before: TextWord, begin: int) -> bool:
    letter = before.end - before.begin == 1 and text[before.begin].isupper()
    mark = _GENUS.match(text, before.end) if letter else None
    return mark is not None and mark.end() == begin


def _initials(found: re.Match[str]) -> tuple[int, int, str]:
    """Returns where initials begin and end and what they are; of letters in a row, the most that are a name.

    "S. L. E. I am tired" goes on with a word of one letter.
    """
    places = [at for at in range(*found.span()) if found.string[at].isalpha()]
    letters = "".join(found.string[at] for at in places).upper()
    words = vocabulary()
    for size in range(len(letters), _LEAST_SPELT - 1, -1):
        for first in range(len(letters) - size + 1):
            part = letters[first : first + size]
            if words.single("".join(units(part))) is not None or units(part) in words.whole:
                return places[first], places[first + size - 1] + 1, part
    return found.start(), found.end(), letters
