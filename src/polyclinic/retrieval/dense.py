"""Finds passages by the cosine of their vectors, each compared with the query's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import UserError
from polyclinic.retrieval.bm25 import Ranked
from polyclinic.retrieval.embedders import Embedder
from polyclinic.retrieval.store import PassageStore, StoredPassage, Vectors
from polyclinic.tasks import run_all

_DECIMALS = 6  # Of a cosine; a machine's last bits are not the next one's
_BLOCK = 64


class ExactVectors:
    """All vectors in one matrix, each compared with the query; at first there is `room` for so many."""

    def __init__(self, dimensions: int, *, room: int = 1024) -> None:
        self._matrix: Vectors = np.zeros((room, dimensions), dtype=np.float32)
        self._numbers: NDArray[np.int64] = np.zeros(room, dtype=np.int64)
        self._row: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._row)

    def add(self, numbers: Sequence[int], vectors: Vectors) -> None:
        """Takes vectors of length 1 in; one whose number is there takes its place."""
        room = len(self) + len(numbers)
        if room > len(self._numbers):
            room = max(room, len(self._numbers) * 5 // 4)
            self._matrix = np.concatenate([self._matrix, np.zeros((room - len(self._matrix), vectors.shape[1]), "f4")])
            self._numbers = np.concatenate([self._numbers, np.zeros(room - len(self._numbers), "i8")])
        rows = [self._row.setdefault(number, len(self._row)) for number in numbers]
        self._matrix[rows], self._numbers[rows] = vectors, numbers

    def remove(self, numbers: Iterable[int]) -> None:
        """Takes vectors out, of those numbers that are there."""
        for number in numbers:
            row = self._row.pop(number, None)
            last = len(self._row)
            if row is not None and row != last:
                self._matrix[row], self._numbers[row] = self._matrix[last], self._numbers[last]
                self._row[int(self._numbers[row])] = row

    def search(self, query: NDArray[np.float32], k: int) -> Ranked:
        """Returns the `k` vectors nearest to a query of length 1."""
        if k < 1 or not len(self):
            return []
        likeness = self._matrix[: len(self)] @ query
        least = _kth(likeness, k)
        # What is equal in the decimals that count must not depend on which row it is in.
        rows = np.flatnonzero(likeness >= least - 10.0**-_DECIMALS)
        scores = [round(float(one), _DECIMALS) for one in likeness[rows]]
        hits = zip(self._numbers[rows].tolist(), scores, strict=True)
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]


def _kth(likeness: NDArray[np.float32], k: int) -> float:
    """Returns a bound that at least `k` values reach, and few more: the k-th largest of the blocks' maxima."""
    blocks = len(likeness) // _BLOCK
    if blocks < 2 * k:
        return float(np.partition(likeness, -k)[-k]) if k < len(likeness) else -np.inf
    maxima = likeness[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return float(np.partition(maxima, -k)[-k])


PROBE = "A patient with fever and a dry cough. 一位发热、干咳的病人。"
"""A text whose vector is kept: an embedder that changed under its name gives another one."""

_SAME = 0.995  # Cosine of the probe's vector with the one kept; less than rounding on another machine never gives
_TOGETHER = 512  # Passages whose vectors are made, and committed, at a time


class CorpusVectors:
    """The vectors of a corpus. They are opened with an embedder at the first search by meaning."""

    def __init__(self, store: PassageStore, name: str) -> None:
        self._store, self._name = store, name
        self._embedder: Embedder | None = None
        self._index: ExactVectors | None = None
        self._complete = False
        self._dimensions = 0

    async def open(self, find: Callable[[], Embedder], base_url: str | None = None) -> None:
        """Opens the embedder, and checks that it is the one that made the vectors; then keeps where it is."""
        if self._embedder is not None:
            return
        embedder, made_by, kept = find(), self._store.fact("embedder"), self._store.fact("probe")
        if kept is not None and made_by != embedder.name:
            raise self._changed(f"were made by {made_by}, not by {embedder.name}")
        probe = await embedder.query(PROBE)
        if kept is None:
            if made_by != embedder.name:
                self._store.set_facts(base_url=None)  # it was that of another
            self._store.set_facts(embedder=embedder.name, probe=probe.astype("<f4").tobytes().hex())
        else:
            was = np.frombuffer(bytes.fromhex(kept), dtype="<f4")
            if len(was) != len(probe):
                raise self._changed(f"have {len(was)} numbers, and {embedder.name} now gives {len(probe)}")
            if float(was @ probe) < _SAME:
                raise self._changed(f"are others than {embedder.name} gives now: it has changed")
        if base_url is not None and base_url != self._store.fact("base_url") and "?" not in base_url:
            self._store.set_facts(base_url=base_url)
        self._embedder, self._dimensions = embedder, len(probe)

    def _opened(self) -> Embedder:
        if self._embedder is None:
            raise RuntimeError("the embedder is not open")
        return self._embedder

    def _check(self, vectors: Vectors) -> None:
        """Raises a UserError if an endpoint gives vectors of another length than when it was opened."""
        if vectors.shape[-1] != self._dimensions:
            name = self._opened().name
            raise self._changed(f"have {self._dimensions} numbers, and {name} now gives {vectors.shape[-1]}")

    def _changed(self, what: str) -> UserError:
        how = f"make them anew with: polyclinic corpus add {self._name} --rebuild"
        return UserError(f"the vectors of corpus {self._name!r} {what}; {how}")

    async def complete(self, advance: Callable[[int], None]) -> None:
        """Makes the vectors that are missing; an endpoint's answer is kept before the next question."""
        embedder = self._opened()
        if self._complete:
            return
        together = min(getattr(embedder, "together", _TOGETHER), _TOGETHER)

        async def make(some: Sequence[StoredPassage]) -> None:
            vectors = await embedder.passages([(p.title, p.text) for p in some])
            self._check(vectors)
            self._store.put_vectors(some, vectors)

        while passages := self._store.without_vector(_TOGETHER):
            some = [passages[begin : begin + together] for begin in range(0, len(passages), together)]
            if len(some) == 1:
                await make(passages)
            else:
                await run_all([partial(make, one) for one in some])
            if self._index is not None:
                self._index.add(*self._store.vectors_of([p.n for p in passages]))
            advance(len(passages))
        self._complete = True

    async def search(self, query: str, k: int) -> Ranked:
        """Returns the passages whose vectors are nearest to the query's; none if it has no words."""
        vector = await self._opened().query(query)
        self._check(vector)
        if not vector.any():
            return []
        if self._index is None:
            self._index = ExactVectors(len(vector), room=self._store.embedded() + _TOGETHER)
            for numbers, vectors in self._store.vectors():
                self._index.add(numbers, vectors)
        return self._index.search(vector, k)

    def forget(self, numbers: Iterable[int]) -> None:
        """Takes what was removed or changed out of the index."""
        self._complete = False
        if self._index is not None:
            self._index.remove(numbers)

    def reload(self) -> None:
        """Has everything read again when it is next needed, as another process wrote."""
        self._index, self._complete = None, False

    def clear(self) -> None:
        """Deletes all vectors; the name of their embedder stays, which makes them again unless another is named."""
        self._store.forget_vectors()
        self._embedder = None
        self.reload()
