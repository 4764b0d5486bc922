"""Which items of the knowledge a text names, as reports do: by names, abbreviations, samples and examinations."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.knowledge.entries import Examination, Item
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.name_table import words
from polyclinic.knowledge.names import Names
from polyclinic.knowledge.orders.meaning import SAME, closeness, title_of
from polyclinic.language.language import LANGUAGES, Language, is_chinese
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


SAMPLED = frozenset(("laboratory", "microbiology"))
"""Kinds of examinations that look at a sample."""

_LOOKS = frozenset(("imaging", "endoscopy", "function"))


class KnownItem(NamedTuple):
    """An item, its examination, of which samples it is, and by which words both go."""

    examination: Examination
    item: Item
    sample: frozenset[str]
    name_words: frozenset[str]


class ItemMention(NamedTuple):
    """Where a name stands in a text, and whose it is; `side` is what the word says too: "high", "low" or "normal"."""

    start: int
    end: int
    items: tuple[KnownItem, ...]
    side: str = ""


class ItemNames:
    """The names of the items of a knowledge, as reports use them; made once."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._names = Names(knowledge)

    @functools.cached_property
    def items(self) -> tuple[KnownItem, ...]:
        """All items, with what they are samples of and by which words their examination goes."""
        return tuple(
            KnownItem(
                examination,
                item,
                samples_of(f"{examination.name.en} {item.name.en}", "en")
                if examination.kind in SAMPLED
                else frozenset(),
                frozenset(w for name in (*item.names(), *examination.names()) for w, _, _ in words(name)),
            )
            for examination in self._knowledge.examinations.values()
            for item in examination.items
        )

    @functools.cached_property
    def _called(self) -> dict[Language, list[tuple[re.Pattern[str], KnownItem, str]]]:
        return {language: list(self._patterns(language)) for language in LANGUAGES}

    def _patterns(self, language: Language) -> Iterator[tuple[re.Pattern[str], KnownItem, str]]:
        for known in self.items:
            own = item_words(known.item.id, language)
            names = sorted(known.item.called(language), key=len, reverse=True)
            edges = [re.escape(n) if is_chinese(n) else rf"(?<![A-Za-z]){re.escape(n)}(?![A-Za-z])" for n in names]
            if known.item.numeric or own.called.pattern != "(?!)" or "negative" in known.item.values:
                yield re.compile("|".join(edges), re.IGNORECASE), known, ""
                yield own.called, known, ""
            for side in ("high", "low", "normal"):
                yield getattr(own, side), known, side

    def mentions(self, text: str, language: Language) -> list[ItemMention]:
        """Returns where items are named in a text; of names that overlap the longest, which may be that of several."""
        spans: dict[tuple[int, int, str], list[KnownItem]] = {}
        for pattern, known, side in self._called[language]:
            for match in pattern.finditer(text):
                if match.end() > match.start():
                    spans.setdefault((match.start(), match.end(), side), []).append(known)
        kept: list[ItemMention] = []
        for (start, end, side), items in sorted(spans.items(), key=lambda s: (s[0][0] - s[0][1], s[0])):
            if all(end <= other.start or start >= other.end for other in kept):
                kept.append(ItemMention(start, end, tuple({k.item.id: k for k in items}.values()), side))
        return sorted(kept, key=lambda mention: mention.start)

    def examinations(self, title: str) -> frozenset[str]:
        """Returns the ids of the examinations that a title names."""
        keys = {key for named in self._names.find(title) for key in named.keys} | self._names.keys(title)
        named = {key.removeprefix("examination:") for key in keys if key.startswith("examination:")}
        if named:
            return frozenset(named)
        # Under no name of its own it may still be the same procedure in the same region ("renal ultrasound").
        meant = title_of(title, "").whole
        if not (meant.procedures and meant.regions):
            return frozenset()
        return frozenset(
            e.id
            for e in self._knowledge.examinations.values()
            if e.kind in _LOOKS and any(closeness(meant, title_of(name, "")) == SAME for name in e.names())
        )


def samples_of(text: str, language: Language) -> frozenset[str]:
    """Returns of which samples a text speaks."""
    return frozenset(name for name, pattern in general_words(language).specimens.items() if pattern.search(text))
