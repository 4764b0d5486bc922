"""Finds passages by the cosine of their vectors: exact up to 100,000, nearly exact beyond; kept with the corpus."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import UserError
from polyclinic.retrieval.bm25 import Ranked
from polyclinic.retrieval.embedders import Embedder
from polyclinic.retrieval.retriever import library
from polyclinic.retrieval.store import PassageStore, StoredPassage, Vectors
from polyclinic.tasks import run_all

BEYOND = 100_000
"""So many vectors are compared one by one; more are looked up in a graph of neighbours."""

_DECIMALS = 6
"""Of a cosine; a machine's last bits are not the next one's."""
_OVERSAMPLED = 4
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

    def items(self) -> tuple[list[int], Vectors]:
        """Returns all numbers and vectors."""
        return self._numbers[: len(self)].tolist(), self._matrix[: len(self)]

    def search(self, query: NDArray[np.float32], k: int) -> Ranked:
        """Returns the `k` vectors nearest to a query of length 1."""
        if k < 1 or not len(self):
            return []
        likeness = self._matrix[: len(self)] @ query
        least = _kth(likeness, k)
        # What is equal in the decimals that count must not depend on which row it is in.
        rows = np.flatnonzero(likeness >= least - 10.0**-_DECIMALS)
        return _ranked(self._numbers[rows], likeness[rows], k)


def _kth(likeness: NDArray[np.float32], k: int) -> float:
    """Returns a bound that at least `k` values reach, and few more: the k-th largest of the blocks' maxima."""
    blocks = len(likeness) // _BLOCK
    if blocks < 2 * k:
        return float(np.partition(likeness, -k)[-k]) if k < len(likeness) else -np.inf
    maxima = likeness[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return float(np.partition(maxima, -k)[-k])


def _ranked(numbers: NDArray[np.int64], likeness: NDArray[np.float32], k: int) -> Ranked:
    scores = [round(float(one), _DECIMALS) for one in likeness]
    return sorted(zip(numbers.tolist(), scores, strict=True), key=lambda hit: (-hit[1], hit[0]))[:k]


class NearVectors:
    """A graph of neighbours by usearch: of what it finds, the cosines are computed from the vectors themselves.

    Args:
        dimensions: of a vector.
        exact: returns numbers and vectors, of those of the numbers asked for that are there.
        stored: the file of a graph that was kept, read in place of an empty one.
    """

    def __init__(
        self,
        dimensions: int,
        exact: Callable[[Sequence[int]], tuple[list[int], Vectors]],
        *,
        stored: str | None = None,
    ) -> None:
        usearch = library("usearch.index", "finds the nearest of many vectors")
        self._graph: Any = usearch.Index(ndim=dimensions, metric="ip", dtype="f16")
        self._exact = exact
        if stored is not None:
            self._graph.load(stored)

    def __len__(self) -> int:
        return len(self._graph)

    def add(self, numbers: Sequence[int], vectors: Vectors) -> None:
        """Takes vectors of length 1 in; one whose number is there takes its place."""
        self.remove(numbers)
        # One thread: with several, the graph would be another one each time.
        self._graph.add(np.asarray(numbers, dtype=np.uint64), vectors, threads=1)

    def remove(self, numbers: Iterable[int]) -> None:
        """Takes vectors out, of those numbers that are there."""
        for number in numbers:
            if number in self._graph:
                self._graph.remove(number)

    def search(self, query: NDArray[np.float32], k: int) -> Ranked:
        """Returns the `k` vectors nearest to a query of length 1, or nearly."""
        if k < 1 or not len(self):
            return []
        near = self._graph.search(query, max(_OVERSAMPLED * k, 64), threads=1)
        numbers, vectors = self._exact([int(key) for key in near.keys])
        return _ranked(np.asarray(numbers, dtype=np.int64), vectors @ query, k) if numbers else []

    def save(self, path: str) -> None:
        """Writes the graph into a file."""
        self._graph.save(path)


PROBE = "A patient with fever and a dry cough. 一位发热、干咳的病人。"
"""A text whose vector is kept: an embedder that changed under its name gives another one."""

_SAME = 0.995
"""Cosine of the probe's vector with the one kept; less than rounding on another machine never gives."""
_AT_ONCE = 2**20
_TOGETHER = 512
"""Passages whose vectors are made, and committed, at a time."""


class CorpusVectors:
    """The vectors of a corpus. They are opened with an embedder when somebody first looks for a meaning."""

    def __init__(self, store: PassageStore, folder: Path) -> None:
        self._store, self._folder = store, folder
        self._embedder: Embedder | None = None
        self._index: ExactVectors | NearVectors | None = None
        self._complete = False
        self._dimensions = 0

    @property
    def embedder(self) -> str | None:
        """Names who made the vectors, also those that were thrown away; None where nobody has."""
        return self._store.fact("embedder")

    @property
    def bound(self) -> bool:
        """Whether there are vectors that no other embedder may go on with."""
        return self._store.fact("probe") is not None

    @property
    def base_url(self) -> str | None:
        """Says where the endpoint is that made the vectors; None where none did, or nobody said."""
        return self._store.fact("base_url")

    async def open(self, find: Callable[[], Embedder], base_url: str | None = None) -> None:
        """Opens the embedder, and checks that it is the one that made the vectors; then keeps where it is.

        Raises:
            UserError: it is another one, or its vectors are others than they were; says how to rebuild.
        """
        if self._embedder is not None:
            return
        embedder = find()
        kept = self._store.fact("probe")
        if kept is not None and self.embedder != embedder.name:
            raise UserError(self._changed(f"were made by {self.embedder}, not by {embedder.name}"))
        probe = await embedder.query(PROBE)
        if kept is None:
            if self.embedder != embedder.name:
                self._store.forget("base_url")  # it was that of another
            self._store.set_facts({"embedder": embedder.name, "probe": probe.astype("<f4").tobytes().hex()})
        else:
            was = np.frombuffer(bytes.fromhex(kept), dtype="<f4")
            if len(was) != len(probe):
                raise UserError(self._changed(f"have {len(was)} numbers, and {embedder.name} now gives {len(probe)}"))
            if float(was @ probe) < _SAME:
                raise UserError(self._changed(f"are others than {embedder.name} gives now: it has changed"))
        if base_url is not None and base_url != self.base_url and "?" not in base_url:
            self._store.set_facts({"base_url": base_url})
        self._embedder, self._dimensions = embedder, len(probe)

    def _check(self, vectors: Vectors) -> None:
        """Raises a UserError where an endpoint gives vectors of another length than when it was opened."""
        if self._embedder is not None and vectors.shape[-1] != self._dimensions:
            now = f"have {self._dimensions} numbers, and {self._embedder.name} now gives {vectors.shape[-1]}"
            raise UserError(self._changed(now))

    def _changed(self, what: str) -> str:
        name = self._folder.name
        return f"the vectors of corpus {name!r} {what}; make them anew with: polyclinic corpus add {name} --rebuild"

    async def complete(self, advance: Callable[[int], None]) -> None:
        """Makes the vectors that are missing; what an endpoint has answered is kept before anything else is asked."""
        embedder = self._embedder
        if embedder is None:
            raise RuntimeError("the embedder is not open")
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
            if self._index is not None and isinstance(self._index, ExactVectors) and self._full(len(passages)):
                self._index = None
            if self._index is not None:
                self._index.add(*self._store.vectors_of([p.n for p in passages]))
            advance(len(passages))
        self._complete = True

    def _full(self, more: int) -> bool:
        return self._index is not None and len(self._index) + more > BEYOND

    async def search(self, query: str, k: int) -> Ranked:
        """Returns the passages whose vectors are nearest to the query's; none where it has no words."""
        if self._embedder is None:
            raise RuntimeError("the embedder is not open")
        vector = await self._embedder.query(query)
        self._check(vector)
        return self.nearest(vector, k) if vector.any() else []

    def nearest(self, vector: NDArray[np.float32], k: int) -> Ranked:
        """Returns the numbers of the passages nearest to a vector of length 1."""
        if self._index is None:
            self._index = self._load(len(vector))
        return self._index.search(vector, k)

    def forget(self, numbers: Iterable[int]) -> None:
        """Takes out of the index what was removed or changed; what is new is looked for anew."""
        self._complete = False
        if self._index is not None:
            self._index.remove(numbers)

    def reload(self) -> None:
        """Reads all anew when it is next needed: another process wrote."""
        self._index, self._complete = None, False

    def clear(self) -> None:
        """Throws all vectors away; who made them is remembered, and makes them again where nobody else is named."""
        self._store.forget_vectors()
        self._embedder = None
        self.reload()
        for graph in self._folder.glob("vectors-*.usearch"):
            graph.unlink()

    def close(self) -> None:
        """Keeps the graph, where there is one, so that it need not be made again."""
        if isinstance(self._index, NearVectors):
            self._keep(self._index)

    def _load(self, dimensions: int) -> ExactVectors | NearVectors:
        if self._store.embedded() <= BEYOND:
            index: ExactVectors | NearVectors = ExactVectors(dimensions, room=self._store.embedded() + _TOGETHER)
        else:
            kept = self._graph()
            if kept is not None and _sum(kept) != _sealed(kept):
                kept.unlink(missing_ok=True)  # damaged: it is made anew
                kept = None
            if kept is not None:
                return NearVectors(dimensions, self._store.vectors_of, stored=str(kept))
            index = NearVectors(dimensions, self._store.vectors_of)
        for numbers, vectors in self._store.vectors():
            index.add(numbers, vectors)
        if isinstance(index, NearVectors):
            self._keep(index)
        return index

    def _graph(self) -> Path | None:
        """Returns the file of the graph of what is stored now, where there is one; its name has its checksum."""
        return next(iter(sorted(self._folder.glob(f"vectors-{self._store.written()}-*.usearch"))), None)

    def _keep(self, index: NearVectors) -> None:
        if self._graph() is not None:
            return
        making = self._folder / f"vectors-{self._store.written()}.making"
        index.save(str(making))
        kept = making.with_name(f"{making.stem}-{_sum(making)}.usearch")
        making.replace(kept)
        for other in self._folder.glob("vectors-*.usearch"):
            if other != kept:
                other.unlink()


def _sum(path: Path) -> str:
    found = 0
    with path.open("rb") as file:
        while some := file.read(_AT_ONCE):
            found = zlib.crc32(some, found)
    return f"{found:08x}"


def _sealed(path: Path) -> str:
    """Returns the checksum that the name of a graph tells."""
    return path.stem.rpartition("-")[2]
