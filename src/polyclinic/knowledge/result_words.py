"""By which words a result is put, beside the knowledge's own: `results.en.yaml` and `results.zh.yaml`."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern, WordLists

_WORDS = WordLists(Path(__file__).with_name("results"))
_NEVER = re.compile("(?!)")


class GeneralResultWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How any result is put: how it came out, that there is none, what denies a finding, and where it comes from."""

    positive: Pattern
    negative: Pattern
    weak: Pattern
    strong: Pattern
    high: Pattern
    low: Pattern
    normal: Pattern
    none: Pattern
    abnormal: Pattern
    lesion: Pattern
    denial: Pattern
    denied_after: Pattern
    divider: Pattern
    specimens: dict[str, Pattern]
    pressure: Pattern
    physical: Pattern
    panels: dict[str, Pattern]


class ItemResultWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one item is named and how its results are put.

    Attributes:
        called: names of it beside the knowledge's.
        unlike: beside these its name means something else.
        where: of which part of the body or of the report it speaks.
        high: a word that names it and says that it is too high ("leukocytosis").
        low: the same for too low.
        normal: the same for normal.
        values: by the id of a value, in which other words that is found.
    """

    called: Pattern = _NEVER
    unlike: Pattern = _NEVER
    where: Pattern = _NEVER
    high: Pattern = _NEVER
    low: Pattern = _NEVER
    normal: Pattern = _NEVER
    values: dict[str, Pattern] = {}


general_words = _WORDS.section("results", GeneralResultWords)
_item_words = _WORDS.section("items", dict[str, ItemResultWords])
_NONE = ItemResultWords()


def item_words(item: str, language: Language) -> ItemResultWords:
    """Returns the words of an item, by its id; none where it has none of its own."""
    return _item_words(language).get(item, _NONE)
