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

import numpy as np
from numpy.typing import NDArray

from polyclinic.memory.case_table import NOT_THERE, CaseTable, Numbers
from polyclinic.memory.entries import Entry, Experience, MedicalRecord
from polyclinic.memory.library import MemoryLibrary

Shares = NDArray[np.float64]

_SMOOTH = 3.0
"""So many cases of the usual kinds stand behind each statement."""


_LEAST = 1e-12
"""A kind that nothing speaks for is still possible."""


_SURELY = 0.98
"""So often at most is a statement made of those of one kind; what is not said never rules a kind out."""

_GUIDED = 32
"""Cases for which what statements are worth is not worked out anew while they are taken in."""

_AT_ONCE = 1024
"""Cases that are worked out at once."""

_KEPT = 1 << 20
"""So many shares are kept at most, as long as nothing new is learnt."""

_Places = Sequence[int] | NDArray[np.int64]


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
        silence: what is not said speaks, too; for so much of what it would, were each statement made by chance alone.
    """

    def __init__(self, labels: Sequence[str], group: str = "", *, trust: float = 1.0, silence: float = 0.0) -> None:
        self._trust, self._silence = trust, silence
        self._labels = {label: place for place, label in enumerate(labels)}
        self._group = group
        self._numbers: dict[str, int] = {}
        self._kinds: dict[str | frozenset[str], int] = {}
        # A row each statement, from 1; row 0 is no statement, which says nothing.
        self._counts = np.zeros((256, 0))
        self._cases = CaseTable()
        self._worth: tuple[Shares, Shares] | None = None
        self._every: tuple[Shares, Shares] | None = None
        self._added = self._looked_at = 0
        self._guide: tuple[Shares, Shares] | None = None
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
        new: list[tuple[int, int, int, Entry]] = []
        for which, library in enumerate((records, experience)):
            first = self._cases.of_library(which)
            entries: Sequence[Entry] = [] if library is None else library.entries[first:]
            new += [(entry.asked.number, which, place, entry) for place, entry in enumerate(entries, first)]
            self._cases.extend(which, len(entries))
        # In the order in which patients came, so that the same is learnt however often it is looked at.
        for _, which, place, entry in sorted(new, key=lambda one: one[:3]):
            if entry.asked.query.endswith(self._group):
                self._take_in(which, place, entry, turned_out.get(entry.asked.case))
            self._added += 1

    def kinds(self, query: str) -> Shares:
        """Returns how likely a patient of whom that is said is of each kind."""
        numbers = [self._numbers[one] for one in query.splitlines() if one in self._numbers]
        worth, silent = self._scores()
        return self._shares(worth[numbers].sum(axis=0) + silent)

    def kinds_of(self, records: _Places, experience: _Places) -> tuple[Shares, Shares]:
        """Returns it of entries, of records and then of experience, a row each: by what is said, and as known.

        Both are 0 of a case of another group.
        """
        rows = self.rows_of(records, experience)
        there = np.flatnonzero(rows != NOT_THERE)
        shares = self._of(rows if len(there) == len(rows) else rows[there])
        if len(there) == len(rows):
            return shares
        whole = np.zeros((2, len(rows), len(self._kinds)))
        whole[:, there] = shares
        return whole[0], whole[1]

    def rows_of(self, records: _Places, experience: _Places) -> Numbers:
        """Returns the rows of entries among the cases, `NOT_THERE` of a case of another group."""
        return np.concatenate([self._cases.rows_of(0, records), self._cases.rows_of(1, experience)])

    @property
    def cases(self) -> CaseTable:
        """The cases that it was learnt from."""
        return self._cases

    def _of(self, rows: Numbers) -> tuple[Shares, Shares]:
        """Returns of cases by their rows how likely they are of each kind, by what is said and as known."""
        if self._every is None:
            # Of whom many ask while nothing new is learnt, all cases are worked out at once, and not one by one again.
            n = len(self._cases)
            self._looked_at += len(rows)
            if self._looked_at <= n or n * len(self._kinds) > _KEPT:
                return self._worked_out(rows)
            parts = [
                self._worked_out(np.arange(first, min(first + _AT_ONCE, n), dtype=np.int32))
                for first in range(0, n, _AT_ONCE)
            ]
            self._every = np.concatenate([said for said, _ in parts]), np.concatenate([known for _, known in parts])
        said, known = self._every
        return said.take(rows, axis=0), known.take(rows, axis=0)

    def _worked_out(self, rows: Numbers) -> tuple[Shares, Shares]:
        # A statement of each case after the other, so that whole rows of cases are added up.
        numbers = self._cases.statements.take(rows, axis=0).T
        worth, silent = self._scores()
        said = self._shares(worth.take(numbers, axis=0).sum(axis=0) + silent)
        return said, self._known(said, self._cases.kinds[rows], self._cases.labels[rows])

    def _take_in(self, which: int, place: int, entry: Entry, turned_out: str | None) -> None:
        """Takes a case in; one of another group does not count, nor one for which no label was right."""
        right = {entry.answer} if isinstance(entry, MedicalRecord) else set(entry.right)
        statements = list(dict.fromkeys(entry.asked.query.splitlines() or [""]))
        if not right & self._labels.keys() or (self._group and statements[-1] != self._group):
            return
        numbers = np.array([self._numbers.setdefault(one, len(self._numbers) + 1) for one in statements], dtype=np.intp)
        while len(self._numbers) >= len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        kind, label, answered, led_to = NOT_THERE, NOT_THERE, NOT_THERE, 0
        if isinstance(entry, MedicalRecord):
            label = answered = self._labels[entry.answer]
            led_to = len(entry.led_to)
        if entry.judged_by == "outcome":
            # That somebody got well does not say that it was right: it speaks for the answer, and for nothing else.
            turned_out, label = None, NOT_THERE
        if turned_out is not None or label < 0 or not self._right[0, label].any():
            kind = self._kind(turned_out or frozenset(right))
            for one in self._labels.values() if label < 0 else (label,):
                self._right[1, one, kind] += 1
            for name in right & self._labels.keys():
                self._right[0, self._labels[name], kind] += 1
        share = self._share(numbers, kind, label)
        self._counts[numbers] += share
        self.usual += share
        self._worth, self._every, self._looked_at = None, None, 0
        self._cases.add(which, place, numbers.tolist(), (kind, label, answered, led_to))

    def _share(self, numbers: NDArray[np.intp], kind: int, label: int) -> Shares:
        """Returns for how much a new case counts in each kind; 1 together."""
        fitting = [kind] if kind >= 0 else np.flatnonzero(self._right[0, label])
        share = np.zeros(len(self._kinds))
        if len(fitting) == 1:
            share[fitting] = 1.0
            return share
        # What statements are worth is not worked out anew for each case, and the same whoever looks on in between.
        if self._guide is None or self._guide[0].shape[1] != len(self._kinds) or self._added % _GUIDED == 0:
            self._guide = self._scores()
        worth, silent = self._guide
        said = self._shares(worth[numbers[numbers < len(worth)]].sum(axis=0) + silent)[fitting] + _LEAST
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

    def _known(self, said: Shares, kinds: Numbers, labels: Numbers) -> Shares:
        """Returns how likely each case is of each kind, with what was right for it."""
        every = np.concatenate([np.eye(len(self._kinds)), self._right[0] > 0])
        possible = (said + _LEAST) * every.take(np.where(kinds >= 0, kinds, len(self._kinds) + labels), axis=0)
        shares: Shares = possible / possible.sum(axis=1, keepdims=True)
        return shares

    def _scores(self) -> tuple[Shares, Shares]:
        """Returns of each statement and kind how much likelier it is said of that kind than usual, and of silence.

        As logarithms; the second is of each kind that nothing at all is said.
        """
        if self._worth is None:
            usual = (self.usual + 1) / (self.usual + 1).sum()
            counts = self._counts[: len(self._numbers) + 1]
            shares = (counts + _SMOOTH * usual) / (counts.sum(axis=1, keepdims=True) + _SMOOTH)
            worth = np.log(shares / usual)
            worth[0], silent = 0.0, np.zeros(len(usual))
            if self._silence:
                unsaid = self._silence * np.log1p(-np.minimum(counts / (self.usual + 2), _SURELY))
                worth -= unsaid
                silent = unsaid.sum(axis=0)
            self._worth = worth, silent
        return self._worth

    def _shares(self, scores: Shares) -> Shares:
        whole = self._trust * scores + np.log(self.usual + 1)
        # Of few kinds and many cases, whole rows of cases are compared, kind by kind.
        most = np.ascontiguousarray(whole.T).max(axis=0, initial=-np.inf)
        shares: Shares = np.exp(whole - most[..., None])
        shares /= shares.sum(axis=-1, keepdims=True)
        return shares
