"""Reads an order as it is said: which examinations a text asks for, and what each of them means.

A text is read sentence by sentence. Words of the lexicon that stand together are a phrase; phrases in a list share
what only one of them says ("chest and abdominal CT", "CT or MRI of the head"). What is not wanted, has been done, or is
why something is wanted, is no order, and neither is what names nothing ("some tests").
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from polyclinic.knowledge.orders.concepts import ANALYTE, AT, KINDS, PANEL, PROCEDURE, any_related, is_a
from polyclinic.knowledge.orders.lexicon import GENERIC, HAND, NEUTRAL, Word, find_words, patterns
from polyclinic.knowledge.orders.meaning import Meaning, meaning_of
from polyclinic.language.language import is_chinese

_SENTENCE = re.compile(r"[;；。!！?？\n]|(?<!\b[A-Za-z0-9])\.(?=\s|$)")
_SEGMENT_END = re.compile(r"[,，:：]")
_JOINS = re.compile(
    r"[,，、/&+:：]|\b(?:plus|and|or|with|then|as well as|together with)\b|和|与|及|或|以及|或者|还有|加上?|跟|同|并|外加|再",
    re.IGNORECASE,
)
_FILLS = re.compile(
    r"[\s\d.()（）\[\]\-–·*#\"“”'’]|\b(?:an?|the|your|my|his|her|its|their|also|do|order|get|take|please|check|s)\b"
    r"|[再还另外也要想者个张次做的后先给我您你]|最后|一次|一个|进行|需要",
    re.IGNORECASE,
)
_TIGHT = re.compile(r"^[\s\-\u2013·'’()（）\[\]\"“”]*(?:'s|’s|的|之|of|s)?\s*$", re.IGNORECASE)
_POST = re.compile(
    r"^\s*(?:scans? )?(?:of|on|in|for|from|over|to|at|into)(?: (?!and\b|or\b|to\b)[\w'’]+){0,3}\s*$", re.IGNORECASE
)
_OWNER = re.compile(r"^\s*(?:the|your|my|his|her|its|their|this|an?|both|that)(?: [\w'’]+){0,2}\s*$", re.IGNORECASE)
_OBJECT = re.compile(r"^[^,，。、;；:：]{0,16}$")
_GUIDED = re.compile(r"^\s*-?\s*(?:guided|引导|导向)")
_LOOKS = frozenset(("physical", "inspection"))


class Order(NamedTuple):
    """An examination that a text asks for: as it stands there, from `start` to `end`, and what it means.

    Attributes:
        core: from where to where the words stand that mean something.
        loose: only a part of the body or a kind of examination is named, and not what is done.
    """

    text: str
    start: int
    end: int
    core: tuple[int, int]
    meaning: Meaning
    loose: bool = False


@dataclass(eq=False)
class _Phrase:
    """Words that stand together."""

    link: str
    words: list[Word] = field(default_factory=list)
    concepts: set[str] = field(default_factory=set)
    hand: str = ""
    generic: bool = False
    after: bool = False  # A region stands behind the head: "CT of the head".
    dropped: bool = False
    such: bool = False

    def add(self, word: Word) -> None:
        if HAND in word.roles and not self.words:
            self.hand = word.hand
        if GENERIC in word.roles:
            self.generic = True
        if self.heads and any(KINDS[c] in ("region", "material") for c in word.concepts) and not self._is_head(word):
            self.after = True
        self.words.append(word)
        self.concepts |= word.concepts

    @staticmethod
    def _is_head(word: Word) -> bool:
        return any(KINDS[concept] in (PROCEDURE, ANALYTE, PANEL) for concept in word.concepts)

    @property
    def heads(self) -> set[str]:
        return {c for c in self.concepts if KINDS[c] in (PROCEDURE, ANALYTE, PANEL)}

    @property
    def places(self) -> set[str]:
        return {c for c in self.concepts if KINDS[c] in ("region", "material")}

    @property
    def images(self) -> bool:
        return any(is_a(head, "imaging", "endoscopy", "biopsy") for head in self.heads)

    @property
    def said(self) -> list[Word]:
        """The words without those at its ends that say nothing."""
        words = list(self.words)
        while words and NEUTRAL in words[0].roles | words[-1].roles:
            words.pop(0 if NEUTRAL in words[0].roles else -1)
        return words


class Reading(NamedTuple):
    """What a text asks for, in order, and what stands in it and is not asked for, from where to where."""

    orders: tuple[Order, ...] = ()
    refused: tuple[tuple[int, int], ...] = ()

    def refuses(self, start: int, end: int) -> bool:
        """Whether what stands from `start` to `end` is not asked for."""
        return any(start < until and end > since for since, until in self.refused)


@functools.lru_cache(maxsize=4096)
def read_orders(text: str) -> Reading:
    """Returns the examinations that a text asks for; none where it is vague."""
    orders: list[Order] = []
    refused: list[tuple[int, int]] = []
    at = 0
    words = find_words(text)
    if not any(word.concepts for word in words):
        return Reading()
    for end in (*(m.start() for m in _SENTENCE.finditer(text)), len(text)):
        inside = [word for word in words if at <= word.start < end]
        if any(word.concepts for word in inside):
            read = _sentence(text, at, end, inside)
            orders += read.orders
            refused += read.refused
        at = end
    return Reading(tuple(orders), tuple(refused))


def _sentence(text: str, start: int, end: int, words: list[Word]) -> Reading:
    phrases = _phrases(text, words)
    scopes = _Scopes(text, start, end)
    ordered = False
    orders: list[Order] = []
    refused: list[tuple[int, int]] = []
    for phrase in phrases:
        first = phrase.words[0].start
        if scopes.holds("no", first) or scopes.holds("done", first):
            phrase.dropped = True
            refused.append((first, phrase.words[-1].end))
        elif scopes.holds("why", first) or (ordered and phrase.hand in _LOOKS and not phrase.heads):
            phrase.dropped = not phrase.heads or phrase.hand in _LOOKS
        ordered = ordered or bool(phrase.heads and not phrase.dropped)
    _share(phrases)
    hints = {c for phrase in phrases if phrase.dropped or not phrase.heads for c in phrase.places if KINDS[c] == "region"}
    for phrase in phrases:
        if phrase.dropped:
            continue
        vague = scopes.vague(phrase.words[0].start)
        order = _order(text, phrase, hints, vague=vague)
        if order is not None:
            orders.append(order)
        elif vague and (phrase.generic or phrase.heads):
            refused.append((phrase.words[0].start, phrase.words[-1].end))
    return Reading(tuple(orders), tuple(refused))


class _Scopes:
    """How far what says that something is not ordered, has been done, or why it is, reaches in a sentence."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text, self._start, self._end = text, start, end
        self._patterns = patterns("zh" if is_chinese(text[start:end]) else "en")
        self._ends = [m.start() for m in _SEGMENT_END.finditer(text, start, end)] + [end]

    def holds(self, name: str, at: int) -> bool:
        """Whether a place stands behind such words, before the next comma."""
        begin = max([self._start, *(e + 1 for e in self._ends if e < at)])
        return getattr(self._patterns, name).search(self._text, begin, at) is not None

    def vague(self, at: int) -> bool:
        """Whether the words between two commas ask for nothing in particular."""
        begin = max([self._start, *(e + 1 for e in self._ends if e < at)])
        stop = min(e for e in self._ends if e >= at)
        return self._patterns.vague.search(self._text, begin, self._end if stop == self._end else stop) is not None


def _phrases(text: str, words: list[Word]) -> list[_Phrase]:
    phrases: list[_Phrase] = []
    such = patterns("zh" if is_chinese(text) else "en").such
    for word in words:
        before = phrases[-1] if phrases else None
        gap = "" if before is None else text[before.words[-1].end : word.start]
        link = "wide" if before is None else _link(gap, before, word)
        if before is not None and link == "tight" and not _splits(before, word):
            before.add(word)
            continue
        new = _Phrase(link)
        if before is not None and such.search(gap):
            new.link, new.such = "list", True
        if before is not None and _GUIDED.match(gap):
            before.dropped = True
        new.add(word)
        phrases.append(new)
    return phrases


def _link(gap: str, before: _Phrase, word: Word) -> str:
    if _TIGHT.match(gap):
        return "tight"
    if _JOINS.search(gap) and not _FILLS.sub("", _JOINS.sub("", gap)):
        return "list"
    if (before.concepts or before.hand or before.generic) and word.concepts and (_POST.match(gap) or _OWNER.match(gap)):
        return "tight"
    if before.hand and not before.concepts and _OBJECT.match(gap):
        return "tight"
    return "wide"


def _splits(phrase: _Phrase, word: Word) -> bool:
    """Whether a word that follows a phrase closely is another examination."""
    if HAND in word.roles and GENERIC not in word.roles:
        return bool(phrase.concepts)
    heads = {concept for concept in word.concepts if KINDS[concept] in (PROCEDURE, ANALYTE, PANEL)}
    if not heads:
        # In "blood count urine culture" and 血常规尿培养 a material after what is complete begins the next.
        return False
    held = phrase.heads
    if not held or held == heads:
        return False
    return not any(_joins(one, other) for one in held for other in heads)


def _joins(one: str, other: str) -> bool:
    """Whether two things that are named together are one examination: a germ and how it is looked for."""
    kinds = {KINDS[one], KINDS[other]}
    if kinds == {PROCEDURE}:
        sampled = ("microbiology", "pathology", "serology", "puncture", "laboratory")
        return any_related((one,), (other,)) or (is_a(one, *sampled) and is_a(other, *sampled))
    if kinds == {PANEL}:
        return False
    if kinds == {ANALYTE}:
        return any_related((one,), (other,))
    if kinds == {ANALYTE, PANEL}:
        return True
    procedure = one if KINDS[one] == PROCEDURE else other
    return is_a(procedure, "microbiology", "serology", "pathology", "laboratory", "electrophoresis", "physical")


def _share(phrases: list[_Phrase]) -> None:
    """Gives the phrases of a list what only one of them says."""
    before: _Phrase | None = None
    for number, phrase in enumerate(phrases):
        after = phrases[number + 1] if number + 1 < len(phrases) else None
        if phrase.such and before is not None and not before.heads - {"imaging", "laboratory"}:
            if phrase.images and not phrase.places:
                phrase.concepts |= before.places
            before.dropped = True
        if not phrase.dropped and phrase.places and not (phrase.heads or phrase.generic or phrase.hand):
            listed = before is not None and phrase.link == "list" and not before.dropped
            if before is not None and listed and (before.after or (before.hand and not before.heads)):
                before.concepts |= phrase.places
                before.words += phrase.words
                phrase.dropped, phrase.concepts = True, set()
                continue
            takes = after is not None and (not after.heads or after.images or _takes_material(after))
            if after is not None and after.link == "list" and takes:
                after.concepts |= phrase.places
                after.words[:0] = phrase.words
                phrase.dropped = True
        before = phrase
    _share_methods(phrases)
    for number, phrase in enumerate(phrases):
        if phrase.dropped or not phrase.images or phrase.places:
            continue
        near = phrases[number - 1] if number else None
        if phrase.link == "list" and near is not None and near.images and near.places:
            phrase.concepts |= near.places
            continue
        near = phrases[number + 1] if number + 1 < len(phrases) else None
        if near is not None and near.link == "list" and near.images and near.places and near.after:
            phrase.concepts |= near.places


def _share_methods(phrases: list[_Phrase]) -> None:
    """Germs in a list are looked for in the one way that stands with one of them: "flu and covid antigen"."""

    def methods(phrase: _Phrase) -> set[str]:
        return {c for c in phrase.concepts if KINDS[c] == PROCEDURE and is_a(c, "microbiology", "serology")}

    def germs(phrase: _Phrase) -> set[str]:
        return {c for c in phrase.concepts if is_a(c, "organisms")}

    for before, phrase in pairwise(phrases):
        if phrase.link == "list" and methods(before) and germs(before):
            if phrase.heads and phrase.heads <= germs(phrase):
                phrase.concepts |= methods(before)
            elif phrase.heads and phrase.heads <= methods(phrase):
                phrase.concepts |= germs(before)
    for after, phrase in pairwise(reversed(phrases)):
        if after.link == "list" and methods(after) and germs(after) and phrase.heads and phrase.heads <= germs(phrase):
            phrase.concepts |= methods(after)


def _takes_material(phrase: _Phrase) -> bool:
    return any(is_a(head, "microbiology", "laboratory") for head in phrase.heads)


def _order(text: str, phrase: _Phrase, hints: set[str], *, vague: bool) -> Order | None:
    means = meaning_of(phrase.concepts)
    loose = False
    if not phrase.heads:
        if means.materials and not means.regions and (phrase.generic or phrase.hand == "physical"):
            if vague:
                return None
            means = means._replace(procedures=frozenset(("laboratory",)))
        elif means.regions and phrase.hand:
            loose = phrase.generic
            means = means._replace(procedures=frozenset((phrase.hand,)))
        elif means.regions and phrase.generic:
            loose = True
            means = means._replace(procedures=frozenset(("physical",)))
        else:
            return None
    elif phrase.heads <= {"imaging", "laboratory"} and not means.materials:
        if vague or "laboratory" in phrase.heads:
            return None
        loose = True
    elif phrase.heads == {"laboratory"} and vague:
        return None
    if phrase.images and not means.regions and hints:
        means = means._replace(regions=frozenset(hints))
    if means.procedures <= {"auscultation"} and means.procedures and not means.regions and not means.analytes:
        means = means._replace(regions=frozenset(("heart", "lung")))
    if means.procedures and not means.regions and not means.analytes:
        means = means._replace(regions=frozenset(place for p in means.procedures for place in AT.get(p, ())))
    said = [word for word in phrase.said if HAND not in word.roles or GENERIC in word.roles] or phrase.words
    start, end = min(word.start for word in said), max(word.end for word in said)
    telling = [word for word in phrase.words if word.concepts]
    core = (min(word.start for word in telling), max(word.end for word in telling))
    return Order(text[start:end], start, end, core, means, loose)
