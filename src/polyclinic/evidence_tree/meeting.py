"""The meeting of Tree-of-Reasoning's doctors: what each thinks by now, what was said to whom, and who can take part.

`polyclinic.methods.tree_of_reasoning` holds the meeting. Who thinks in it is one `Doctors`: a model, or rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from polyclinic.cases.presentation import Question
from polyclinic.evidence_tree.sources import Kind, RecordPart
from polyclinic.evidence_tree.tree import EvidenceTree
from polyclinic.retrieval.retriever import Passage

Opinion = EvidenceTree | str
"""What a doctor thinks: a tree, or plain language where the method goes without trees."""


class Wrote(msgspec.Struct, frozen=True, kw_only=True, tag="wrote", omit_defaults=True):
    """A doctor wrote its opinion: in round 0 the first, after looking up these passages; later what became of it."""

    by: Kind
    round: int
    opinion: Opinion
    passages: tuple[Passage, ...] = ()


class Remark(msgspec.Struct, frozen=True, kw_only=True, tag="remark"):
    """What a doctor said to another, in a turn of a round; both count from 1."""

    by: Kind
    to: Kind
    round: int
    turn: int
    text: str


class Concluded(msgspec.Struct, frozen=True, kw_only=True, tag="concluded"):
    """The head of the team merged the opinions, and chose the options that hold."""

    opinion: Opinion
    answers: frozenset[str]


Happening = Wrote | Remark | Concluded
"""What a meeting's log holds."""


@dataclass
class Meeting:
    """The meeting as it stands.

    Attributes:
        parts: who takes part, and what each reads.
        trees: whether opinions are trees.
        opinions: what each thinks by now; who has none has fallen silent.
        log: everything that happened, in order.
        round: from 1, and so is the turn; 0 before the cross-verification.
        step: how often everybody has waited for everybody; calls of one step are one round trip.
    """

    parts: Mapping[Kind, RecordPart]
    trees: bool = True
    opinions: dict[Kind, Opinion] = field(default_factory=dict)
    log: list[Happening] = field(default_factory=list)
    round: int = 0
    turn: int = 0
    step: int = 0

    def wrote(self, by: Kind, opinion: Opinion, passages: Sequence[Passage] = ()) -> None:
        """Writes down what a doctor thinks from now on."""
        self.opinions[by] = opinion
        self.log.append(Wrote(by=by, round=self.round, opinion=opinion, passages=tuple(passages)))

    def first(self, by: Kind) -> Opinion:
        """Returns what a doctor thought before the cross-verification."""
        return next(one.opinion for one in self.log if isinstance(one, Wrote) and one.by == by)

    def remarks(self, *, to: Kind | None = None) -> list[Remark]:
        """Returns what was said in this round, to everybody or to one doctor."""
        said = (one for one in self.log if isinstance(one, Remark) and one.round == self.round)
        return [one for one in said if to in (None, one.to)]

    def others(self, me: Kind) -> list[Kind]:
        """Returns who else has an opinion."""
        return [kind for kind in self.opinions if kind != me]


class Doctors(Protocol):
    """Who thinks for the four doctors and the head. Each is told its part, and of the meeting what it may know.

    Every method raises a `PlayFailure` where nothing came that could be used.
    """

    async def read(self, part: RecordPart, passages: Sequence[Passage], *, trees: bool) -> Opinion:
        """Returns a doctor's first opinion, from its part alone."""

    async def addressees(self, me: Kind, meeting: Meeting) -> Sequence[Kind]:
        """Returns to whom a doctor has something to say; nobody is an answer."""

    async def remark(self, me: Kind, to: Kind, meeting: Meeting) -> str:
        """Returns what a doctor says to another."""

    async def update(self, me: Kind, before: Opinion, meeting: Meeting) -> Opinion:
        """Returns what becomes of a doctor's opinion after a round."""

    async def conclude(self, meeting: Meeting, question: Question) -> Concluded:
        """Returns what the head of the team makes of it."""
