"""The words of orders, found in text: what each says of an examination, or how it joins what stands beside it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.knowledge.name_table import key_of, words
from polyclinic.language.language import LANGUAGES, Language
from polyclinic.language.word_lists import Pattern, WordLists
from polyclinic.yaml_files import read_yaml

GENERIC, HAND, NEUTRAL, EVERYDAY = "generic", "hand", "neutral", "everyday"
"""What a word may be: "examination"; what a doctor does by hand; what says no more; a concept's word of every day."""


class Term(NamedTuple):
    """A word of the lexicon as it stands in a text, from `start` to `end`: its concepts, and what else it is."""

    text: str
    start: int
    end: int
    concepts: frozenset[str]
    roles: frozenset[str]
    hand: str = ""


class Patterns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands between and around the words of orders; words.en.yaml says of each what it is."""

    joins: Pattern
    fills: Pattern
    anew: Pattern
    more: Pattern
    of: Pattern
    whose: Pattern
    asked: Pattern
    by: Pattern
    guided: Pattern
    no: Pattern
    none: Pattern
    unneeded: Pattern
    undone: Pattern
    clause: Pattern
    nor: Pattern
    done: Pattern
    why: Pattern
    such: Pattern
    told: Pattern
    asks: Pattern
    who: Pattern
    vague: Pattern


class _Meant(NamedTuple):
    concepts: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    hand: str = ""
    capitals: bool = False


class _Others(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    neutral: tuple[str, ...]
    generic: tuple[str, ...]
    everyday: frozenset[str]
    capitals: frozenset[str]


_Texts = dict[str, tuple[str, ...]]

_words = WordLists(Path(__file__).with_name("words"))
_concepts, _compounds, _hands = (_words.section(name, _Texts) for name in ("concepts", "compounds", "hands"))
_others = _words.section("others", _Others)

patterns = _words.section("patterns", Patterns)
"""Returns the patterns of a language."""


def name_of(concept: str, language: Language) -> str:
    """Returns the first of a concept's names in a language."""
    return _concepts(language)[concept][0]


class _Table(NamedTuple):
    entries: Mapping[str, _Meant]
    lengths: Mapping[str, tuple[int, ...]]


@functools.cache
def _table() -> _Table:
    """Reads the words of both languages: a request may mix them."""
    entries: dict[str, _Meant] = {}
    for language in LANGUAGES:
        _add_words(entries, language)
    for language in LANGUAGES:
        capitals = _others(language).capitals
        for text, concepts in _compounds(language).items():
            entries[key_of(text)] = _Meant(frozenset(concepts), capitals=text.casefold() in capitals)
    lengths: dict[str, set[int]] = {}
    for key in entries:
        parts = key.split(" ")
        lengths.setdefault(parts[0], set()).add(len(parts))
    return _Table(entries, {first: tuple(sorted(of, reverse=True)) for first, of in lengths.items()})


def _plural(text: str) -> str:
    """Returns the plural of an English word that takes more than an s; else the word."""
    if not text.isascii() or not text[-1:].islower():
        return text
    if text.endswith(("x", "ch", "sh", "s")):
        return f"{text}es"
    return f"{text[:-1]}ies" if text.endswith("y") and text[-2:-1] not in "aeiou" else text


def _add_words(entries: dict[str, _Meant], language: Language) -> None:
    others = _others(language)
    for concept, texts in _concepts(language).items():
        for text in texts:
            plain = text.casefold()
            roles = frozenset((EVERYDAY,)) if plain in others.everyday else frozenset[str]()
            for key in (key_of(text), key_of(_plural(text))):
                known = entries[key].concepts if key in entries else frozenset[str]()
                entries[key] = _Meant(known | {concept}, roles, capitals=plain in others.capitals)
    for role, texts in ((NEUTRAL, others.neutral), (GENERIC, others.generic)):
        for text in texts:
            entries.setdefault(key_of(text), _Meant(roles=frozenset((role,))))
    for hand, texts in _hands(language).items():
        for text in texts:
            known_as = entries.get(key_of(text), _Meant())
            if not known_as.concepts:
                entries[key_of(text)] = _Meant(roles=known_as.roles - {NEUTRAL} | {HAND}, hand=hand)


def find_words(text: str, *, title: bool = False) -> Sequence[Term]:
    """Returns the words of the lexicon that stand in a text, in order; longer ones win over shorter ones.

    In a `title`, such as the name of a finding, abbreviations that are also words count however they are written.
    """
    table = _table()
    tokens = words(text)
    found: list[Term] = []
    at = 0
    while at < len(tokens):
        length = _longest(tokens, at, text, title=title)
        if length == 2 and _drawn(tokens, at) and _longest(tokens, at + 1, text, title=title) > 1:
            # What is done to blood stands before it: a blood group is looked at, and no blood is "drawn group".
            length = 0
        if length:
            start, end = tokens[at][1], tokens[at + length - 1][2]
            entry = table.entries[_key(tokens, at, length)]
            found.append(Term(text[start:end], start, end, entry.concepts, entry.roles, entry.hand))
        at += length or 1
    return found


_Tokens = Sequence[tuple[str, int, int]]


def _longest(tokens: _Tokens, at: int, text: str, *, title: bool) -> int:
    """Returns how many tokens the longest word has that begins here; 0 where none does."""
    if at >= len(tokens):
        return 0
    table = _table()
    for length in table.lengths.get(tokens[at][0], ()):
        if at + length > len(tokens):
            continue
        entry = table.entries.get(_key(tokens, at, length))
        if entry is None:
            continue
        said = text[tokens[at][1] : tokens[at + length - 1][2]]
        if title or not entry.capitals or any(letter.isupper() for letter in said):
            return length
    return 0


def _key(tokens: _Tokens, at: int, length: int) -> str:
    return " ".join([word for word, _, _ in tokens[at : at + length]])


def _drawn(tokens: _Tokens, at: int) -> bool:
    return "laboratory" in _table().entries[_key(tokens, at, 2)].concepts


PROCEDURE, REGION, MATERIAL, ANALYTE, PANEL = "procedure", "region", "material", "analyte", "panel"

ANYWHERE, BODY = "any", "body"
"""What is looked at in no certain material (a germ), and on the body itself (its temperature)."""

_Parents = Mapping[str, tuple[str, ...]]


class _Concepts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    procedures: dict[str, tuple[str, ...]]
    regions: dict[str, tuple[str, ...]]
    materials: dict[str, tuple[str, ...]]
    analytes: dict[str, dict[str, tuple[str, ...]]]
    panels: dict[str, tuple[str, ...]]
    at: dict[str, tuple[str, ...]]
    signs: dict[str, tuple[str, ...]]


_read = read_yaml(Path(__file__).with_name("concepts.yaml"), _Concepts)
_analytes: _Parents = {name: up for within in _read.analytes.values() for name, up in within.items()}
_parents: _Parents = {**_read.procedures, **_read.regions, **_read.materials, **_analytes}

KINDS: Mapping[str, str] = {
    **dict.fromkeys(_read.procedures, PROCEDURE),
    **dict.fromkeys(_read.regions, REGION),
    **dict.fromkeys(_read.materials, MATERIAL),
    **dict.fromkeys(_analytes, ANALYTE),
    **dict.fromkeys(_read.panels, PANEL),
}
"""Of which kind each concept is."""

AT: _Parents = _read.at
"""Where a procedure is done where nothing else is said."""

SIGNS: _Parents = _read.signs
"""How and where a sign on the body is looked for."""

_MATERIAL_OF = {name: material for material, within in _read.analytes.items() for name in within}


@functools.cache
def above(concept: str) -> frozenset[str]:
    """Returns a concept and all that it is a kind or a part of."""
    return frozenset((concept,)).union(*map(above, _parents.get(concept, ())))


@functools.cache
def parts(panel: str) -> frozenset[str]:
    """Returns a panel with all panels and analytes that belong to it."""
    return frozenset((panel,)).union(*map(parts, _read.panels.get(panel, ())))


@functools.cache
def material_of(concept: str) -> str:
    """Returns the material in which an analyte or a panel is looked at where nothing else is said."""
    if concept in _read.panels:
        return material_of(_read.panels[concept][0])
    return _MATERIAL_OF.get(concept, ANYWHERE)


def related(one: str, other: str) -> bool:
    """Whether two concepts are the same, or one is a kind or a part of the other."""
    return one in above(other) or other in above(one)


def any_related(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether a concept of some is related to one of others."""
    others = tuple(others)
    return any(related(one, other) for one in some for other in others)


def siblings(one: str, other: str) -> bool:
    """Whether two concepts are kinds of the same."""
    return bool(above(one) & above(other))


def is_a(concept: str, *kinds: str) -> bool:
    """Whether a concept is one of these or a kind of one."""
    return not above(concept).isdisjoint(kinds)
