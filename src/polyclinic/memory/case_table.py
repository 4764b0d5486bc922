"""The cases that a likeness is learnt from, as numbers: contiguous, a case a row, in arrays that grow by doubling.

What a patient costs must not depend on how many were before, and a neighbour must not cost an object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.signedinteger[Any]]

NOT_THERE = -1


class Rows:
    """Rows of numbers, one behind the other; small ones in two bytes, so that a row is read at one go."""

    def __init__(self, width: int, *, blank: int) -> None:
        self._blank, self._n = blank, 0
        self._all: Numbers = np.full((256, width), blank, dtype=np.int16)

    def __len__(self) -> int:
        return self._n

    @property
    def rows(self) -> Numbers:
        """All of them; a view that the next one may leave behind."""
        return self._all[: self._n]

    def append(self, row: Sequence[int] | Numbers) -> None:
        """Takes a row in; of one that is shorter than the widest so far, the rest is blank."""
        self.extend(1, len(row))
        self._widen(max(row))
        self._all[self._n - 1, : len(row)] = row

    def put(self, place: int, number: int) -> None:
        """Writes a number over a whole row."""
        self._widen(number)
        self._all[place] = number

    def _widen(self, most: int) -> None:
        if most > np.iinfo(self._all.dtype).max:
            self._all = self._all.astype(np.int32)

    def extend(self, n: int, width: int = 0) -> None:
        """Takes blank rows in."""
        room, before = self._all.shape
        if self._n + n > room or width > before:
            doubled = room if self._n + n <= room else max(2 * room, self._n + n)
            wider = np.full((doubled, max(width, before)), self._blank, dtype=self._all.dtype)
            wider[: self._n, :before] = self.rows
            self._all = wider
        self._n += n


class CaseTable:
    """Cases of the records (0) and of the experience (1), found by their places there."""

    def __init__(self) -> None:
        self._row_of = Rows(1, blank=NOT_THERE), Rows(1, blank=NOT_THERE)
        # The numbers of a case's statements, from 1; 0 is no statement.
        self._statements = Rows(8, blank=0)
        # Kind, right label, answered label, how many tasks after it came out right.
        self._facts = Rows(4, blank=NOT_THERE)

    def __len__(self) -> int:
        return len(self._facts)

    def of_library(self, which: int) -> int:
        """Returns how many entries of a library there are, whether they count or not."""
        return len(self._row_of[which])

    def extend(self, which: int, n: int) -> None:
        """Makes room for so many further entries of a library; none of them counts before it is added."""
        self._row_of[which].extend(n)

    def add(self, which: int, place: int, statements: Sequence[int], facts: Sequence[int]) -> None:
        """Takes an entry of a library in."""
        self._row_of[which].put(place, len(self))
        self._statements.append(statements)
        self._facts.append(facts)

    def rows_of(self, which: int, places: Sequence[int] | NDArray[np.int64]) -> Numbers:
        """Returns the rows of entries; `NOT_THERE` of one that does not count."""
        return self._row_of[which].rows[places, 0]

    @property
    def statements(self) -> Numbers:
        """The numbers of each case's statements, a case a row, filled up with 0."""
        return self._statements.rows

    @property
    def kinds(self) -> Numbers:
        """Of each case its kind; `NOT_THERE` where it is not known."""
        return self._facts.rows[:, 0]

    @property
    def labels(self) -> Numbers:
        """Of each case the label of which alone it is known that it was right; else `NOT_THERE`."""
        return self._facts.rows[:, 1]

    @property
    def answered(self) -> Numbers:
        """Of each record the label that was answered; of the rest `NOT_THERE`."""
        return self._facts.rows[:, 2]

    @property
    def led_to(self) -> Numbers:
        """Of each record how many of the tasks after it came out right; of the rest 0."""
        return self._facts.rows[:, 3]
