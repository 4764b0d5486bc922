"""Queries come in parts that come again, such as lines; what each adds to the product with every vector is kept.

A look then reads a row for each line, and not one for each of its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.int8]
Places = NDArray[np.intp]

_AT_ONCE = 1 << 19
"""So many numbers are added up at once, so that what is read stays near."""

_NEW = 64
"""So many new vectors are written side by side before each is put at the end of every row."""

_KEPT = 1024
"""Of so many parts, at most, products are kept; of the others they are made each time."""

_MET = 1 << 16
"""So many parts that came once are remembered."""


class QueryPart(NamedTuple):
    """A part of a query: what it is known by, and the rows that it adds and takes away, as often as it has them."""

    name: str
    more: Places
    less: Places


def part_of(name: str, places: Places, numbers: NDArray[Any]) -> QueryPart:
    """Returns a part of whole numbers at some places."""
    counts = numbers.astype(np.intp)
    return QueryPart(name, np.repeat(places, np.maximum(counts, 0)), np.repeat(places, np.maximum(-counts, 0)))


def add_rows(rows: Bytes, more: Places, less: Places, out: NDArray[Any]) -> None:
    """Writes the sum of some rows, less that of others, as far as `out` goes."""
    width = max(_AT_ONCE // (1 + len(more) + len(less)), 1)
    for first in range(0, len(out), width):
        these, some = rows[:, first : min(first + width, len(out))], out[first : first + width]
        np.add.reduce(these[more], axis=0, dtype=out.dtype, out=some)
        if len(less):
            some -= np.add.reduce(these[less], axis=0, dtype=out.dtype)


class PartProducts:
    """The products of parts that came more than once with the vectors of one library, a row a part.

    They are bytes, and may go beyond them: what is added up of them is right wherever the whole fits into a byte.
    """

    def __init__(self, dimensions: int) -> None:
        self._rows: dict[str, int] = {}
        self._met: set[str] = set()
        room = 64
        # The numbers of the parts, a part a column; their products, a part a row; what is new of them, a part a column.
        self._parts: Bytes = np.zeros((dimensions, room), dtype=np.int8)
        self._products: Bytes = np.zeros((room, 0), dtype=np.int8)
        self._new: Bytes = np.zeros((_NEW, room), dtype=np.int8)
        self._written = self._waiting = 0

    def add(self, places: Places, numbers: Bytes) -> None:
        """Takes a vector in."""
        if not self._rows:
            self._written += 1
            return
        if self._waiting == _NEW:
            self._write()
        _, more, less = part_of("", places, numbers)
        add_rows(self._parts, more, less, self._new[self._waiting, : len(self._rows)])
        self._waiting += 1

    def add_up(self, parts: Sequence[QueryPart], vectors: Bytes, out: Bytes) -> None:
        """Writes the products of all parts together.

        Args:
            parts: of a query.
            vectors: a number of all vectors a row.
            out: a place for each vector.
        """
        if not self._rows:
            self._written = vectors.shape[1]
        known, others = [], []
        for part in parts:
            row = self._rows.get(part.name)
            row = self._meet(part, vectors) if row is None else row
            if row is None:
                others.append(part)
            else:
                known.append(row)
        if known:
            rows, written = np.array(known, dtype=np.intp), self._written
            add_rows(self._products, rows, rows[:0], out[:written])
            np.add.reduce(self._new[: self._waiting].take(rows, axis=1), axis=1, dtype=np.int8, out=out[written:])
        else:
            out[:] = 0
        if others:
            product = np.empty_like(out)
            for part in others:
                add_rows(vectors, part.more, part.less, product)
                out += product

    def _meet(self, part: QueryPart, vectors: Bytes) -> int | None:
        """Keeps the products of a part that came before, and returns its row; None where it stays without."""
        row = len(self._rows)
        if row == _KEPT:
            return None
        if part.name not in self._met:
            if len(self._met) == _MET:
                self._met.clear()
            self._met.add(part.name)
            return None
        self._write()
        if row == self._parts.shape[1]:
            self._parts, self._new = (np.hstack([one, np.zeros_like(one)]) for one in (self._parts, self._new))
            self._products = np.vstack([self._products, np.zeros_like(self._products)])
        self._widen(self._written)
        np.add.at(self._parts[:, row], part.more, 1)
        np.subtract.at(self._parts[:, row], part.less, 1)
        add_rows(vectors, part.more, part.less, self._products[row, : self._written])
        self._rows[part.name] = row
        return row

    def _write(self) -> None:
        """Puts what was new at the end of every row."""
        n, self._waiting = self._waiting, 0
        self._widen(self._written + n)
        rows = len(self._rows)
        self._products[:rows, self._written : self._written + n] = self._new[:n, :rows].T
        self._written += n

    def _widen(self, n: int) -> None:
        rows, room = self._products.shape
        if n > room:
            wider = np.zeros((rows, max(n, 2 * room)), dtype=np.int8)
            wider[:, :room] = self._products
            self._products = wider
