"""Entries found again by the cosine of their vectors: embedders by name, whole-number vectors, exact search.

`case-words` hashes what is said of a patient line by line; it works offline and is the same on every machine. Its
vectors are whole numbers divided by their length; they are compared exactly and stored in a byte each.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import UserError
from polyclinic.language.content_words import terms
from polyclinic.language.language import is_chinese
from polyclinic.models.session import Session
from polyclinic.retrieval.embedders import BUILT_IN, ENDPOINT, Embedder, Text, built_in, unit
from polyclinic.retrieval.library import endpoint_embedder
from polyclinic.retrieval.store import Vectors

_AT_ONCE = 1 << 19  # numbers that are added up at once, so that they stay in the cache
_MOST = 127  # the largest whole number of a signed byte
_UNITS = (1, 2, 3, 4)  # the smallest number of a vector is one of these
_CLOSE = 1e-5  # tolerance for a number that was whole before the division

_FIRST_ROOM = 256

E = TypeVar("E")
S = TypeVar("S", bound=np.generic)


def with_room(array: NDArray[S], n: int, axis: int = 0) -> NDArray[S]:
    """Returns an array with room for `n` along an axis: itself, or one at least twice as large, filled up with 0."""
    while array.shape[axis] < n:
        array = np.concatenate([array, np.zeros_like(array)], axis=axis)
    return array


class WholeVector(NamedTuple):
    """A vector in whole numbers: the places of those that are not 0, the numbers, and the length of the vector."""

    places: NDArray[np.intp]
    numbers: NDArray[np.int8]
    length: float


def counts_of(vector: NDArray[np.float32]) -> WholeVector | None:
    """Returns a vector in whole numbers; None if they would be too large."""
    places = np.flatnonzero(vector)
    said = vector[places].astype(float)
    if not len(places):
        return WholeVector(places, np.zeros(0, dtype=np.int8), 1.0)
    least = np.abs(said).min()
    for least_number in _UNITS:
        numbers = said * (least_number / least)
        whole = np.rint(numbers)
        if np.abs(whole).max() <= _MOST and np.abs(numbers - whole).max() <= _CLOSE * least_number * _MOST:
            return WholeVector(places, whole.astype(np.int8), float(np.sqrt(whole @ whole)))
    return None


class CountedVectors:
    """Vectors in whole numbers, one per column: a query that is mostly 0 reads few rows."""

    def __init__(self, dimensions: int) -> None:
        self._n, self._longest = 0, 0.0
        self._numbers: NDArray[np.int8] = np.zeros((dimensions, _FIRST_ROOM), dtype=np.int8)
        self._shrink: NDArray[np.float32] = np.zeros(_FIRST_ROOM, dtype=np.float32)

    def add(self, counts: WholeVector) -> None:
        """Adds a vector."""
        self._numbers, self._shrink = with_room(self._numbers, self._n + 1, 1), with_room(self._shrink, self._n + 1)
        self._numbers[counts.places, self._n] = counts.numbers
        self._shrink[self._n] = 1 / counts.length
        self._longest = max(self._longest, counts.length)
        self._n += 1

    def nearest(self, query: WholeVector, k: int) -> Nearest:
        """Returns the places of the `k` vectors nearest to a query; of equals, the first."""
        # By the inequality of Cauchy and Schwarz; an overflow on the way cancels out in the end.
        fits = query.length * self._longest <= _MOST
        sums: NDArray[Any] = np.zeros(self._n, dtype=np.int8 if fits else np.int32)
        by_number = [
            (sums.dtype.type(number), query.places[query.numbers == number]) for number in np.unique(query.numbers)
        ]
        width = max(_AT_ONCE // (1 + len(query.places)), 1)
        for first in range(0, self._n, width):
            these, some = self._numbers[:, first : min(first + width, self._n)], sums[first : first + width]
            for number, places in by_number:
                some += number * np.add.reduce(these[places], axis=0, dtype=sums.dtype)
        scores = np.multiply(sums, self._shrink[: self._n], dtype=np.float32, casting="same_kind")
        return _nearest(scores, k, scale=1 / query.length)

    @classmethod
    def of(cls, parts: Sequence[tuple[CountedVectors, int]]) -> CountedVectors:
        """Returns the first vectors of each part, one part after the other; it must not grow."""
        made = cls(0)
        made._n, made._longest = sum(n for _, n in parts), max((part._longest for part, _ in parts), default=0.0)
        numbers, shrink = [part._numbers[:, :n] for part, n in parts], [part._shrink[:n] for part, n in parts]
        # A single one is not copied.
        made._numbers = numbers[0] if len(parts) == 1 else np.concatenate(numbers, axis=1)
        made._shrink = shrink[0] if len(parts) == 1 else np.concatenate(shrink)
        return made


DIMENSIONS = 512

_NUMBER = re.compile(r"\(.*?\)|（.*?）|[<>]?\s*\d[\d.,]*\s*\S*")
_RESULT = re.compile(r"[:：]")
_OF_LINE, _OF_WORD, _OF_RESULT = 1.0, 1.0, 2.0


class CaseWordsEmbedder:
    """Makes vectors of statements about patients; see `polyclinic.retrieval.embedders.Embedder`."""

    name = "case-words"

    async def passages(self, texts: Sequence[Text]) -> Vectors:
        """Returns a vector of length 1 for each text; its title counts as a line."""
        return self.vectors([f"{title}\n{text}".strip() for title, text in texts])

    async def query(self, text: str) -> NDArray[np.float32]:
        """Returns the vector of a text."""
        vector: NDArray[np.float32] = self.vectors([text])[0]
        return vector

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Returns a vector of length 1 for each text; 0 for one without words."""
        made: Vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            of_lines = [_of_line(line.strip()) for line in text.splitlines()]
            if of_lines:
                places, weights = (np.concatenate(parts) for parts in zip(*of_lines, strict=True))
                made[row] = np.bincount(places, weights, DIMENSIONS)
        return unit(made)


@functools.lru_cache(maxsize=1 << 16)
def _of_line(line: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Returns the places of a line's features, and the weight of each with its sign."""
    is_result = _RESULT.search(line) is not None
    text = _NUMBER.sub(" ", line) if is_result else line
    weights = {f"line {' '.join(text.split()).casefold()}": _OF_RESULT if is_result else _OF_LINE} if line else {}
    words = () if is_result else dict.fromkeys(terms(text, "zh" if is_chinese(text) else "en"))
    hashed = [
        (zlib.crc32(feature.encode()), weight)
        for feature, weight in [*weights.items(), *((w, _OF_WORD) for w in words)]
    ]
    places = [number % DIMENSIONS for number, _ in hashed]
    signed = [weight if number >> 31 else -weight for number, weight in hashed]
    return np.array(places, dtype=np.intp), np.array(signed, dtype=float)


CASE_WORDS = CaseWordsEmbedder.name

_PROBE = "a cough"


def check_memory_embedder(name: str) -> None:
    """Raises a UserError if no embedder of memories has that name."""
    if name not in (CASE_WORDS, *BUILT_IN) and not (name.startswith(ENDPOINT) and name != ENDPOINT):
        raise UserError(f"no embedder {name!r}; there are: {CASE_WORDS}, {', '.join(BUILT_IN)}, direct/NAME")


def asked_for(name: str) -> list[str]:
    """Returns the models that a session must open for an embedder."""
    return [name] if name.startswith(ENDPOINT) else []


def memory_embedder(name: str, session: Session) -> Embedder:
    """Returns an embedder by its name; an endpoint's is asked, journalled and counted in the session."""
    check_memory_embedder(name)
    if name == CASE_WORDS:
        return CaseWordsEmbedder()
    return endpoint_embedder(session.models[name], session) if name in asked_for(name) else built_in(name)


async def dimensions_of(embedder: Embedder) -> int:
    """Returns the length of its vectors."""
    return len(await embedder.query(_PROBE))


_DECIMALS = 6  # of a cosine; its last bits depend on the machine

Nearest = tuple[NDArray[np.int64], NDArray[np.float32]]
"""The places of the vectors nearest to a query, the nearest first, and the cosines."""


class Found(NamedTuple, Generic[E]):
    """The entries of a library nearest to a query: their places, the nearest first, and the cosines."""

    library: MemoryLibrary[E]
    places: NDArray[np.int64]
    cosines: NDArray[np.float32]

    @property
    def pairs(self) -> list[tuple[E, float]]:
        """The entries with their cosines."""
        return [
            (self.library.entries[place], cosine)
            for place, cosine in zip(self.places.tolist(), self.cosines.tolist(), strict=True)
        ]


class MemoryLibrary(Generic[E]):
    """All entries of one kind for one task, in the order in which they came."""

    def __init__(self, dimensions: int) -> None:
        self.entries: list[E] = []
        self._vectors: Vectors = np.zeros((_FIRST_ROOM, dimensions), dtype=np.float32)
        # None once a vector was added that is not of whole numbers.
        self._counted: CountedVectors | None = CountedVectors(dimensions)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def vectors(self) -> Vectors:
        """A vector of length 1 a row, in the order of the entries."""
        return self._vectors[: len(self)]

    def items(self) -> Iterator[tuple[E, NDArray[np.float32]]]:
        """Yields the entries with their vectors."""
        return zip(self.entries, self.vectors, strict=True)

    def add(self, entry: E, vector: NDArray[np.float32]) -> None:
        """Adds an entry with the vector of its query."""
        self._vectors = with_room(self._vectors, len(self) + 1)
        self._vectors[len(self)] = vector
        counts = None if self._counted is None else counts_of(vector)
        if self._counted is not None and counts is not None:
            self._counted.add(counts)
        else:
            self._counted = None
        self.entries.append(entry)

    def nearest(self, query: NDArray[np.float32], k: int) -> Found[E]:
        """Returns the `k` entries nearest to a query of length 1; of equals, those that came first."""
        k = min(k, len(self))
        counts = None if self._counted is None or not k else counts_of(query)
        if self._counted is None or counts is None:
            return Found(self, *nearest_rows(self.vectors, query, k))
        return Found(self, *self._counted.nearest(counts, k))

    def as_it_was(self, n: int, *, after: MemoryLibrary[E] | None = None) -> MemoryLibrary[E]:
        """Returns the first so many entries, after all of another library; it must not grow."""
        parts = [(self, n)] if after is None else [(after, len(after)), (self, n)]
        made: MemoryLibrary[E] = MemoryLibrary(0)
        made.entries = [entry for library, length in parts for entry in library.entries[:length]]
        vectors = [library.vectors[:length] for library, length in parts]
        made._vectors = vectors[0] if len(parts) == 1 else np.concatenate(vectors)
        counted = [(library._counted, length) for library, length in parts if library._counted is not None]
        made._counted = CountedVectors.of(counted) if len(counted) == len(parts) else None
        return made


def nearest_rows(vectors: Vectors, query: NDArray[np.float32], k: int) -> Nearest:
    """Returns the places of the `k` vectors nearest to a query, all of length 1; of equals, the first."""
    return _nearest(vectors @ query if k and len(vectors) else np.zeros(0, dtype=np.float32), min(k, len(vectors)))


def _nearest(scores: NDArray[np.float32], k: int, *, scale: float = 1.0) -> Nearest:
    """Returns the places of the `k` largest scores, whose cosines are `scale` times as much; of equals, the first."""
    least = np.partition(scores, -k)[-k] if 0 < k < len(scores) else -np.inf
    # Cosines that are equal in these decimals must not be ordered by their last bits.
    places = np.flatnonzero(scores >= least - 2 * 10.0**-_DECIMALS / scale)
    rounded = np.round(scores[places] * np.float32(scale), _DECIMALS)
    order = np.lexsort((places, -rounded))[:k]
    return places[order], rounded[order]
