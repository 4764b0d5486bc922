"""A likeness that a doctor learns from its own cases: how likely two patients had the same, by what is said of each.

A statement is worth what those of whom it was said turned out to have; "feverish" and "a temperature" are alike where
the same was right for both. Memory-based reasoning's measure of values (Stanfill and Waltz, CACM 29:1213, 1986). It
knows no disease: of statements that nobody remembered has made, it says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polyclinic.memory.entries import Experience, MedicalRecord
from polyclinic.memory.library import MemoryLibrary

Shares = NDArray[np.float64]

_SMOOTH = 4.0
"""So many cases of the usual shares stand behind each statement."""

_TRUST = 0.6
"""Statements of one patient go together; each counts for so much of what it would alone."""


class LearntLikeness:
    """What statements are worth for one task, learnt as its libraries grow.

    Args:
        labels: what could be answered.
        group: the last statement of the entries that count; "" for all.
    """

    def __init__(self, labels: Sequence[str], group: str = "") -> None:
        self._labels = {label: place for place, label in enumerate(labels)}
        self._group = group
        self._numbers: dict[str, int] = {}
        self._counts = np.zeros((256, len(labels)))
        self._of_label = np.zeros(len(labels))
        self._seen: tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]] = ([], [])
        self._worth: Shares | None = None

    def learn(self, records: MemoryLibrary[MedicalRecord], experience: MemoryLibrary[Experience]) -> None:
        """Takes in what the libraries have got since."""
        for record in records.entries[len(self._seen[0]) :]:
            self._add(0, record.asked.query, (record.answer,))
        for lesson in experience.entries[len(self._seen[1]) :]:
            self._add(1, lesson.asked.query, lesson.right)

    def shares(self, query: str) -> Shares:
        """Returns how likely each answer is for a patient of whom that is said."""
        numbers = [self._numbers[one] for one in query.splitlines() if one in self._numbers]
        shares: Shares = self._softened(self._log_worth()[numbers].sum(axis=0)[None])[0]
        return shares

    def shares_of(self, kind: int, places: NDArray[np.int64]) -> Shares:
        """Returns the same for entries of the records (0) or of the experience (1), a row each."""
        rows = [self._seen[kind][place] for place in places.tolist()]
        if not rows:
            return np.zeros((0, len(self._labels)))
        ends = np.cumsum([0, *(len(row) for row in rows[:-1])])
        return self._softened(np.add.reduceat(self._log_worth()[np.concatenate(rows)], ends, axis=0))

    def _add(self, kind: int, query: str, right: Sequence[str]) -> None:
        statements = query.splitlines()
        if self._group and statements[-1] != self._group:
            self._seen[kind].append(np.zeros(1, dtype=np.int32))
            return
        numbers = [self._numbers.setdefault(one, len(self._numbers)) for one in dict.fromkeys(statements)]
        if len(self._numbers) > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        places = [self._labels[one] for one in right if one in self._labels]
        for place in places:
            self._counts[numbers, place] += 1
            self._of_label[place] += 1
        self._seen[kind].append(np.array(numbers, dtype=np.int32))
        self._worth = None

    def _log_worth(self) -> Shares:
        """Returns of each statement and label how much likelier it is said where that label was right."""
        if self._worth is None:
            usual = (self._of_label + 1) / (self._of_label + 1).sum()
            counts = self._counts[: max(1, len(self._numbers))]
            shares = (counts + _SMOOTH * usual) / (counts.sum(axis=1, keepdims=True) + _SMOOTH)
            self._worth = np.log(shares / usual)
        return self._worth

    def _softened(self, scores: Shares) -> Shares:
        usual = np.log((self._of_label + 1) / (self._of_label + 1).sum())
        scores = _TRUST * scores + usual
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: Shares = scores / scores.sum(axis=1, keepdims=True)
        return shares
