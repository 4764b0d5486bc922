"""What gives a disease away and is no name of it, in a running text.

An organism that was found, a code of ICD-10, a test or a drug that is for it alone, how a doctor explains it to a
patient: nobody who reports that has named the disease, but who hears it knows which one is meant.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from polyclinic.knowledge.disease_names import running_text as kept_words
from polyclinic.knowledge.disease_names.running_text import KeptGiveaways, KeptPhrase, TextWord, rows, vocabulary
from polyclinic.knowledge.disease_names.spelling import HERE, units
from polyclinic.knowledge.disease_names.vocabulary import with_short_genus
from polyclinic.language.disguises import sound
from polyclinic.language.language import is_chinese
from polyclinic.yaml_files import read_yaml

_FILES = ("giveaways.yaml", "giveaways_2.yaml")
_NOTHING = frozenset(
    (
        "a an the his her my their your its our some is was are were be been being has had have got became become "
        "very quite rather bit too badly now just"
    ).split()
)
_NOTHING_CHINESE = frozenset("的了")
_LEAST_SOUND = 6  # letters of a word that is known by its sound
_IN = frozenset(("in", "on", "of", "at", "to", "from", "within", "inside", "into"))
_CODE = re.compile(
    r"(?<![A-Za-z0-9])([A-Z])(?: (?=\d\d\.\d))?(\d\d)(?:\.?(\d{1,3}(?:[xX]\d{1,3})?)|\.-)?(?![A-Za-z0-9])"
)
_SMALL_CODE = re.compile(r"(?<![A-Za-z0-9])([a-z])(\d\d)\.(\d)(?![A-Za-z0-9])")


class GiveawayRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a file; texts hold several, with ";" between them. The files say what the fields are."""

    en: str = ""
    zh: str = ""
    perhaps: str = ""
    code: str = ""


class Giveaway(NamedTuple):
    """What gives a disease away, as it stands in a text."""

    begin: int  # where it begins; `end` is where it ends
    end: int
    disease: str  # one of its names
    is_sure: bool  # it is said of this disease and no other


@functools.lru_cache(maxsize=1 << 13)
def giveaways(text: str) -> tuple[Giveaway, ...]:
    """Returns what gives some disease away in a text."""
    return tuple(dict.fromkeys((*_by_words(text), *_by_code(text))))


def in_other_sense(text: str) -> Iterator[tuple[int, int]]:
    """Yields where a text has the name of a disease in words that mean something else ("septic tank")."""
    for match in _other_senses().finditer(text):
        yield match.span()


@functools.cache
def _other_senses() -> re.Pattern[str]:
    said = read_yaml(HERE / "other_senses.yaml", dict[str, str])
    english, chinese = ([one.strip() for one in said[key].split(";") if one.strip()] for key in ("en", "zh"))
    words = "|".join(re.escape(one).replace(r"\ ", r"\s+") for one in english)
    return re.compile(rf"\b(?:{words})\b|{'|'.join(map(re.escape, chinese))}", re.IGNORECASE)


def is_code(name: str) -> bool:
    """Whether a name is a code of ICD-10."""
    return _CODE.fullmatch(name.upper()) is not None


def codes_like(code: str, text: str) -> Iterator[tuple[int, int]]:
    """Yields where a text has a code, one of its kinds, or its category."""
    wanted = _plain(_CODE.fullmatch(code.upper()))
    for said, begin, end in _codes(text):
        if said.startswith(wanted) or wanted.startswith(said):
            yield begin, end


def _codes(text: str) -> Iterator[tuple[str, int, int]]:
    for pattern in (_CODE, _SMALL_CODE):
        for match in pattern.finditer(text):
            yield _plain(match), match.start(), match.end()


def _plain(code: re.Match[str] | None) -> str:
    return "" if code is None else "".join(part for part in code.groups() if part).upper()


def _by_code(text: str) -> Iterator[Giveaway]:
    for said, begin, end in _codes(text):
        for code, disease in _table().codes.get(said[:3], ()):
            # Another of its category is near it: F32.1 and F32.9, but B08.4 and B08.5 are two diseases.
            yield Giveaway(begin, end, disease, is_sure=said.startswith(code) or code.startswith(said))


def _by_words(text: str) -> Iterator[Giveaway]:
    phrases, sounds = _table().phrases, _table().sounds
    chinese = is_chinese(text)
    for row in rows(text):
        for word in row:
            for disease in sounds.get(_sound_of(word), ()):
                yield Giveaway(word.begin, word.end, disease, is_sure=True)
        words = _said(row)
        said = tuple(unit for _, unit in words)
        for at, unit in enumerate(said):
            for phrase in phrases.get(unit, ()):
                last = at + len(phrase.rest)
                if said[at + 1 : last + 1] != phrase.rest:
                    continue
                begin, end = words[at][0].begin, words[last][0].end
                if not phrase.written or phrase.written == text[begin:end]:
                    # Among Chinese characters an abbreviation in capitals is the disease's more than anything else.
                    is_sure = phrase.is_sure or (bool(phrase.written) and chinese)
                    yield Giveaway(begin, end, phrase.disease, is_sure)


def _sound_of(word: TextWord) -> str:
    """Returns how a word sounds that is long and that nobody knows; else ""."""
    unit = word.units[0]
    long = len(word.units) == 1 and len(unit) >= _LEAST_SOUND and unit.isascii() and unit.isalpha()
    return sound(unit) if long and vocabulary().single(unit) is None else ""


def _said(row: list[TextWord]) -> list[tuple[TextWord, str]]:
    """Returns the units of a row that say something, each with its word; a place is in something by any word."""
    found = [(word, unit) for word in row for unit in word.units]
    kept = []
    for at, (word, unit) in enumerate(found):
        alone = unit in _NOTHING and (at + 1 == len(found) or found[at + 1][1].isascii())  # "A流" is no article
        if unit not in _NOTHING_CHINESE and not alone:
            kept.append((word, "in" if unit in _IN else unit))
    return kept


def _table() -> KeptGiveaways:
    names = kept_words.kept()
    return read_giveaways() if names is None else names.giveaways


@functools.cache
def read_giveaways() -> KeptGiveaways:
    """Returns what the files say, by the first unit of a phrase and by the category of a code."""
    phrases: dict[str, list[KeptPhrase]] = {}
    codes: dict[str, list[tuple[str, str]]] = {}
    sounds: dict[str, list[str]] = {}
    for disease, row in giveaway_rows():
        for texts, is_sure in ((row.en, True), (row.zh, True), (row.perhaps, False)):
            for written in _with_other_names(filter(None, map(str.strip, texts.split(";")))):
                capitals = written if written.isascii() and written.isalpha() and written.isupper() else ""
                for first, *rest in _orders(tuple(unit for words in rows(written) for _, unit in _said(words))):
                    phrases.setdefault(first, []).append(KeptPhrase(tuple(rest), disease, is_sure, capitals))
                    if is_sure and not rest and first.isalpha() and first.isascii() and len(first) >= _LEAST_SOUND:
                        sounds.setdefault(sound(first), []).append(disease)
        for code in filter(None, map(str.strip, row.code.split(";"))):
            codes.setdefault(code[:3], []).append((code.replace(".", ""), disease))
    return KeptGiveaways(phrases, codes, sounds)


def _orders(said: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Returns the orders in which a phrase is said: an "overactive thyroid" is a thyroid that is overactive."""
    turned = len(said) == 2 and all(unit.isascii() and unit.isalpha() and len(unit) > 3 for unit in said)
    return (said, said[::-1]) if turned else (said,)


def _with_other_names(phrases: Iterable[str]) -> Iterator[str]:
    """Yields phrases, and of an organism all that it is called."""
    words, called = vocabulary(), _names_of_causes()
    for written in phrases:
        yield written
        node = words.words.get(units(written))
        if node is not None and node.kind == "cause":
            yield from called.get(node.atoms[0], ())


@functools.cache
def _names_of_causes() -> dict[str, tuple[str, ...]]:
    words = vocabulary()
    causes = (one for one in words.said if words.kinds.get(one.atom) == "cause")
    return {one.atom: (*one.names, *with_short_genus(one.names)) for one in causes}


def giveaway_rows() -> Iterator[tuple[str, GiveawayRow]]:
    """Yields the rows of the files, each with its disease."""
    for file in _FILES:
        yield from read_yaml(HERE / file, dict[str, GiveawayRow]).items()
