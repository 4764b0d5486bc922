"""A likeness that a doctor learns from its own cases: how likely two patients needed the same, by what is said of each.

A statement is worth what those of whom it was said turned out to need; "feverish" and "a temperature" are alike where
the same was right after both. It is memory-based reasoning's measure of values (Stanfill and Waltz, CACM 29:1213,
1986). It knows no disease: of statements that nobody remembered has made, it says nothing.

Cases are of one kind where they turned out to be the same, or, where nobody says what they turned out to be, where the
same answers were right. Where an answer was wrong, all that would have been right is known; where it was right, a case
of which no more is known is of any kind for which that answer is right, as likely as its statements say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyclinic.memory.entries import Entry, Experience, MedicalRecord
from polyclinic.memory.library import MemoryLibrary

Shares = NDArray[np.float64]

_SMOOTH = 3.0
"""So many cases of the usual kinds stand behind each statement."""


_LEAST = 1e-12
"""A kind that nothing speaks for is still possible."""


_GUIDED = 32
"""Cases for which what statements are worth is not worked out anew while they are taken in."""


class _CaseCounted(NamedTuple):
    """A case by the numbers of its statements, with its kind; or, where the kind is not known, what was right."""

    statements: NDArray[np.intp]
    kind: int
    label: int


class TurnedOut:
    """What each remembered patient turned out to have, by the records and the experience of diagnoses."""

    def __init__(self) -> None:
        self.of_case: dict[str, str] = {}
        self._records = self._experience = 0

    def learn(self, records: MemoryLibrary[MedicalRecord] | None, experience: MemoryLibrary[Experience] | None) -> None:
        """Takes in what the libraries have got since; None of one that is not used."""
        if records is not None:
            self.of_case |= {one.asked.case: one.answer for one in records.entries[self._records :]}
            self._records = len(records)
        if experience is not None:
            right = {one.asked.case: " / ".join(sorted(one.right)) for one in experience.entries[self._experience :]}
            self.of_case |= right
            self._experience = len(experience)


class LearntLikeness:
    """What statements are worth for one task, learnt as its libraries grow.

    Args:
        labels: what could be answered.
        group: the last statement of the cases that count; "" for all.
        trust: what is said of one patient goes together; each statement counts for so much of what it would alone.
    """

    def __init__(self, labels: Sequence[str], group: str = "", *, trust: float = 1.0) -> None:
        self._trust = trust
        self._labels = {label: place for place, label in enumerate(labels)}
        self._group = group
        self._numbers: dict[str, int] = {}
        self._kinds: dict[str | frozenset[str], int] = {}
        self._counts = np.zeros((256, 0))
        self._cases: tuple[list[_CaseCounted | None], list[_CaseCounted | None]] = ([], [])
        self._worth: Shares | None = None
        self._guide: Shares | None = None
        self._right = np.zeros((2, len(labels), 0))
        """How often each label, a row, was right for each kind, of how often that is known."""
        self.usual: Shares = np.zeros(0)
        """How many cases are of each kind."""

    @property
    def fits(self) -> Shares:
        """For what part of the cases of each kind each label, a row, is right."""
        right, known = self._right
        shares: Shares = right / np.maximum(known, 1.0)
        return shares

    def learn(
        self,
        records: MemoryLibrary[MedicalRecord] | None,
        experience: MemoryLibrary[Experience] | None,
        turned_out: Mapping[str, str],
    ) -> None:
        """Takes in what the libraries have got since; None of one that is not used.

        `turned_out` says of cases, by id, what kind they turned out to be.
        """
        new: list[tuple[int, int, Entry]] = []
        for which, library in enumerate((records, experience)):
            entries: Sequence[Entry] = [] if library is None else library.entries[len(self._cases[which]) :]
            new += [(entry.asked.number, which, entry) for entry in entries]
        # In the order in which patients came, so that the same is learnt however often it is looked at.
        for _, which, entry in sorted(new, key=lambda one: one[:2]):
            self._cases[which].append(self._case(entry, turned_out.get(entry.asked.case)))

    def kinds(self, query: str) -> Shares:
        """Returns how likely a patient of whom that is said is of each kind."""
        numbers = [self._numbers[one] for one in query.splitlines() if one in self._numbers]
        return self._shares(self._scores()[numbers].sum(axis=0))

    def kinds_of(self, which: int, places: Sequence[int]) -> tuple[Shares, Shares]:
        """Returns it of entries of the records (0) or of the experience (1), a row each: by what is said, and as known.

        Both are 0 of a case of another group.
        """
        cases = [self._cases[which][place] for place in places]
        there = [case for case in cases if case is not None]
        said, known = np.zeros((2, len(cases), len(self._kinds)))
        if there:
            rows = [row for row, case in enumerate(cases) if case is not None]
            said_of = [case.statements for case in there]
            ends = np.cumsum([0, *map(len, said_of[:-1])])
            flat = np.concatenate(said_of)
            said[rows] = self._shares(np.add.reduceat(self._scores()[flat], ends, axis=0))
            known[rows] = self._known(said[rows], there)
        return said, known

    def _case(self, entry: Entry, turned_out: str | None) -> _CaseCounted | None:
        """Takes a case in; None where it is of another group, or none of what was right could be answered."""
        statements = list(dict.fromkeys(entry.asked.query.splitlines() or [""]))
        right = {entry.answer} if isinstance(entry, MedicalRecord) else set(entry.right)
        if not right & self._labels.keys() or (self._group and statements[-1] != self._group):
            return None
        numbers = np.array([self._numbers.setdefault(one, len(self._numbers)) for one in statements], dtype=np.intp)
        while len(self._numbers) > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        kind, label = -1, -1
        if isinstance(entry, MedicalRecord):
            label = self._labels[entry.answer]
        if entry.judged_by == "outcome":
            # That somebody got well does not say that it was right: it speaks for the answer, and for nothing else.
            turned_out, label = None, -1
        if turned_out is not None or label < 0 or not self._right[0, label].any():
            kind = self._kind(turned_out or frozenset(right))
            for place in self._labels.values() if label < 0 else (label,):
                self._right[1, place, kind] += 1
            for one in right & self._labels.keys():
                self._right[0, self._labels[one], kind] += 1
        share = self._share(numbers, kind, label)
        self._counts[numbers] += share
        self.usual += share
        self._worth = None
        return _CaseCounted(numbers, kind, label)

    def _share(self, numbers: NDArray[np.intp], kind: int, label: int) -> Shares:
        """Returns for how much a new case counts in each kind; 1 together."""
        fitting = [kind] if kind >= 0 else np.flatnonzero(self._right[0, label])
        share = np.zeros(len(self._kinds))
        if len(fitting) == 1:
            share[fitting] = 1.0
            return share
        # What statements are worth is not worked out anew for each case, and the same whoever looks on in between.
        added = sum(map(len, self._cases))
        if self._guide is None or self._guide.shape[1] != len(self._kinds) or added % _GUIDED == 0:
            self._guide = self._scores()
        said = self._shares(self._guide[numbers[numbers < len(self._guide)]].sum(axis=0))[fitting] + _LEAST
        share[fitting] = said / said.sum()
        return share

    def _kind(self, name: str | frozenset[str]) -> int:
        place = self._kinds.setdefault(name, len(self._kinds))
        if place == self._right.shape[2]:
            self._right = np.concatenate([self._right, np.zeros((2, len(self._labels), 1))], axis=2)
            self._counts = np.concatenate([self._counts, np.zeros((len(self._counts), 1))], axis=1)
            self.usual = np.append(self.usual, 0.0)
            self._worth = None
        return place

    def _known(self, said: Shares, cases: Sequence[_CaseCounted]) -> Shares:
        """Returns how likely each case is of each kind, with what was right for it."""
        every = np.concatenate([np.eye(len(self._kinds)), self._right[0] > 0])
        rows = [case.kind if case.kind >= 0 else len(self._kinds) + case.label for case in cases]
        possible = (said + _LEAST) * every[rows]
        shares: Shares = possible / possible.sum(axis=1, keepdims=True)
        return shares

    def _scores(self) -> Shares:
        """Returns of each statement and kind, as a logarithm, how much likelier it is said of that kind than usual."""
        if self._worth is None:
            usual = (self.usual + 1) / (self.usual + 1).sum()
            counts = self._counts[: len(self._numbers)]
            shares = (counts + _SMOOTH * usual) / (counts.sum(axis=1, keepdims=True) + _SMOOTH)
            self._worth = np.log(shares / usual)
        return self._worth

    def _shares(self, scores: Shares) -> Shares:
        whole = self._trust * scores + np.log(self.usual + 1)
        shares: Shares = np.exp(whole - whole.max(axis=-1, keepdims=True, initial=-np.inf))
        shares /= shares.sum(axis=-1, keepdims=True)
        return shares
