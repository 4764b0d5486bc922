"""Reads an order as it is said: which examinations a text asks for, and what each of them means.

A text is read sentence by sentence. Words of the lexicon that stand together are a phrase; phrases in a list share
what only one of them says ("chest and abdominal CT", "CT or MRI of the head"). What is not wanted, has been done, or is
why something is wanted, is no order, and neither is what names nothing ("some tests").
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

from polyclinic.knowledge.orders.concepts import (
    ANALYTE,
    AT,
    BODY,
    EVERYDAY,
    GENERIC,
    HAND,
    KINDS,
    NEUTRAL,
    PANEL,
    PROCEDURE,
    REGION,
    SIGNS,
    OrderMeaning,
    Term,
    any_related,
    find_words,
    is_a,
    material_of,
    meaning_of,
    name_of,
    patterns,
)
from polyclinic.language.language import CHINESE, LANGUAGES, Language, is_chinese

_TIGHT = re.compile(r"[\s\-\u2013·'’()（）\[\]\"“”]*(?:'s|’s|里?面?的|中的|里|之|of|s)?\s*", re.IGNORECASE)
_OBJECT = re.compile(rf"\s*(?:[{CHINESE}]{{0,4}}|(?:[a-zA-Z'’]+\s*){{0,3}})")

# How a phrase follows the one before it: in a list, or after words that are not known.
LIST, WIDE = "list", "wide"
_TOGETHER = "together"


@functools.cache
def _between(name: str) -> re.Pattern[str]:
    """Returns what may stand between words, in either language."""
    marks = {"joins": "[,，、/&+:：]", "fills": r"[\s\d.()（）\[\]\-–·*#\"“”'’]"}.get(name, "(?!)")
    either = (patterns(language)[name].pattern for language in LANGUAGES)
    return re.compile("|".join((marks, *(f"(?:{pattern})" for pattern in either))), re.IGNORECASE)


@dataclass(eq=False)
class OrderPhrase:
    """Words that stand together."""

    link: str  # how it follows the phrase before it
    words: list[Term] = field(default_factory=list)
    concepts: set[str] = field(default_factory=set)
    hand: str = ""  # what a doctor does by hand, where that is said
    generic: bool = False  # that it is an examination is said
    after: bool = False  # a region stands behind what is done there: "CT of the head"
    dropped: bool = False  # it is no order
    such: bool = False  # it is an example of what stands before it
    by: bool = False  # something that stands before it is looked at by it
    anew: bool = False  # it is ordered by a verb of its own
    more: bool = False  # it is said to be one more thing to do

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
    such = patterns("zh" if chinese else "en")["such"]
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


def _link(gap: str, before: OrderPhrase, word: Term) -> str:
    if _TIGHT.fullmatch(gap):
        return _TOGETHER
    joins = _between("joins")
    if joins.search(gap) is not None and not _between("fills").sub("", joins.sub("", gap)):
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
            takes = after is not None and (
                not after.heads or after.images or any(is_a(head, "microbiology", "laboratory") for head in after.heads)
            )
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


_SENTENCE = re.compile(r"[;；。!！?？\n]|(?<!\b[A-Za-z0-9])\.(?=\s|$)")
_SEGMENT_END = re.compile(r"[,，:：]")
_LOOKS = frozenset(("physical", "inspection"))


class AskedFor(NamedTuple):
    """An examination that a text asks for: as it stands there, from `start` to `end`, and what it means."""

    text: str
    start: int
    end: int
    core: tuple[int, int]  # from where to where the words stand that mean something
    meaning: OrderMeaning
    loose: bool = False  # only a part of the body or a kind of examination is named, and not what is done
    name: str = ""  # what it is called where one speaks of it


class Reading(NamedTuple):
    """What a text asks for, in order, and where in it stands what it does not ask for, asks for vaguely, or says why.

    What is `unnamed` names blood, or the laboratory, and not what is looked at.
    """

    orders: tuple[AskedFor, ...] = ()
    refused: tuple[tuple[int, int], ...] = ()
    vague: tuple[tuple[int, int], ...] = ()
    reasons: tuple[tuple[int, int], ...] = ()
    unnamed: tuple[tuple[int, int], ...] = ()

    def refuses(self, start: int, end: int) -> bool:
        """Whether what stands from `start` to `end` is not asked for."""
        return any(start < until and end > since for since, until in self.refused)

    def is_reason(self, start: int, end: int) -> bool:
        """Whether what stands from `start` to `end` says why something is asked for."""
        return any(start < until and end > since for since, until in self.reasons)

    def is_vague(self, start: int, end: int) -> bool:
        """Whether what stands from `start` to `end` names nothing in particular."""
        return any(start < until and end > since for since, until in self.vague)


@functools.lru_cache(maxsize=4096)
def read_orders(text: str, *, mentioned: bool = False) -> Reading:
    """Returns the examinations that a text asks for; none where it is vague.

    Of a text that orders nothing, such as a report, those that are `mentioned`, also as done or not wanted.
    """
    read: list[Reading] = []
    at = 0
    words = find_words(text)
    if not any(word.concepts for word in words):
        return Reading()
    for end in (*(m.start() for m in _SENTENCE.finditer(text)), len(text)):
        inside = [word for word in words if at <= word.start < end]
        if any(word.concepts for word in inside):
            read.append(_sentence(text, at, end, inside, mentioned=mentioned))
        at = end
    return Reading(*(tuple(chain.from_iterable(parts)) for parts in zip(*read, strict=True))) if read else Reading()


def _sentence(text: str, start: int, end: int, words: list[Term], *, mentioned: bool) -> Reading:
    phrases = phrases_of(text, words)
    scopes = _Scopes(text, start, end)
    refused = _drop(phrases, scopes, bare=says_no_more(text, start, end, words), mentioned=mentioned)
    orders: list[AskedFor] = []
    unclear: list[tuple[int, int]] = []
    unnamed: list[tuple[int, int]] = []
    share(phrases)
    elsewhere = [phrase for phrase in phrases if phrase.dropped or not phrase.heads]
    hints = {place for phrase in elsewhere for place in phrase.places if KINDS[place] == REGION}
    for phrase in phrases:
        if phrase.dropped:
            continue
        category = phrase.heads <= {"imaging", "laboratory"} and not phrase.places
        vague = not mentioned and scopes.vague(phrase.start, whole=category)
        order = _order(text, phrase, hints, vague=vague, mentioned=mentioned)
        if order is not None:
            orders.append(order)
        elif vague and (phrase.generic or phrase.heads):
            unclear.append((phrase.start, phrase.end))
        elif not (phrase.images or phrase.heads - {"laboratory"}) and (phrase.heads or phrase.places & {"blood"}):
            unnamed.append((phrase.start, phrase.end))
    reasons = (
        (one.start, one.end) for one in phrases if one.dropped and not one.heads and scopes.holds("why", one.start)
    )
    return Reading(tuple(orders), tuple(refused), tuple(unclear), tuple(reasons), tuple(unnamed))


def _drop(phrases: list[OrderPhrase], scopes: _Scopes, *, bare: bool, mentioned: bool) -> list[tuple[int, int]]:
    """Drops the phrases that order nothing, and returns where stands what is not wanted, or has been done."""
    refused: list[tuple[int, int]] = []
    unwanted = frozenset[int]() if mentioned else _unwanted(phrases, scopes)
    ordered = False
    # To ask what a part of the body is like is to have it examined.
    asked = scopes.asks() and all(phrase.is_everyday or not phrase.heads for phrase in phrases)
    bodily = {phrase for phrase in phrases if not phrase.is_everyday and phrase.heads and is_bodily(phrase)}
    for number, phrase in enumerate(phrases):
        first, end = phrase.start, phrase.end
        looks_on = phrase.hand in _LOOKS and not phrase.heads and not phrase.more
        if not mentioned and (number in unwanted or scopes.holds("done", first) or scopes.reports(end)):
            phrase.dropped = True
            refused.append((first, end))
        elif (
            phrase.is_everyday
            and not bare
            and not (asked and (phrase.places or is_bodily(phrase)))
            and not _listed(phrases, number, bodily)
        ) or (scopes.followed_by("who", end) and phrase.heads <= phrase.feared | {"neurological"}):
            phrase.dropped = True
        elif scopes.holds("why", first) or (ordered and looks_on):
            # What is feared ("to rule out HIV", "whether there is swelling") is not what is done.
            phrase.dropped = phrase.hand in _LOOKS or phrase.heads <= phrase.feared
        ordered = ordered or bool(phrase.heads and not phrase.dropped)
    return refused


def _unwanted(phrases: list[OrderPhrase], scopes: _Scopes) -> frozenset[int]:
    """Returns which phrases are negated or put off; one in a list with others, where it stands for all of them."""
    found: set[int] = set()
    for number, phrase in enumerate(phrases):
        before, after = scopes.negated_before(phrase.start, phrase.end), scopes.negated_behind(phrase.end)
        if before or after:
            found.add(number)
        if before or (number and number - 1 in found and not after):
            # "No CT or MRI"
            follows = number and number - 1 in found and phrase.link == LIST
            if follows and scopes.says("nor", phrases[number - 1].end, phrase.start):
                found.add(number)
        if after:
            at = number
            while at and phrases[at].link == LIST and scopes.says("nor", phrases[at - 1].end, phrases[at].start):
                at -= 1
                found.add(at)
    return frozenset(found)


def _listed(phrases: list[OrderPhrase], number: int, bodily: set[OrderPhrase]) -> bool:
    """Whether a word of every day stands in a list of what is examined on the body: "cranial nerves, power, tone"."""
    near = phrases[max(0, number - 1) : number + 2]
    lists = phrases[number].link == LIST or (number + 1 < len(phrases) and phrases[number + 1].link == LIST)
    listed = lists and is_bodily(phrases[number]) and any(one in bodily for one in near)
    if listed:
        bodily.add(phrases[number])
    return listed


class _Scopes:
    """How far what says that something is not ordered, has been done, or why it is, reaches in a sentence."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text, self._start, self._end = text, start, end
        self._patterns = patterns("zh" if is_chinese(text[start:end]) else "en")
        self._ends = [m.start() for m in _SEGMENT_END.finditer(text, start, end)] + [end]

    def holds(self, name: str, at: int) -> bool:
        """Whether a place stands behind such words, before the next comma."""
        return self.says(name, self._begin(at), at)

    def _begin(self, at: int) -> int:
        return max([self._start, *(e + 1 for e in self._ends if e < at)])

    def says(self, name: str, start: int, end: int) -> bool:
        """Whether such words stand from `start` to `end`."""
        return self._patterns[name].search(self._text, start, end) is not None

    def negated_before(self, at: int, end: int) -> bool:
        """Whether what says that something is not wanted stands before it, in the same clause."""
        clauses = [m.start() for m in self._patterns["clause"].finditer(self._text, self._begin(at), at)]
        begin = clauses[-1] if clauses else self._begin(at)
        if self.says("no", begin, at):
            return True
        # What has not been done yet may still be wanted.
        return self.says("none", begin, at) and not self.asks() and not self.followed_by("undone", end)

    def negated_behind(self, end: int) -> bool:
        """Whether what follows says that it is not wanted, or can wait."""
        rest = self._text[end : self._end].lstrip(" )）")
        return self._patterns["unneeded"].match(rest) is not None

    def followed_by(self, name: str, end: int) -> bool:
        """Whether such words follow: what makes a report, a person or a disease of what stands before them."""
        rest = self._text[end : end + 32].lstrip(" ")
        return self._patterns[name].match(rest) is not None

    def reports(self, end: int) -> bool:
        """Whether a report follows, and no question for one."""
        return self.followed_by("told", end) and not self.asks(end)

    def asks(self, start: int | None = None) -> bool:
        """Whether the sentence, or what stands in it from `start`, is a question."""
        marked = self._text[self._end : self._end + 1] in ("?", "？")
        return marked or self._patterns["asks"].search(self._text, start or self._start, self._end + 1) is not None

    def vague(self, at: int, *, whole: bool) -> bool:
        """Whether the words between two commas, or those of the whole sentence, ask for nothing in particular."""
        if whole:
            return self._patterns["vague"].search(self._text, self._start, self._end) is not None
        begin = max([self._start, *(e + 1 for e in self._ends if e < at)])
        stop = min(e for e in self._ends if e >= at)
        return self._patterns["vague"].search(self._text, begin, self._end if stop == self._end else stop) is not None


def _means(phrase: OrderPhrase, hints: set[str]) -> OrderMeaning:
    """Returns what the words of a phrase mean, with the places that the sentence names elsewhere for its images."""
    means = meaning_of(phrase.concepts)
    if phrase.heads == {"physical"} and means.regions == {"whole_body"}:
        return means._replace(regions=frozenset())
    if phrase.images:
        regions = means.regions or frozenset(hints)
        return means._replace(regions=regions, analytes=means.analytes.difference(SIGNS))
    return means


def _order(text: str, phrase: OrderPhrase, hints: set[str], *, vague: bool, mentioned: bool) -> AskedFor | None:
    means = _means(phrase, hints)
    loose = False
    if not phrase.heads:
        if means.materials and not means.regions and (phrase.generic or phrase.hand == "physical"):
            if vague or (means.materials == {"blood"} and not (mentioned or _is_test(phrase))):
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
    elif phrase.heads == {"laboratory"} and (vague or (means.materials == {"blood"} and not mentioned)):
        # For what blood is drawn has to be said.
        return None
    if means.procedures == {"auscultation"} and not means.analytes and means.regions <= {"chest", "back"}:
        means = means._replace(regions=means.regions | {"heart", "lung"})
    if means.procedures and not means.regions and not means.analytes:
        means = means._replace(regions=frozenset(place for p in means.procedures for place in AT.get(p, ())))
    said = phrase.said or phrase.words
    start, end = min(word.start for word in said), max(word.end for word in said)
    telling = [word for word in phrase.words if word.concepts]
    core = (min(word.start for word in telling), max(word.end for word in telling))
    named = _hand_named(phrase) if phrase.hand and not phrase.heads and means.regions else ""
    return AskedFor(text[start:end], start, end, core, means, loose, named or _closed(text, start, end))


def _is_test(phrase: OrderPhrase) -> bool:
    """Whether a test is named, and not only that blood is drawn: "blood test", and not "blood work"."""
    return any(
        GENERIC in word.roles and not word.text.casefold().startswith(("work", "panel")) for word in phrase.words
    )


def _hand_named(phrase: OrderPhrase) -> str:
    """Returns what a doctor does by hand by the name of that examination: "auscultation of the lungs"."""
    places = [word.text for word in phrase.said if word.concepts]
    language: Language = "zh" if is_chinese("".join(places)) else "en"
    done = name_of(phrase.hand, language)
    return f"{'、'.join(places)}{done}" if language == "zh" else f"{done} of the {' and '.join(places)}"


def _closed(text: str, start: int, end: int) -> str:
    """Returns what stands from `start` to `end`, with the bracket that closes one that is opened there."""
    said = text[start:end]
    opened = any(said.count(one) > said.count(other) for one, other in ("()", "（）", "[]", "【】"))
    return text[start : end + 1] if opened and text[end : end + 1] in tuple(")）]】") else said


def is_understood(text: str) -> bool:
    """Whether every word of a text is one of the lexicon, or joins such words."""
    return says_no_more(text, 0, len(text), find_words(text))
