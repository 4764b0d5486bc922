"""Findings in others' words, read as what they say about the items of the knowledge.

A finding names an examination and an item in its own words ("Rapid antigen test", "Influenza A") and has a value in its
own form ("Positive", "12,300/mm3", "elevated", "infiltrate in the right lower lobe"). Read are: which item is meant, by
name, sample and examination; and what is said of it: a number in any unit that can be converted, an interval ("high"
is above the reference range), or one or more of the item's own wordings. What cannot be read stays unread; nothing is
guessed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from math import inf
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.cases.record import Finding
from polyclinic.knowledge.entries import Examination, Item
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.name_table import words
from polyclinic.knowledge.names import names_of
from polyclinic.knowledge.orders.concepts import SAME, closeness, title_of
from polyclinic.knowledge.quantities import in_unit_of, quantities, word_for
from polyclinic.language.language import LANGUAGES, Language, is_chinese
from polyclinic.language.word_lists import Pattern, WordLists

_WORDS = WordLists(Path(__file__).with_name("results"))
_NEVER = re.compile("(?!)")


class ItemResultWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one item is named and how its results are put."""

    called: Pattern = _NEVER  # names of it beside the knowledge's
    unlike: Pattern = _NEVER  # beside these its name means something else
    where: Pattern = _NEVER  # of which part of the body or of the report it speaks
    high: Pattern = _NEVER  # a word that names it and says that it is too high ("leukocytosis")
    low: Pattern = _NEVER  # the same for too low
    normal: Pattern = _NEVER  # the same for normal
    values: dict[str, Pattern] = {}  # by the id of a value, in which other words that is found


general_words = _WORDS.section("results", dict[str, Pattern])
_specimens = _WORDS.section("specimens", dict[str, Pattern])
panels_of = _WORDS.section("panels", dict[str, Pattern])
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


def samples_of(text: str, language: Language) -> frozenset[str]:
    """Returns of which samples a text speaks."""
    return frozenset(name for name, pattern in _specimens(language).items() if pattern.search(text))


_PRESSURE = re.compile(r"(?<!\d)(\d{2,3})\s*/\s*(\d{2,3})(?!\d)")
_LIST_END = re.compile(r"\s*(?:and|or|nor)\b", re.IGNORECASE)
_SAID_OF = re.compile(r"\b(?:for|of|to)\s*(?:the\s*)?$", re.IGNORECASE)
_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")
_STOP = re.compile(r"[;。；\n]|\.(?!\d)|,\s(?=\w+\s)")
_BARE = 3  # words of a value that says only how something came out ("positive", "not present")


class ItemReading(NamedTuple):
    """What a finding says of an item: a number, an interval (`low` below `high`), or that it is one of its wordings.

    `values` are ids of wordings; empty where the item is a number.
    """

    examination: str
    item: str
    low: float = -inf
    high: float = inf
    values: frozenset[str] = frozenset()

    def is_usual(self, item: Item) -> bool:
        """Whether that is what people without that trouble have."""
        if self.values:
            return self.values == {next(iter(item.values))}
        least, most = item.low if item.low is not None else -inf, item.high if item.high is not None else inf
        return least <= self.low and self.high <= most


class ReadFinding(NamedTuple):
    """What was read in a finding."""

    readings: tuple[ItemReading, ...] = ()  # an item at most once; none where nothing could be read
    is_result: bool = True  # it has a result at all; false where the record says that there is none ("pending")
    is_strange: bool = False  # nothing was read, and it tells of something wrong that the knowledge has no words for


class ResultReader:
    """Reads findings in any words; made once for a knowledge."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._names = names_of(knowledge)
        self._read = functools.lru_cache(maxsize=1 << 12)(self._read_anew)

    def read(self, finding: Finding) -> ReadFinding:
        """Returns what a finding says about the items of the knowledge."""
        return self._read(finding)

    def _read_anew(self, finding: Finding) -> ReadFinding:
        text = finding.value_text if not finding.unit else f"{finding.value_text} {finding.unit}"
        language: Language = "zh" if is_chinese(f"{finding.examination}{finding.item}{text}") else "en"
        say = general_words(language)
        if say["none"].search(text) and not any(ch.isdigit() for ch in text):
            return ReadFinding(is_result=False)
        one = _OneFinding(self, finding.examination, finding.item, text, language)
        found: dict[str, ItemReading] = {}
        for reading in one.readings():
            found.setdefault(reading.item, reading)
        if found:
            return ReadFinding(tuple(found.values()))
        return ReadFinding(is_strange=one.is_strange())

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


class _OneFinding:
    """One finding, as it is read."""

    def __init__(self, names: ResultReader, examination: str, item: str, text: str, language: Language) -> None:
        self._names, self._language = names, language
        self._say = general_words(language)
        self._outer, self._inner, self._text = examination, item, text
        self._title = f"{examination}: {item}" if item else examination
        self._named = names.examinations(self._title)
        self._sample = samples_of(self._title, language)
        kinds = {known.examination.kind for known in names.items if known.examination.id in self._named}
        # "sputum examination" is none of the body, whatever its name sounds like.
        self.is_physical = kinds == {"physical"} if kinds else bool(self._say["physical"].search(examination))

    def readings(self) -> Iterator[ItemReading]:
        """Yields what is read, an item perhaps more than once, the surest first."""
        yield from self._pressures()
        titled = self._names.mentions(self._inner, self._language) or self._names.mentions(self._outer, self._language)
        for mention in titled[-1:]:
            known = self._meant(mention)
            reading = None if known is None else self._result(known, self._text)
            if reading is not None:
                yield reading
                return
        found = [*self._named_in_text(), *self._looked_at()]
        yield from found
        if not found and self._is_normal(self._text) and not any(ch.isdigit() for ch in self._text):
            yield from self._panel()

    def is_strange(self) -> bool:
        """Whether it tells of something wrong that the knowledge has no words for."""
        if self.is_physical or self._is_normal(self._text):
            return False
        say, text = self._say, self._text
        # Of what the knowledge has too, an item that it has not ("AST") may well be off in its diseases.
        raised = () if self._named else (say["positive"], say["high"], say["low"], say["abnormal"])
        found = (pattern.search(text) for pattern in (*raised, say["lesion"]))
        return any(match is not None and not self._is_denied(text, *match.span()) for match in found)

    # Which item is meant.

    def _meant(self, mention: ItemMention) -> KnownItem | None:
        """Returns the item that a name stands for here: of this sample, and the nearest by the examination's words."""
        here = {word for word, _, _ in words(self._title)} | {word for word, _, _ in words(self._text)}
        fitting = [k for k in mention.items if self._fits(k)]
        if not fitting:
            return None
        return max(fitting, key=lambda k: (k.examination.id in self._named, len(k.name_words & here)))

    def _fits(self, known: KnownItem) -> bool:
        if item_words(known.item.id, self._language).unlike.search(self._title):
            return False
        if self.is_physical:
            return known.examination.kind in ("physical", "function")
        if known.examination.kind in SAMPLED:
            return bool(known.sample & self._sample) if self._sample or known.sample else True
        return True

    # What is said of it.

    def _result(self, known: KnownItem, text: str, before: str = "") -> ItemReading | None:
        """Returns what a text says of an item that is named beside it; `before` stands before the name."""
        if known.item.numeric:
            return self._number(known, text) or self._side(known, text) or self._side(known, before)
        # "positive for influenza A and negative for ...": what stands behind the name is said of another.
        for told in (before,) if _SAID_OF.search(before) else (text, before):
            value = self._ordinal(known.item, told)
            if value:
                return ItemReading(known.examination.id, known.item.id, values=value)
        return self._wording(known, text)

    def _number(self, known: KnownItem, text: str) -> ItemReading | None:
        for quantity in quantities(text):
            ends = in_unit_of(quantity, known.item)
            if ends is not None:
                return ItemReading(known.examination.id, known.item.id, *ends)
        return None

    def _side(self, known: KnownItem, text: str) -> ItemReading | None:
        """Returns that a number is above, below or within its reference range."""
        say = self._say
        sides = {"high": [say["high"], *([say["positive"]] if known.item.low is None else [])], "low": [say["low"]]}
        for side, patterns in sides.items():
            for match in (found for pattern in patterns if (found := pattern.search(text)) is not None):
                if not self._is_denied(text, *match.span()) and not say["negative"].search(text):
                    return self._sided(known, side)
        return self._sided(known, "normal") if self._is_normal(text) else None

    def _sided(self, known: KnownItem, side: str) -> ItemReading | None:
        low, high = known.item.low, known.item.high
        limits = {"high": (high, inf), "low": (-inf, low)}.get(side, (-inf if low is None else low, high or inf))
        if limits[0] is None or limits[1] is None:
            return None
        return ItemReading(known.examination.id, known.item.id, limits[0], limits[1])

    def _is_normal(self, text: str) -> bool:
        abnormal = self._say["abnormal"].search(text)
        if abnormal is not None and not self._is_denied(text, *abnormal.span()):
            return False
        return bool(self._say["normal"].search(text) or self._say["negative"].search(text))

    def _ordinal(self, item: Item, text: str) -> frozenset[str]:
        """Returns which of an item's wordings a result in degrees means: negative, positive, traces, three plus."""
        say, known = self._say, set(item.values)
        for quantity in quantities(text):
            word = word_for(quantity, item)
            if word is not None:
                return frozenset((word,))
        if "negative" not in known:
            return frozenset()
        if say["negative"].search(text) or say["normal"].search(text):
            return frozenset(("negative",))
        there = frozenset(known - {"negative"})
        if say["strong"].search(text):
            return there & {"strong", "positive"} or there
        if say["weak"].search(text):
            return there & {"trace", "positive"} or there
        return there if say["positive"].search(text) or say["high"].search(text) else frozenset()

    def _wording(self, known: KnownItem, text: str) -> ItemReading | None:
        """Returns which of an item's own wordings a text holds in other words; the normal one where all is denied."""
        item = known.item
        normal, *_ = item.values
        own = item_words(item.id, self._language).values
        spans: list[tuple[int, int, str, bool]] = []
        for value, name in item.values.items():
            whole = re.escape(name.get(self._language))
            pattern = own.get(value)
            for found in (re.compile(whole, re.IGNORECASE), *((pattern,) if pattern is not None else ())):
                # A wording that itself denies something ("absent") is not denied by that.
                denying = self._say["denial"].search(found.pattern) is not None
                spans += [
                    (m.start(), m.end(), value, self._is_denied(text, *m.span(), denying=denying))
                    for m in found.finditer(text)
                ]
        # A longer wording says what a shorter one that overlaps it says, and more.
        longest = [
            s for s in spans if not any(o[0] < s[1] and s[0] < o[1] and o[1] - o[0] > s[1] - s[0] for o in spans)
        ]
        there = frozenset(value for _, _, value, denied in longest if value != normal and not denied)
        if not there and (longest or self._is_normal(text)):
            there = frozenset((normal,))
        return ItemReading(known.examination.id, item.id, values=there) if there else None

    def _is_denied(self, text: str, start: int, end: int, *, denying: bool = False) -> bool:
        """Whether what stands there is denied: in its clause, or as part of a list that begins with a denial."""
        denied, at = False, 0
        clauses = list(self._clauses(text))
        for number, (begin, stop) in enumerate(clauses):
            clause = text[begin:stop]
            within = begin <= start < stop
            denial = self._say["denial"].search(clause)
            if text[at:begin].strip(" ") != ",":
                denied = False
            in_list = any(_LIST_END.match(text[b:s]) for b, s in clauses[number : number + 4])
            denied = denied and (in_list or (clause.isascii() and len(clause.split()) == 1))
            if within:
                before = denial is not None and begin + denial.start() < (start if denying else end)
                after = self._say["denied_after"].match(text[end:stop])
                return bool(denied or before or after)
            denied, at = denied or denial is not None, stop
        return False

    def _clauses(self, text: str) -> Iterator[tuple[int, int]]:
        at = 0
        for match in self._say["divider"].finditer(text):
            yield at, match.start()
            at = match.end()
        yield at, len(text)

    # Where it is named.

    def _named_in_text(self) -> Iterator[ItemReading]:
        """Yields what the value itself names and says: "WBC 15.2 (high), CRP elevated", "positive for influenza A"."""
        mentions = self._names.mentions(self._text, self._language)
        for number, mention in enumerate(mentions):
            known = self._meant(mention)
            if known is None:
                continue
            begin = mentions[number - 1].end if number else 0
            stop = mentions[number + 1].start if number + 1 < len(mentions) else len(self._text)
            if mention.side:
                if known.examination.id in self._named or self.is_physical:
                    denied = self._is_denied(self._text, mention.start, mention.end)
                    yield from _some(self._sided(known, "normal" if denied else mention.side))
                continue
            before = re.split(r"[.;,，。；]", self._text[begin : mention.start])[-1]
            yield from _some(self._result(known, _STOP.split(self._text[mention.end : stop])[0], before))

    def _looked_at(self) -> Iterator[ItemReading]:
        """Yields what is told of what is looked at without its name: "infiltrate in the right lower lobe"."""
        bare = len(words(self._text)) <= _BARE and bool(
            self._say["positive"].search(self._text) or self._say["negative"].search(self._text)
        )
        text = f"{self._inner} {self._text}" if bare and self._inner else self._text
        own_name = self._inner.casefold()
        items = [k for k in self._names.items if not k.item.numeric and "negative" not in k.item.values]
        called = [k for k in items if own_name in {name.casefold() for name in k.item.names()}]
        for known in called or self._told_apart(items):
            own = item_words(known.item.id, self._language)
            if called:
                yield from _some(self._wording(known, text))
            elif own.unlike.search(self._title):
                continue
            elif self.is_physical:
                if known.examination.kind not in ("physical", "function", "endoscopy"):
                    continue
                if own.where.search(self._title):
                    yield from _some(self._wording(known, text))
                elif not self._inner:
                    sentences = [s for s in re.split(r"[.。;；\n]", text) if own.where.search(s)]
                    yield from _some(self._wording(known, ". ".join(sentences)) if sentences else None)
            elif known.examination.id in self._named:
                yield from _some(self._wording(known, text))

    def _told_apart(self, items: list[KnownItem]) -> list[KnownItem]:
        """Returns of a report's items those that share a word with what it names ("Crystals"); all where none does."""
        inner = {word for word, _, _ in words(self._inner)} - {word for word, _, _ in words(self._outer)}
        meant = [
            known
            for known in items
            if not self.is_physical
            and known.examination.id in self._named
            and not inner.isdisjoint(word for name in known.item.names() for word, _, _ in words(name))
        ]
        return meant or items

    def _panel(self) -> Iterator[ItemReading]:
        """Yields that all of a panel is normal."""
        last = re.split(r"[,，]\s*", _BRACKETS.sub("", self._inner or self._outer))[-1].strip()
        named = next((items for items, pattern in panels_of(self._language).items() if pattern.fullmatch(last)), "")
        for known in self._names.items:
            if known.item.id in named.split():
                yield from _some(self._sided(known, "normal"))
            elif "negative" in known.item.values and not self._inner and known.examination.id in self._named:
                yield ItemReading(known.examination.id, known.item.id, values=frozenset(("negative",)))

    def _pressures(self) -> Iterator[ItemReading]:
        for text in (f"{self._title}: {self._text}",):
            named = self._say["pressure"].search(text)
            numbers = _PRESSURE.search(text, named.end()) if named else None
            if numbers:
                by_id = {known.item.id: known for known in self._names.items}
                for item, value in zip(("systolic", "diastolic"), numbers.groups(), strict=True):
                    if item in by_id:
                        yield ItemReading(by_id[item].examination.id, item, float(value), float(value))


def _some(reading: ItemReading | None) -> Iterable[ItemReading]:
    return () if reading is None else (reading,)
