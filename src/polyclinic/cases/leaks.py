"""Finds the truth where a doctor was given it: a diagnosis or a distinctive finding, word for word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.terms import diagnosis_terms, result_terms
from polyclinic.language.folding import Folded

_Kind = Literal["diagnosis", "finding"]


class Leak(msgspec.Struct, frozen=True, kw_only=True):
    """A text that holds what only the truth, or a finding that nobody asked for, says.

    Attributes:
        kind: what stands there.
        term: the words that were found.
        where: which of the texts, from 0.
        excerpt: the words around it.
    """

    kind: _Kind
    term: str
    where: int
    excerpt: str


def truth_terms(case: Case) -> tuple[str, ...]:
    """Returns what to search for to find the case's diagnoses: names, their distinctive parts, and abbreviations.

    Longest first. Nothing shorter than four Latin letters or two Chinese characters, except abbreviations that
    stand in brackets behind a name.
    """
    return diagnosis_terms(case.truth.diagnoses)


def finding_terms(case: Case) -> tuple[str, ...]:
    """Returns the results that are distinctive: long enough, or a number with three digits and a unit.

    Longest first. "Normal", "negative" and small bare numbers stand in too many texts to tell anything.
    """
    return result_terms(case.record.findings)


def find_leaks(texts: Iterable[str], case: Case, *, revealed: Iterable[str] = ()) -> list[Leak]:
    """Finds diagnoses and findings that stand in texts which a doctor was given.

    Args:
        texts: what the doctor was given, such as prompts.
        case: whose truth and findings may not stand there.
        revealed: what patient and examiner have said before; what stands there, or in the presentation, is no leak.

    Returns:
        For each text each term at most once, and no term that lies inside a longer one that was found.
    """
    presentation = case.presentation
    known: list[Folded] | None = None
    searched: tuple[tuple[_Kind, tuple[str, ...]], ...] = (
        ("diagnosis", truth_terms(case)),
        ("finding", finding_terms(case)),
    )
    leaks: list[Leak] = []
    for where, text in enumerate(texts):
        folded = Folded(text)
        seen: list[str] = []
        for kind, terms in searched:
            for term in terms:
                at = folded.find(term)
                if at < 0 or any(term.casefold() in longer for longer in seen):
                    continue
                if known is None:
                    known = [Folded(t) for t in (presentation.complaint, presentation.about, *revealed)]
                if any(k.find(term) >= 0 for k in known):
                    continue
                seen.append(term.casefold())
                leaks.append(Leak(kind=kind, term=term, where=where, excerpt=folded.around(at, len(term))))
    return leaks
