"""What a doctor orders: how the patient passes it on, and which examinations it names."""

from __future__ import annotations

import functools
import re

import msgspec

from polyclinic.knowledge.orders.concepts import is_a
from polyclinic.knowledge.orders.meaning import OrderMeaning, closeness, title_of
from polyclinic.knowledge.orders.reading import read_orders
from polyclinic.language.language import MARKS, Language
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.words import WORDS


class _Orders(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    asks_earlier: Pattern
    asks_result: Pattern
    joint: Pattern
    planned: Pattern
    cue: Pattern
    reason: Pattern
    purpose: Pattern
    lead: Pattern
    polite_end: Pattern
    examination: Pattern
    examination_lead: Pattern
    request: str


_orders = WORDS.section("orders", _Orders)

_SENTENCE = re.compile(r"(?<=[。？！?!；])|(?<=\.)\s")
_TO_BE_DONE = re.compile(r"^.*\b(?:to be done|please do|the following(?: \w+)?)\s*:\s*", re.IGNORECASE)
_MARKS = " .。?？!！,，"


@functools.lru_cache(maxsize=4096)
def asks_result(text: str, language: Language) -> bool:
    """Returns whether a question asks for a result."""
    return _orders(language).asks_result.search(text) is not None


@functools.lru_cache(maxsize=4096)
def asks_earlier(text: str, language: Language) -> bool:
    """Returns whether a question asks for examinations from before this visit."""
    return _orders(language).asks_earlier.search(text) is not None


def is_planned(text: str, language: Language) -> bool:
    """Returns whether a text tells what is still to be done."""
    return _orders(language).planned.search(text) is not None


def reported(clause: str, language: Language) -> str:
    """Returns a clause with a result as it is told by itself, without what joins it to another."""
    return _orders(language).joint.sub("", clause)


def request(text: str, language: Language) -> str:
    """Returns the doctor's order as it is passed on: its names, without politeness and reasons."""
    return _orders(language).request.format(ordered(text, language))


def ordered(text: str, language: Language) -> str:
    """Returns what is ordered in a text, without what leads up to it and what it is meant for."""
    words, wanted = _orders(language), []
    for sentence in _SENTENCE.split(text):
        cues = list(words.cue.finditer(sentence))
        clear = words.reason.sub("", sentence[cues[-1].start() :] if cues else sentence)
        clear = _TO_BE_DONE.sub("", words.purpose.sub("", clear))
        stripped = words.polite_end.sub("", words.lead.sub("", clear, count=1).strip(_MARKS))
        if stripped:
            wanted.append(stripped)
    return MARKS[language].semicolon.join(wanted) or text.strip(_MARKS)


def request_of_result(text: str, language: Language) -> str:
    """Returns a question for results as it is passed on: the names of the examinations alone, where any is known."""
    asked = [order for order in read_orders(text, mentioned=True).orders if not order.loose]
    names = dict.fromkeys(order.text.strip(_MARKS) for order in asked)
    if not names:
        return request(text, language)
    return _orders(language).request.format(MARKS[language].semicolon.join(names))


@functools.lru_cache(maxsize=4096)
def wanted(text: str) -> tuple[OrderMeaning, ...]:
    """Returns what is ordered in a text, by its meaning.

    A part of the body alone is none of it, nor is what a doctor sees and feels: it is done where the doctor is.
    """
    orders = (order.meaning for order in read_orders(text).orders if not order.loose)
    return tuple(m for m in orders if not (m.procedures and all(is_a(name, "physical") for name in m.procedures)))


def reports(text: str, order: OrderMeaning) -> int:
    """Returns how close what a text reports is to what is ordered: 0 where it is something else."""
    return closeness(order, title_of(text, ""))


def examinations(text: str, language: Language) -> list[str]:
    """Returns the examinations in a text, each with the words before it that say of what ("CT of the head")."""
    words = _orders(language)
    return [words.examination_lead.sub("", found[0]) for found in words.examination.finditer(text)]
