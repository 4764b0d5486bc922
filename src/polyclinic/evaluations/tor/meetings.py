"""Recorded meetings, and how their trees grew: what each round added and dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from polyclinic.cases.record import Record
from polyclinic.errors import BadInput
from polyclinic.evidence_tree.meeting import Concluded, Happening, Remark, Wrote
from polyclinic.evidence_tree.tree import EvidenceTree, Leaf, same_words
from polyclinic.files import MAX_RECORD_BYTES, read_records
from polyclinic.opened_files import opened


class RecordedMeeting(msgspec.Struct, frozen=True, kw_only=True):
    """A meeting of Tree-of-Reasoning's doctors on one record."""

    id: str
    record: Record
    options: dict[str, str]
    key: frozenset[str]  # the right options
    log: tuple[Happening, ...]  # everything that happened, in order
    chose: dict[str, frozenset[str]]  # the options that each method chose, by its name; the meeting's own first


def read_meetings(path: str | Path) -> list[RecordedMeeting]:
    """Reads meetings as `polyclinic eval tor --out` writes them."""
    return [one for _, one in read_records(Path(path), RecordedMeeting, "a meeting of 'polyclinic eval tor --out'")]


def holds_meetings(path: str | Path) -> bool:
    """Whether a file's first line is a meeting; what cannot be read twice is none."""
    if not Path(path).is_file():
        return False
    try:
        with opened(Path(path)) as file:
            first = msgspec.json.decode(file.readline(MAX_RECORD_BYTES), type=dict[str, msgspec.Raw])
    except (BadInput, msgspec.DecodeError, UnicodeDecodeError):
        return False
    return {"log", "chose", "record"} <= first.keys()


Change = Literal["new", "kept", "dropped"]


class GrownEvidence(NamedTuple):
    """A piece of evidence and what became of it."""

    leaf: Leaf
    change: Change


class GrownReasoning(NamedTuple):
    """A reasoning with its evidence; new or dropped where all of it is."""

    analysis: str
    change: Change
    evidence: tuple[GrownEvidence, ...]


class GrownDiagnosis(NamedTuple):
    """A diagnosis with its reasonings; new or dropped where all of them are."""

    diagnosis: str
    change: Change
    reasonings: tuple[GrownReasoning, ...]


class Grown(NamedTuple):
    """An opinion as it stood: by a doctor after a round, 0 before the first, or by the head; what was said before it.

    `text` is the opinion where it is no tree.
    """

    by: str
    round: int
    heard: tuple[Remark, ...]
    diagnoses: tuple[GrownDiagnosis, ...]
    text: str = ""


def stages(meeting: RecordedMeeting) -> Iterator[Grown]:
    """Yields the opinions of a meeting in their order, each beside the doctor's own before; the head's beside all."""
    last: dict[str, EvidenceTree] = {}
    heard: list[Remark] = []
    for one in meeting.log:
        if isinstance(one, Remark):
            heard.append(one)
            continue
        by = "head" if isinstance(one, Concluded) else one.by
        number = one.round if isinstance(one, Wrote) else max((r.round for r in heard), default=0)
        told = tuple(r for r in heard if by == r.to and r.round == number)
        if not isinstance(one.opinion, EvidenceTree):
            yield Grown(by, number, told, (), one.opinion)
            continue
        if by == "head":
            # All that the doctors held in the end is what the head could take over.
            before = [leaf for tree in last.values() for leaf in tree.leaves()]
        else:
            before = list(last[by].leaves()) if by in last else []
            last[by] = one.opinion
        yield Grown(by, number, told, grown(before, list(one.opinion.leaves()), compare=bool(before)))


def grown(before: Sequence[Leaf], now: Sequence[Leaf], *, compare: bool = True) -> tuple[GrownDiagnosis, ...]:
    """Returns what a tree holds by its leaves, with what it lost; without a comparison all of it is kept."""
    known, held = {_same(leaf) for leaf in before}, {_same(leaf) for leaf in now}
    marked = [GrownEvidence(leaf, "kept" if not compare or _same(leaf) in known else "new") for leaf in now]
    if compare:
        gone = {_same(leaf): leaf for leaf in before if _same(leaf) not in held}
        marked += [GrownEvidence(leaf, "dropped") for leaf in gone.values()]
    tree: dict[str, dict[str, list[GrownEvidence]]] = {}
    names: dict[str, str] = {}
    for one in marked:
        key = same_words(one.leaf.diagnosis)
        names.setdefault(key, one.leaf.diagnosis)
        under = tree.setdefault(key, {})
        said = one.leaf.analysis
        if one.change == "dropped" and said not in under:
            # A reasoning that only weighs otherwise now is the same one, and lost a piece of its evidence.
            said = next((now for now in under if _but_for_numbers(now) == _but_for_numbers(said)), said)
        under.setdefault(said, []).append(one)
    return tuple(
        GrownDiagnosis(
            names[key],
            _all([one for leaves in under.values() for one in leaves]),
            tuple(GrownReasoning(said, _all(leaves), tuple(leaves)) for said, leaves in under.items()),
        )
        for key, under in tree.items()
    )


def _all(evidence: Sequence[GrownEvidence]) -> Change:
    changes = {one.change for one in evidence}
    return changes.pop() if len(changes) == 1 else "kept"


def _but_for_numbers(analysis: str) -> str:
    return same_words(re.sub(r"\d+(?:\.\d+)?", " ", analysis))


def _same(leaf: Leaf) -> tuple[str, str]:
    """Returns what a leaf is known by; a reasoning in other words is no other evidence."""
    return same_words(leaf.diagnosis), same_words(leaf.evidence)
