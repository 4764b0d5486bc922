"""Words of an order that stand together, and what those in a list share."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from polyclinic.knowledge.orders.concepts import (
    ANALYTE,
    BODY,
    KINDS,
    PANEL,
    PROCEDURE,
    SIGNS,
    any_related,
    is_a,
    material_of,
)
from polyclinic.knowledge.orders.lexicon import EVERYDAY, GENERIC, HAND, NEUTRAL, Term, patterns
from polyclinic.language.language import CHINESE, LANGUAGES, is_chinese

_TIGHT = re.compile(r"[\s\-\u2013·'’()（）\[\]\"“”]*(?:'s|’s|里?面?的|中的|里|之|of|s)?\s*", re.IGNORECASE)
_OBJECT = re.compile(rf"\s*(?:[{CHINESE}]{{0,4}}|(?:[a-zA-Z'’]+\s*){{0,3}})")

# How a phrase follows the one before it: in a list, or after words that are not known.
LIST, WIDE = "list", "wide"
_TOGETHER = "together"


@functools.cache
def _between(name: str) -> re.Pattern[str]:
    """Returns what may stand between words, in either language."""
    marks = {"joins": "[,，、/&+:：]", "fills": r"[\s\d.()（）\[\]\-–·*#\"“”'’]"}.get(name, "(?!)")
    either = (getattr(patterns(language), name).pattern for language in LANGUAGES)
    return re.compile("|".join((marks, *(f"(?:{pattern})" for pattern in either))), re.IGNORECASE)


@dataclass(eq=False)
class OrderPhrase:
    """Words that stand together.

    Attributes:
        link: how it follows the phrase before it.
        hand: what a doctor does by hand, where that is said.
        generic: that it is an examination is said.
        after: a region stands behind what is done there: "CT of the head".
        dropped: it is no order.
        such: it is an example of what stands before it.
        by: something that stands before it is looked at by it.
        anew: it is ordered by a verb of its own.
        more: it is said to be one more thing to do.
    """

    link: str
    words: list[Term] = field(default_factory=list)
    concepts: set[str] = field(default_factory=set)
    hand: str = ""
    generic: bool = False
    after: bool = False
    dropped: bool = False
    such: bool = False
    by: bool = False
    anew: bool = False
    more: bool = False

    def add(self, word: Term) -> None:
        """Adds the word that follows."""
        # 检查 before a part of the body is what a doctor does, behind it an examination.
        does = HAND in word.roles and not (self.words and GENERIC in word.roles)
        if does and not self.hand and not self.heads:
            self.hand = word.hand
        if GENERIC in word.roles:
            self.generic = True
        if NEUTRAL in word.roles and _says("anew", word.text):
            self.anew = True
        if self.heads and any(KINDS[c] in ("region", "material") for c in word.concepts) and not self._is_head(word):
            self.after = True
        self.words.append(word)
        self.concepts |= word.concepts

    @staticmethod
    def _is_head(word: Term) -> bool:
        return any(KINDS[concept] in (PROCEDURE, ANALYTE, PANEL) for concept in word.concepts)

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.words[-1].end

    @property
    def heads(self) -> set[str]:
        """What is done or looked at."""
        return {c for c in self.concepts if KINDS[c] in (PROCEDURE, ANALYTE, PANEL)}

    @property
    def places(self) -> set[str]:
        """Where, and in what material."""
        return {c for c in self.concepts if KINDS[c] in ("region", "material")}

    @property
    def images(self) -> bool:
        """Whether it is done at a place that has to be named."""
        return any(is_a(head, "imaging", "endoscopy", "biopsy") for head in self.heads)

    @property
    def is_everyday(self) -> bool:
        """Whether its words are such as a patient says of its troubles ("I had the flu", "I have no strength")."""
        if self.generic or self.hand or not self.heads or (self.images and self.places):
            return False
        return all(EVERYDAY in word.roles or self._is_germ(word) for word in self.words if self._is_head(word))

    @staticmethod
    def _is_germ(word: Term) -> bool:
        # Nobody says of himself that he had HBsAg.
        technical = sum(letter.isupper() for letter in word.text) > 1
        return len(word.concepts) == 1 and all(is_a(one, "organisms") for one in word.concepts) and not technical

    @property
    def feared(self) -> set[str]:
        """Germs and signs, which are feared ("to rule out HIV") as often as they are looked for."""
        return {head for head in self.heads if is_a(head, "organisms") or material_of(head) == BODY}

    @property
    def said(self) -> list[Term]:
        """The words without those at its ends that say nothing."""
        words = list(self.words)
        while words and (words[0].roles and not words[0].concepts):
            words.pop(0)
        while words and NEUTRAL in words[-1].roles:
            words.pop()
        return words


def phrases_of(text: str, words: Sequence[Term]) -> list[OrderPhrase]:
    """Returns the phrases of a sentence, in order."""
    phrases: list[OrderPhrase] = []
    chinese = is_chinese(text)
    such = patterns("zh" if chinese else "en").such
    for word in words:
        before = phrases[-1] if phrases else None
        gap = "" if before is None else text[before.end : word.start]
        link = WIDE if before is None else _link(gap, before, word)
        if before is not None and link == _TOGETHER and not _splits(before, word):
            before.add(word)
            continue
        new = OrderPhrase(link)
        if before is not None and such.search(gap):
            new.link, new.such = LIST, True
        new.by = _says("by", gap)
        new.anew = _between("anew").search(gap) is not None
        # Behind a comma 看看肺 says what a picture is for; English says "to see".
        new.more = _between("more").search(gap) is not None or (link == LIST and not chinese)
        if before is not None and _between("guided").match(gap):
            before.dropped = True
        new.add(word)
        phrases.append(new)
    return phrases


def _says(name: str, gap: str) -> bool:
    return _between(name).fullmatch(gap.strip()) is not None


def _only_joins(gap: str) -> bool:
    joins = _between("joins")
    return joins.search(gap) is not None and not _between("fills").sub("", joins.sub("", gap))


def _link(gap: str, before: OrderPhrase, word: Term) -> str:
    if _TIGHT.fullmatch(gap):
        return _TOGETHER
    if _only_joins(gap):
        return LIST
    if (
        (before.concepts or before.hand or before.generic)
        and word.concepts
        and (_says("of", gap) or _says("whose", gap))
    ):
        return _TOGETHER
    if before.hand and not before.concepts and _OBJECT.fullmatch(gap) and not _between("why").search(gap):
        return _TOGETHER
    if before.concepts and word.concepts and _says("asked", gap):
        return _TOGETHER
    return WIDE


def _splits(phrase: OrderPhrase, word: Term) -> bool:
    """Whether a word that follows a phrase closely is another examination."""
    if HAND in word.roles and GENERIC not in word.roles:
        return bool(phrase.heads)
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
    procedure, analyte = (one, other) if KINDS[one] == PROCEDURE else (other, one)
    if analyte in SIGNS and is_a(procedure, "imaging"):
        # An image of a swollen knee.
        return True
    return is_a(procedure, "microbiology", "serology", "pathology", "laboratory", "electrophoresis", "physical")


def share(phrases: list[OrderPhrase]) -> None:
    """Gives the phrases of a list what only one of them says."""
    _share_hands(phrases)
    before: OrderPhrase | None = None
    for number, phrase in enumerate(phrases):
        after = phrases[number + 1] if number + 1 < len(phrases) else None
        if phrase.such and before is not None and not before.heads - {"imaging", "laboratory"}:
            if phrase.images and not phrase.places:
                phrase.concepts |= before.places
            before.dropped = True
        if phrase.by and before is not None and phrase.images and not phrase.places and before.hand:
            phrase.concepts |= before.places
            before.dropped = True
        if not phrase.dropped and phrase.places and not (phrase.heads or phrase.generic or phrase.hand):
            listed = before is not None and phrase.link == LIST and not before.dropped
            if before is not None and listed and (before.after or (before.hand and not before.heads)):
                before.concepts |= phrase.places
                before.words += phrase.words
                phrase.dropped, phrase.concepts = True, set()
                continue
            takes = after is not None and (not after.heads or after.images or _takes_material(after))
            if after is not None and after.link == LIST and takes:
                if not phrase.places <= after.places:
                    after.concepts |= phrase.places
                    after.words[:0] = phrase.words
                phrase.dropped = True
        before = phrase
    _share_methods(phrases)
    for number, phrase in enumerate(phrases):
        if phrase.dropped or not phrase.images or phrase.places:
            continue
        near = phrases[number - 1] if number else None
        if phrase.link == LIST and not phrase.anew and near is not None and near.images and near.places:
            phrase.concepts |= near.places
            continue
        near = phrases[number + 1] if number + 1 < len(phrases) else None
        if near is not None and near.link == LIST and not near.anew and near.images and near.places and near.after:
            phrase.concepts |= near.places


def _share_hands(phrases: list[OrderPhrase]) -> None:
    """What stands before is examined by what is done behind it: 腿也看一下. Blood is drawn for what follows."""
    for before, phrase in pairwise(phrases):
        done = bool(phrase.hand) or any(is_a(head, "physical") for head in phrase.heads)
        bodily = all(material_of(head) == BODY for head in before.heads)
        behind = done and not (phrase.places or phrase.dropped) and phrase.heads <= {"palpation", "inspection"}
        if behind and before.places and bodily and not (before.hand or before.generic):
            before.hand, before.dropped = phrase.hand or "physical", False
            phrase.dropped = bool(phrase.heads)
        drawn = before.heads == {"laboratory"} and "blood" in before.places and phrase.heads
        # "Blood test and C-reactive protein" are two; 抽血查血常规 is one.
        if drawn and (phrase.link == WIDE or not before.generic):
            looked_at = {material_of(head) for head in phrase.heads if KINDS[head] in (ANALYTE, PANEL)}
            before.dropped = before.dropped or looked_at == {"blood"}


def _share_methods(phrases: list[OrderPhrase]) -> None:
    """Germs in a list are looked for in the one way that stands with one of them: "flu and covid antigen"."""

    def methods(phrase: OrderPhrase) -> set[str]:
        return {c for c in phrase.concepts if KINDS[c] == PROCEDURE and is_a(c, "microbiology", "serology")}

    def germs(phrase: OrderPhrase) -> set[str]:
        return {c for c in phrase.concepts if is_a(c, "organisms")}

    for before, phrase in pairwise(phrases):
        if phrase.link == LIST and methods(before) and germs(before):
            if phrase.heads and phrase.heads <= germs(phrase):
                phrase.concepts |= methods(before)
            elif phrase.heads and phrase.heads <= methods(phrase) and not phrase.places:
                phrase.concepts |= germs(before)
    for before, phrase in pairwise(phrases):
        cultured = phrase.heads <= {"culture", "smear"} and not phrase.places
        if phrase.heads and cultured and phrase.link == LIST and methods(before) and not phrase.anew:
            phrase.concepts |= {c for c in before.places if KINDS[c] == "material"}
    for after, phrase in pairwise(reversed(phrases)):
        if after.link == LIST and methods(after) and germs(after) and phrase.heads and phrase.heads <= germs(phrase):
            phrase.concepts |= methods(after)


def _takes_material(phrase: OrderPhrase) -> bool:
    return any(is_a(head, "microbiology", "laboratory") for head in phrase.heads)


def says_no_more(text: str, start: int, end: int, words: Sequence[Term]) -> bool:
    """Whether a sentence consists of words of the lexicon, and of what joins and asks for them."""
    rest, at = [], start
    for word in words:
        rest.append(text[at : word.start])
        at = word.end
    left = _between("fills").sub("", _between("joins").sub("", " ".join([*rest, text[at:end]])))
    return not any(letter.isalpha() for letter in left)


def is_bodily(phrase: OrderPhrase) -> bool:
    """Whether all that a phrase looks at is seen on the body itself."""
    return bool(phrase.heads) and all(material_of(head) == BODY for head in phrase.heads)
