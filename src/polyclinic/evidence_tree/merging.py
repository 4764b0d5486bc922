"""Several trees as one: a diagnosis once, with all that is said for it, and nothing twice."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

from polyclinic.evidence_tree.tree import EvidenceTree, Reasoning, Suspected


def same_words(name: str) -> str:
    """Returns a name without case, width and signs, to tell whether two are the same."""
    return " ".join(re.sub(r"[^\w]+", " ", unicodedata.normalize("NFKC", name).casefold()).split()) or name


def merge(trees: Iterable[EvidenceTree], *, same: Callable[[str], str] = same_words) -> EvidenceTree:
    """Merges trees: diagnoses that are the `same`, reasonings in the same words, evidence in the same words.

    What stands first stays first; a diagnosis keeps the name that it has in the first tree that holds it.
    """
    names: dict[str, str] = {}
    merged: dict[str, dict[str, tuple[str, dict[str, str]]]] = {}
    for tree in trees:
        for one in tree.suspected:
            key = same(one.diagnosis)
            names.setdefault(key, one.diagnosis)
            under = merged.setdefault(key, {})
            for reasoning in one.reasonings:
                _, evidence = under.setdefault(same_words(reasoning.analysis), (reasoning.analysis, {}))
                for text in reasoning.evidence:
                    evidence.setdefault(same_words(text), text)
    return EvidenceTree(
        tuple(
            Suspected(names[key], tuple(Reasoning(said, tuple(texts.values())) for said, texts in under.values()))
            for key, under in merged.items()
        )
    )
