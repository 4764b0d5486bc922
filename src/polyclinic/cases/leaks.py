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
    """A text that holds what only the truth, or a finding that nobody asked for, says; `where` counts from 0."""

    kind: _Kind
    term: str
    where: int
    excerpt: str


def truth_terms(case: Case) -> tuple[str, ...]:
    """Returns what to search for to find the case's diagnoses; see `diagnosis_terms`."""
    return diagnosis_terms(case.truth.diagnoses)


def find_leaks(texts: Iterable[str], case: Case, *, revealed: Iterable[str] = ()) -> list[Leak]:
    """Finds diagnoses and findings that stand in texts which a doctor was given, such as prompts.

    What patient and examiner have revealed before, or the presentation says, is no leak. Each term is found at most
    once in a text, and none that lies inside a longer one.
    """
    presentation = case.presentation
    known: list[Folded] | None = None
    searched: tuple[tuple[_Kind, tuple[str, ...]], ...] = (
        ("diagnosis", truth_terms(case)),
        ("finding", result_terms(case.record.findings)),
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
