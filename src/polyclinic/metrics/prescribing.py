"""A report's treatment compared with the treatment that is due: what it names, and which doses it gives.

A record writes each drug with its dose, route and reason; a doctor who writes "salbutamol" has named it. So the grade
of the treatment counts the points that are named, and doses are shown apart. A drug goes by any of its names, a
procedure by its action and its part. A deadly dose, or a delay of something urgent, makes a point count as not named.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.prescribed import DrugNames, procedure_words
from polyclinic.language.content_words import pieces
from polyclinic.language.language import Language
from polyclinic.metrics.grades import QUARTERS, AspectMatch, Grade, Scale, analysis
from polyclinic.yaml_files import read_yaml

HALF = 0.5
"""From this share of its words on, a measure counts as named; at exactly half, the last word must be among them."""

_HOURS = 24
_LONG = 3  # words of a name from which on not all are asked for
_NEAR = 1.02  # of an amount, by which another may differ
_OF_DENIAL = frozenset({"help"})
_BY_POINT = Scale(weights={"named": 1.0}, cuts=QUARTERS)

Against = Literal["dose", "put off"]


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words and patterns of `prescribing.yaml`; the file says of each what it is for."""

    units: dict[str, float]
    of_units: frozenset[str]
    of_weight: frozenset[str]
    per: re.Pattern[str]
    numbers: dict[str, int]
    abbreviations: dict[str, int]
    every: re.Pattern[str]
    condition_before: re.Pattern[str]
    qualifier: re.Pattern[str]
    purpose: re.Pattern[str]
    time_before: re.Pattern[str]
    between: re.Pattern[str]
    clause: re.Pattern[str]
    sentence: re.Pattern[str]
    condition: re.Pattern[str]
    denial: re.Pattern[str]
    denied_before: re.Pattern[str]
    return_visit: re.Pattern[str]
    to_return: re.Pattern[str]
    behind: re.Pattern[str]
    against: dict[Language, dict[Against, str]]


@functools.cache
def _words() -> _Words:
    return read_yaml(Path(__file__).with_suffix(".yaml"), _Words)


@functools.cache
def _amount() -> re.Pattern[str]:
    unit = "|".join(sorted(map(re.escape, _words().units), key=len, reverse=True))
    number = r"(\d+(?:\.\d+)?)"
    return re.compile(rf"{number}(?:\s*(?:-|–|~|to|至|到|/)\s*{number})?\s*({unit})(?![a-z])", re.IGNORECASE)


@functools.cache
def _times() -> re.Pattern[str]:
    number = rf"({'|'.join(_words().numbers)}|\d+)"
    return re.compile(
        rf"{number}\s*(?:times|次)?\s*(?:a day|daily|per day|/d|/日|/天)|每[日天]\s*{number}\s*次|"
        rf"一[日天]\s*{number}\s*次|日\s*(\d+)\s*次|\b({'|'.join(_words().abbreviations)})\b",
        re.IGNORECASE,
    )


class Amount(NamedTuple):
    """An amount in milligrams for a weight, else in units, millilitres or per cent."""

    least: float
    most: float
    unit: str


def amounts(text: str) -> Iterator[Amount]:
    """Yields the amounts of a text, but not those per kilogram, square metre or hour."""
    return (_read_amount(match) for match in _amount().finditer(text) if not _words().per.match(text[match.end() :]))


def _read_amount(match: re.Match[str]) -> Amount:
    unit = match[3].casefold()
    ends = [float(number) * _words().units[unit] for number in (match[1], match[2] or match[1])]
    return Amount(min(ends), max(ends), unit)


def _times_a_day(text: str) -> float:
    """Returns how often a day something is taken; 0 if that is not written."""
    if every := _words().every.search(text):
        hours = int(every[1] or every[2])
        return _HOURS / hours if hours else 0.0
    if told := _times().search(text):
        word = next(group for group in told.groups() if group).casefold()
        known = _words().numbers.get(word) or _words().abbreviations.get(word)
        return float(known or (int(word) if word.isdigit() else 0))
    return 0.0


def affirmed_and_denied(text: str) -> tuple[str, str]:
    """Returns the parts of a text that say what is to be done, and those that say what is not."""
    words = _words()
    affirmed, denied = [], []
    for clause in words.clause.split(text):
        condition = words.condition.search(clause)
        # "If not better" denies nothing that is to be done.
        said = clause if condition is None else clause[: condition.start()]
        found = words.denial.search(said)
        start = 0 if words.denied_before.search(said) else len(clause) if found is None else found.start()
        affirmed.append(clause[:start])
        denied.append(clause[start:])
    return "\n".join(affirmed), "\n".join(denied)


def without_condition(text: str) -> str:
    """Returns a point without what says first for whom it is."""
    return _words().condition_before.sub("", text) or text


def without_qualifiers(text: str) -> str:
    """Returns a point without the conditions before it and behind it."""
    bare = without_condition(text)
    bare = _words().time_before.sub("", bare) or bare
    return _words().qualifier.sub("", bare).strip(" ,，;；") or text


def names_measure(point: str, given: Sequence[str], whole: str = "") -> bool:
    """Returns whether a report names a point that is not a drug: its first measure, or most of all of them.

    A return visit must be named with its reason or time, which `whole` has if the point is cut short.
    """
    words = _words()
    done, left = affirmed_and_denied("\n".join(given))
    core = without_qualifiers(point)
    bare = words.purpose.sub("", core)
    # "Test for chlamydia" is no test for something else.
    measures = [part.strip() for part in words.between.split(bare if len(_pieces(bare)) > 1 else core) if _pieces(part)]
    if not measures:
        return False
    if words.return_visit.search(measures[0]) or words.to_return.search(core):
        wanted = pieces(words.return_visit.sub(" ", whole or point, count=1))
        visits = [words.return_visit.sub(" ", line, count=1) for line in given if words.return_visit.search(line)]
        return any(not wanted or wanted & pieces(visit) for visit in visits)
    to_do, to_leave = affirmed_and_denied(measures[0])
    # "Stop", "no" and "never" say the same of smoking.
    left_out = words.denial.sub(" ", to_leave)
    if pieces(left_out):
        return says(left_out, left) or (bool(pieces(to_do) - _OF_DENIAL) and says(to_do, done))
    return says(measures[0], done) or says(" ".join(m for m in measures if not words.return_visit.search(m)), done)


def says(measure: str, text: str) -> bool:
    """Returns whether a text has most words of a measure, or exactly half of them with the last."""
    wanted, there = _pieces(measure), pieces(text)
    share = len(wanted & there) / len(wanted) if wanted else 0.0
    words = measure.split() if measure.isascii() else [measure.rstrip()[-2:]]
    last = next((_pieces(word) for word in reversed(words) if _pieces(word)), frozenset())
    return share > HALF or (share == HALF and bool(last & there))


def _pieces(text: str) -> frozenset[str]:
    """Returns the pieces of a text without its numbers, which name nothing."""
    return frozenset(piece for piece in pieces(text) if not piece[0].isdigit())


class DuePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One point of what is due."""

    text: str  # as the record has it
    named: bool  # whether the report names it, in a way that helps
    dosed: bool | None = None  # whether it says the dose; None where the record has none, or it is not named
    against: Against | None = None  # why what is written does not count; None if it does, or nothing is written


def due_points(due: Sequence[str], given: Sequence[str], knowledge: Knowledge) -> tuple[DuePoint, ...]:
    """Returns each point of what is due, beside a report's treatment."""
    return tuple(_beside(text, given, _drug_names(knowledge)) for text in due)


def graded(points: Sequence[DuePoint], language: Language) -> tuple[Grade, str]:
    """Returns the grade of a treatment, by the share of its points that are named, and which those are."""
    named = tuple(point.text for point in points if point.named)
    told = _words().against[language]
    missed = tuple(
        told[point.against].format(point=point.text) if point.against else point.text
        for point in points
        if not point.named
    )
    shares = {"named": len(named) / len(points)}
    return _BY_POINT.grade(shares), analysis(AspectMatch(shares, matched=named, missed=missed), language)


@functools.lru_cache(maxsize=16)
def _drug_names(knowledge: Knowledge) -> DrugNames:
    return DrugNames(knowledge.drugs)


def _beside(text: str, given: Sequence[str], names: DrugNames) -> DuePoint:
    head = _head(without_condition(text))
    due, _ = affirmed_and_denied(without_qualifiers(head))
    drugs = tuple(names.in_plan(due))
    if not drugs:
        return _procedure_beside(text, head, given)
    found = [(id, line) for line in given for id in drugs if _prescribes(line, id, names)]
    # Another drug for the same reason shares every word but the one that counts.
    borne = [(id, line) for id, line in found if not _is_deadly(line, id, names)]
    if found and not borne:
        return DuePoint(text=text, named=False, against="dose")
    return DuePoint(text=text, named=bool(borne), dosed=_is_dosed(text, [line for _, line in borne]) if borne else None)


def _procedure_beside(text: str, head: str, given: Sequence[str]) -> DuePoint:
    """Returns a point that is not a drug: by its action and part if it has any, else by its words."""
    words = procedure_words()
    due = words.read(affirmed_and_denied(without_condition(text))[0])
    done = [line for line in given if words.read(affirmed_and_denied(line)[0]).names(due)]
    by_words = names_measure(head, given, text)
    if due.done and (done or by_words) and all(words.is_put_off(line, text) for line in done or given):
        return DuePoint(text=text, named=False, against="put off")
    named = bool(done) or by_words
    return DuePoint(text=text, named=named, dosed=_is_dosed(text, given) if named else None)


def _is_dosed(text: str, lines: Sequence[str]) -> bool | None:
    """Whether lines say the dose of a point; None where it has none."""
    wanted = _amount().search(text)
    if wanted is None:
        return None
    least, most, _ = _read_amount(wanted)
    return any(low <= most * _NEAR and high >= least / _NEAR for line in lines for low, high, _ in amounts(line))


def _head(text: str) -> str:
    """Returns a point without the dose or reason that follows; any other text as it is."""
    if _amount().search(text) is None and not text.rstrip(" .。").endswith((")", "）")):
        return text
    return _words().behind.split(text, maxsplit=1)[0].strip() or text


def _prescribes(line: str, id: str, names: DrugNames) -> bool:
    done, _ = affirmed_and_denied(line)
    # Of a long name two of three words will do ("sodium chloride"); of a short one each tells drugs apart.
    long = (name for name in names.own[id] if len(pieces(name)) >= _LONG)
    return any(True for _ in names.mentioned(done, id)) or any(says(name, done) for name in long)


def _is_deadly(line: str, id: str, names: DrugNames) -> bool:
    """Whether a line gives a drug in a deadly dose, between its name and the next one."""
    for sentence in _words().sentence.split(line):
        starts = sorted(start for other in names.own for start, _ in names.mentioned(sentence, other))
        for start, end in names.mentioned(sentence, id):
            behind = next((at for at in starts if at >= end), len(sentence))
            before = sentence[:start] if start == min(starts) else ""
            told = sentence[end:behind] if _amount().search(sentence[end:behind]) else before + sentence[end:behind]
            usual, times = names.most[id], _times_a_day(told)
            # An amount in another kind of unit than the drug's does not count.
            kind = _words().of_units if usual.unit == "units" else _words().of_weight
            if any(usual.too_much(one.least, times) for one in amounts(told) if one.unit in kind):
                return True
    return False
