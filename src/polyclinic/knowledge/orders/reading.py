"""Reads an order as it is said: which examinations a text asks for, and what each of them means.

A text is read sentence by sentence. Words of the lexicon that stand together are a phrase; phrases in a list share
what only one of them says ("chest and abdominal CT", "CT or MRI of the head"). What is not wanted, has been done, or is
why something is wanted, is no order, and neither is what names nothing ("some tests").
"""

from __future__ import annotations

import functools
import re
from itertools import chain
from typing import NamedTuple

from polyclinic.knowledge.orders.concepts import AT, KINDS, REGION, SIGNS
from polyclinic.knowledge.orders.lexicon import GENERIC, Term, find_words, name_of, patterns
from polyclinic.knowledge.orders.meaning import OrderMeaning, meaning_of
from polyclinic.knowledge.orders.phrases import LIST, OrderPhrase, is_bodily, phrases_of, says_no_more, share
from polyclinic.language.language import Language, is_chinese

_SENTENCE = re.compile(r"[;；。!！?？\n]|(?<!\b[A-Za-z0-9])\.(?=\s|$)")
_SEGMENT_END = re.compile(r"[,，:：]")
_LOOKS = frozenset(("physical", "inspection"))


class AskedFor(NamedTuple):
    """An examination that a text asks for: as it stands there, from `start` to `end`, and what it means.

    Attributes:
        core: from where to where the words stand that mean something.
        loose: only a part of the body or a kind of examination is named, and not what is done.
        name: what it is called where one speaks of it.
    """

    text: str
    start: int
    end: int
    core: tuple[int, int]
    meaning: OrderMeaning
    loose: bool = False
    name: str = ""


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
        return getattr(self._patterns, name).search(self._text, start, end) is not None

    def negated_before(self, at: int, end: int) -> bool:
        """Whether what says that something is not wanted stands before it, in the same clause."""
        clauses = [m.start() for m in self._patterns.clause.finditer(self._text, self._begin(at), at)]
        begin = clauses[-1] if clauses else self._begin(at)
        if self.says("no", begin, at):
            return True
        # What has not been done yet may still be wanted.
        return self.says("none", begin, at) and not self.asks() and not self.followed_by("undone", end)

    def negated_behind(self, end: int) -> bool:
        """Whether what follows says that it is not wanted, or can wait."""
        rest = self._text[end : self._end].lstrip(" )）")
        return self._patterns.unneeded.match(rest) is not None

    def followed_by(self, name: str, end: int) -> bool:
        """Whether such words follow: what makes a report, a person or a disease of what stands before them."""
        rest = self._text[end : end + 32].lstrip(" ")
        return getattr(self._patterns, name).match(rest) is not None

    def reports(self, end: int) -> bool:
        """Whether a report follows, and no question for one."""
        return self.followed_by("told", end) and not self.asks(end)

    def asks(self, start: int | None = None) -> bool:
        """Whether the sentence, or what stands in it from `start`, is a question."""
        marked = self._text[self._end : self._end + 1] in ("?", "？")
        return marked or self._patterns.asks.search(self._text, start or self._start, self._end + 1) is not None

    def vague(self, at: int, *, whole: bool) -> bool:
        """Whether the words between two commas, or those of the whole sentence, ask for nothing in particular."""
        if whole:
            return self._patterns.vague.search(self._text, self._start, self._end) is not None
        begin = max([self._start, *(e + 1 for e in self._ends if e < at)])
        stop = min(e for e in self._ends if e >= at)
        return self._patterns.vague.search(self._text, begin, self._end if stop == self._end else stop) is not None


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
