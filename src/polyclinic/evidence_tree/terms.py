"""Standard terms that name a quantity and say where it lies ("leukocytosis", "hypoxia"), held against the results.

A term is right where what was measured lies where it says, and wrong where it lies elsewhere; what was not measured is
not there. Beside the term nothing may stand but its number, and words that say nothing more: an "orthostatic"
hypotension is more than a low blood pressure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.evidence_tree.claims import language_in
from polyclinic.evidence_tree.printed import WORDS as TREE_WORDS
from polyclinic.evidence_tree.results import HeldAgainst, NumbersHeld, Said
from polyclinic.evidence_tree.support_words import SupportWords
from polyclinic.evidence_tree.values import Standing, figures
from polyclinic.language.clauses import clause_words
from polyclinic.language.overlap import pieces
from polyclinic.language.word_lists import Pattern, WordLists

_NEVER = re.compile("(?!)")
NO_CLAIM = HeldAgainst("no claim")


_SIDES: tuple[Standing, ...] = ("high", "low")
_NORMAL: Standing = "normal"


class _StandardTerm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    of: tuple[str, ...]
    called: Pattern = _NEVER
    high: Pattern = _NEVER
    low: Pattern = _NEVER
    normal: Pattern = _NEVER
    lasting: bool = False


class _JointTerm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    say: Pattern
    high: tuple[str, ...] = ()
    low: tuple[str, ...] = ()


class _TermWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    past: Pattern
    beside: Pattern
    pressure: Pattern
    terms: tuple[_StandardTerm, ...]
    together: tuple[_JointTerm, ...]


class _WantedPlace(NamedTuple):
    """Where items have to lie: any of them, or each."""

    items: tuple[str, ...]
    where: Standing
    each: bool
    lasting: bool = False


class _Found(NamedTuple):
    """A term of a claim; without a direction of its own where it only names."""

    start: int
    end: int
    items: tuple[str, ...]
    wanted: tuple[_WantedPlace, ...] = ()


_words = WordLists(Path(__file__).with_name("terms")).section("terms", _TermWords)
_support_words = TREE_WORDS.section("support", SupportWords)


class TermsHeld:
    """The standard terms, held against the results of one record."""

    def __init__(self, results: NumbersHeld) -> None:
        self._results = results

    def hold(self, claim: str) -> HeldAgainst:
        """Returns what the results say to a claim that is made of standard terms; "no claim" to any other."""
        language = language_in(claim)
        words, denial = _words(language), clause_words(language).denial.match(claim.strip())
        said = claim.strip()[denial.end() :] if denial is not None else claim.strip()
        if words.past.search(said):
            return NO_CLAIM
        pressure = words.pressure.search(said)
        bare = said if pressure is None else said[: pressure.start()] + said[pressure.end() :]
        terms = _terms_in(bare, words)
        if not terms:
            return NO_CLAIM
        rest = bare
        for term in reversed(terms):
            rest = f"{rest[: term.start]} {rest[term.end :]}"
        claimed = self._results.claimed(rest)
        held = [self._term(term, claimed) for term in terms]
        if pressure is not None:
            held.append(self._pressure(terms, float(pressure[1]), float(pressure[2])))
        spoken_of = tuple(result for term in terms for item in term.items for result, _ in self._results.of_item(item))
        if figures(rest):
            held.append(self._results.hold(rest, spoken_of))
        elif self._left(rest, language, named=any(not term.wanted for term in terms)):
            return NO_CLAIM
        return _all_of([one for one in held if one is not None], denied=denial is not None)

    def _left(self, rest: str, language: str, *, named: bool) -> bool:
        """Whether anything else is said."""
        words, support = _words(language), _support_words(language)  # type: ignore[arg-type]
        patterns = [words.beside, support.degree]
        if named:
            patterns += [support.normal, support.low, support.high, support.abnormal]
        for pattern in patterns:
            rest = pattern.sub(" ", rest)
        return bool(pieces(rest))

    def _term(self, term: _Found, claimed: Standing | None) -> HeldAgainst | None:
        """Returns what the results say to a term; None to a name of which nothing is said but a number."""
        wanted = term.wanted
        if not wanted:
            if claimed is None:
                return None
            wanted = (_WantedPlace(term.items, claimed, claimed == "normal"),)
        return _all_of([self._where(one) for one in wanted])

    def _where(self, wanted: _WantedPlace) -> HeldAgainst:
        found = [
            (result, standing)
            for item in wanted.items
            for result, reading in self._results.of_item(item)
            if (standing := self._results.standing(result, reading)) is not None
        ]
        right = [r for r, at in found if at == wanted.where or (wanted.where == "abnormal" and at != "normal")]
        wrong = [r for r, _ in found if r not in right]
        if not found or (wanted.lasting and not right):
            return HeldAgainst("not there")
        if (wanted.each and wrong) or not right:
            return HeldAgainst("contradicted", by=wrong[0])
        return HeldAgainst("supported", by=right[0])

    def _pressure(self, terms: Sequence[_Found], systolic: float, diastolic: float) -> HeldAgainst:
        if not any("systolic" in term.items for term in terms):
            return NO_CLAIM
        pairs = [
            (result, reading, value)
            for item, value in (("systolic", systolic), ("diastolic", diastolic))
            for result, reading in self._results.of_item(item)
        ]
        by_item = {reading.item for _, reading, _ in pairs}
        borne = {reading.item for _, reading, value in pairs if reading.low == reading.high == round(value)}
        if len(by_item) < 2:
            return HeldAgainst("not there")
        by = next(result for result, reading, _ in pairs if reading.item in (by_item - borne or borne))
        return HeldAgainst("supported" if borne == by_item else "contradicted", by=by)


def _terms_in(text: str, words: _TermWords) -> list[_Found]:
    """Returns the terms of a text in order; longer ones win over shorter ones that they overlap."""
    found: list[_Found] = []
    for term in words.terms:
        for where in (*_SIDES, _NORMAL):
            wanted = (_WantedPlace(term.of, where, where == _NORMAL, term.lasting),)
            found += [_Found(m.start(), m.end(), term.of, wanted) for m in getattr(term, where).finditer(text)]
        found += [_Found(m.start(), m.end(), term.of) for m in term.called.finditer(text)]
    for several in words.together:
        each = tuple(_WantedPlace((i,), w, True) for w in _SIDES for i in getattr(several, w))
        found += [_Found(m.start(), m.end(), (*several.high, *several.low), each) for m in several.say.finditer(text)]
    kept: list[_Found] = []
    for one in sorted(found, key=lambda f: f.start - f.end):
        if all(one.end <= other.start or one.start >= other.end for other in kept):
            kept.append(one)
    return sorted(kept)


_OTHERWISE: dict[Said, Said] = {"supported": "contradicted", "contradicted": "supported"}


def _all_of(held: Sequence[HeldAgainst], *, denied: bool = False) -> HeldAgainst:
    """Returns the worst of several answers; of a denial, whether one of them is not so."""
    for verdict in ("no claim", "contradicted", "not there"):
        worst = next((one for one in held if one.verdict == verdict), None)
        if worst is not None:
            break
    else:
        worst = next(iter(held), NO_CLAIM)
    return worst._replace(verdict=_OTHERWISE.get(worst.verdict, worst.verdict)) if denied else worst
