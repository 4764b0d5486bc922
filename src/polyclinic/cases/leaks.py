"""Finds the truth where a doctor was given it: a diagnosis or a distinctive finding, word for word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.known import Known
from polyclinic.cases.terms import diagnosis_terms, result_terms
from polyclinic.cases.withhold import ways_known
from polyclinic.language.folding import Folded

_Kind = Literal["diagnosis", "finding"]


class Leak(msgspec.Struct, frozen=True, kw_only=True):
    """A text that holds what only the truth, or a finding that nobody asked for, says; `where` counts from 0."""

    kind: _Kind
    term: str
    where: int
    excerpt: str


def truth_terms(case: Case) -> tuple[str, ...]:
    """Returns what to search for to find those of the case's diagnoses that its visit is to find out.

    They are those of `diagnosis_terms` that the presentation does not give and no clause of the history tells as
    something known: an illness from before, a relative's, or one that is denied (see `known_as`).
    """
    terms = diagnosis_terms(case.truth.diagnoses)
    return tuple(term for term in terms if not _at_the_door(term, case) and not _ways_known(term, case))


def _at_the_door(term: str, case: Case) -> bool:
    presentation = case.presentation
    return any(Folded(text).find(term) >= 0 for text in (presentation.complaint, presentation.about))


def _ways_known(term: str, case: Case) -> set[Known]:
    """Returns how the patient knows of what a term names."""
    sections = case.record.history.sections()
    return {how for name, text in sections for how in ways_known(term, text, section=name) if how is not None}


def find_leaks(texts: Iterable[str], case: Case, *, revealed: Iterable[str] = ()) -> list[Leak]:
    """Finds diagnoses and findings that stand in texts which a doctor was given, such as prompts.

    What patient and examiner have revealed before, or the presentation says, is no leak; nor is an illness that the
    history tells as one from before this visit. One that is a relative's there, or denied, may be named as such. Each
    term is found at most once in a text, and none that lies inside a longer one.
    """
    presentation = case.presentation
    known: list[Folded] | None = None
    searched: tuple[tuple[_Kind, tuple[str, ...]], ...] = (
        ("diagnosis", diagnosis_terms(case.truth.diagnoses)),
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
                if kind == "diagnosis" and _may_be_named(term, text, case):
                    continue
                seen.append(term.casefold())
                leaks.append(Leak(kind=kind, term=term, where=where, excerpt=folded.around(at, len(term))))
    return leaks


def _may_be_named(term: str, text: str, case: Case) -> bool:
    """Whether the patient knows of what a term names, and a text names it as far as that goes."""
    ways = _ways_known(term, case)
    return "had" in ways or (bool(ways) and None not in ways_known(term, text))
