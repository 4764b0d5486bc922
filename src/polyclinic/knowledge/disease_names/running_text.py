"""A running text as rows of words, each with the units of a name that it is and with where it stands.

A mark ends a row. Initials with points or blanks between them ("C.O.P.D.") are one word, and so is an organism's
genus that is shortened to its letter ("M. tuberculosis") no row of its own.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import whole
from polyclinic.fingerprints import of_parts
from polyclinic.knowledge.disease_names.spelling import units
from polyclinic.knowledge.disease_names.vocabulary import NameVocabulary
from polyclinic.language.language import CHINESE
from polyclinic.seals import SEAL_BYTES, seal
from polyclinic.user_folders import cache_folder

_MADE_OF = ("knowledge/disease_names", "language", "yaml_files.py")

_NAME = re.compile("names-[0-9a-f]{16}")
_OLD = 24 * 60 * 60.0  # seconds after which a version that nobody has used is taken for one of the past

Definition = tuple[frozenset[str], str]
"""What a disease is by its parts, and which it is."""


class LearntNames(msgspec.Struct, frozen=True, array_like=True):
    """What the names of diseases say of one another; see `NameReader`."""

    parents: dict[str, frozenset[str]]
    usual: dict[str, frozenset[str]]
    definitions: dict[str, list[Definition]]


class KeptPhrase(msgspec.Struct, frozen=True, array_like=True):
    """What gives a disease away, by its units behind the first."""

    rest: tuple[str, ...]
    disease: str
    is_sure: bool  # it is said of this disease and no other
    written: str = ""  # how it must be written; "" for in any way


class KeptGiveaways(msgspec.Struct, frozen=True, array_like=True):
    """What gives diseases away."""

    phrases: dict[str, list[KeptPhrase]]  # by their first unit
    codes: dict[str, list[tuple[str, str]]]  # with their diseases, by their category
    sounds: dict[str, list[str]]  # the diseases that long words give away, by how these sound


class _KeptNames(msgspec.Struct, frozen=True, array_like=True):
    words: NameVocabulary
    learnt: LearntNames
    giveaways: KeptGiveaways


@functools.cache
def vocabulary() -> NameVocabulary:
    """Returns the words, read once."""
    names = kept()
    return NameVocabulary().read() if names is None else names.words


def keep(words: NameVocabulary, learnt: LearntNames, giveaways: KeptGiveaways) -> None:
    """Keeps them for the next process, where that can be, in place of those of other versions."""
    with contextlib.suppress(BadInput, OSError, RuntimeError):
        place = _place()
        place.parent.mkdir(parents=True, exist_ok=True)
        with whole(place) as temporary:
            raw = msgspec.msgpack.encode(_KeptNames(words, learnt, giveaways))
            temporary.write_bytes(seal(raw) + raw)
        now = time.time()
        for other in place.parent.glob("names-*"):
            if other != place and _NAME.fullmatch(other.name) and now - other.stat().st_mtime > _OLD:
                other.unlink(missing_ok=True)


@functools.cache
def kept() -> _KeptNames | None:
    """Returns what another process kept, or None where that cannot be read."""
    try:
        place = _place()
        whole_file = place.read_bytes()
        told, raw = whole_file[:SEAL_BYTES], whole_file[SEAL_BYTES:]
        # A word that says something else would grade and withhold otherwise, and nobody would know.
        read = msgspec.msgpack.decode(raw, type=_KeptNames) if told == seal(raw) else None
        if read is not None and time.time() - place.stat().st_mtime > _OLD / 2:
            with contextlib.suppress(OSError):
                os.utime(place)
        return read
    except (OSError, RuntimeError, msgspec.DecodeError):  # a user without a home is a RuntimeError
        return None


def _place() -> Path:
    return cache_folder() / f"names-{of_parts(*_MADE_OF)}"


_TOKEN = re.compile(rf"[A-Za-z0-9]+|[{CHINESE}]")
_SPELT = re.compile(
    r"\b(?:(?:[A-Za-z][.·-]){2,24}[A-Za-z]\b|(?:[A-Za-z][.·-]?\s){2,24}[A-Za-z]\b|[A-Z]\.\s?[A-Z]\b(?=\.))"
)
_JOINS = re.compile(r"(?:\s+|\s?[-/’'·(]\s?|['’]s\s+)?")
_GENUS = re.compile(r"\.\s?(?=[a-z]{4})")
_APOSTROPHES = frozenset("'’`")
_LEAST_SPELT = 2  # letters of initials


class TextWord(NamedTuple):
    """A word of a text."""

    begin: int  # where it begins; `end` is where it ends
    end: int
    units: tuple[str, ...]  # what it is in a name
    spelt: str  # its letters, where it is written letter by letter; else ""


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
    """Returns where initials begin and end and what they are; of letters in a row, the most that are a name."""
    places = [at for at in range(*found.span()) if found.string[at].isalpha()]
    letters = "".join(found.string[at] for at in places).upper()
    words = vocabulary()
    for size in range(len(letters), _LEAST_SPELT - 1, -1):
        for first in range(len(letters) - size + 1):
            part = letters[first : first + size]
            if words.single("".join(units(part))) is not None or units(part) in words.whole:
                return places[first], places[first + size - 1] + 1, part
    return found.start(), found.end(), letters
