"""The typed evidence tree (Tree-of-Reasoning §3.2): diagnosis, reasoning, evidence.

    EvidenceTree((
        Suspected("Iron deficiency anaemia", (
            Reasoning("Small pale cells and empty stores.", ("hemoglobin 84 g/L", "ferritin 6 ug/L")),
        )),
    ))

A text of a tree is one line, and says something; a diagnosis has a reasoning, and a reasoning evidence. What has not is
no tree: where a model gives such a thing, its answer is unreadable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple, TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)

_Name = Annotated[str, msgspec.Meta(min_length=1)]
_Texts = Annotated[tuple[_Name, ...], msgspec.Meta(min_length=1)]


def one_line(text: str) -> str:
    """Returns a text with every stretch of white space as one blank, and none around it."""
    return " ".join(text.split())


def _said(text: str, what: str) -> str:
    if not (line := one_line(text)):
        raise ValueError(f"a {what} of an evidence tree is blank")
    return line


class Reasoning(msgspec.Struct, frozen=True):
    """Why a diagnosis is suspected, and what in the record bears it."""

    analysis: _Name
    evidence: _Texts

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "analysis", _said(self.analysis, "reasoning"))
        msgspec.structs.force_setattr(
            self, "evidence", tuple(_said(text, "piece of evidence") for text in self.evidence)
        )
        if not self.evidence:
            raise ValueError("a reasoning of an evidence tree has no evidence")


class Suspected(msgspec.Struct, frozen=True):
    """A diagnosis that somebody suspects, and why."""

    diagnosis: _Name
    reasonings: Annotated[tuple[Reasoning, ...], msgspec.Meta(min_length=1)]

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "diagnosis", _said(self.diagnosis, "diagnosis"))
        if not self.reasonings:
            raise ValueError("a diagnosis of an evidence tree has no reasoning")


class Leaf(NamedTuple):
    """A piece of evidence in its place."""

    diagnosis: str
    analysis: str
    evidence: str


class EvidenceTree(msgspec.Struct, frozen=True):
    """What somebody thinks the patient has, the likeliest first; nothing where nothing is suspected."""

    suspected: tuple[Suspected, ...] = ()

    def leaves(self) -> Iterator[Leaf]:
        """Yields every piece of evidence with the diagnosis and the reasoning that it stands under."""
        for one in self.suspected:
            for reasoning in one.reasonings:
                for text in reasoning.evidence:
                    yield Leaf(one.diagnosis, reasoning.analysis, text)

    def pruned(self, keep: Callable[[Leaf], bool]) -> EvidenceTree:
        """Returns the tree without the evidence that is not kept, and without what is then borne by nothing."""
        suspected = []
        for one in self.suspected:
            reasonings = []
            for reasoning in one.reasonings:
                leaves = (Leaf(one.diagnosis, reasoning.analysis, text) for text in reasoning.evidence)
                if kept := tuple(leaf.evidence for leaf in leaves if keep(leaf)):
                    reasonings.append(Reasoning(reasoning.analysis, kept))
            if reasonings:
                suspected.append(Suspected(one.diagnosis, tuple(reasonings)))
        return EvidenceTree(tuple(suspected))
