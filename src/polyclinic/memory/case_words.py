"""An embedder for patients: what is said of them line by line, hashed; offline, and the same everywhere.

Each line is a feature as a whole, and each of its words that says something; a number counts by whether it is high or
low alone, which the line says. The sign of a feature is hashed too, so that features that share a place cancel out in
the mean (feature hashing; Weinberger et al., arXiv:0902.2206).
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from polyclinic.language.content_words import terms
from polyclinic.language.language import is_chinese
from polyclinic.memory.counts import WholeVector, sum_of
from polyclinic.memory.parts import QueryPart, part_of
from polyclinic.retrieval.embedders import Text, unit
from polyclinic.retrieval.store import Vectors

DIMENSIONS = 512

_NUMBER = re.compile(r"\(.*?\)|（.*?）|[<>]?\s*\d[\d.,]*\s*\S*")
_RESULT = re.compile(r"[:：]")
_OF_LINE, _OF_WORD, _OF_RESULT = 1.0, 1.0, 2.0


class CaseWordsEmbedder:
    """Makes vectors of what is said of patients; see `polyclinic.retrieval.embedders.Embedder`."""

    name = "case-words"

    async def passages(self, texts: Sequence[Text]) -> Vectors:
        """Returns a vector of length 1 for each text; its title counts as a line."""
        return self.vectors([f"{title}\n{text}".strip() for title, text in texts])

    async def query(self, text: str) -> NDArray[np.float32]:
        """Returns the vector of a text."""
        vector: NDArray[np.float32] = self.vectors([text])[0]
        return vector

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Returns a vector of length 1 for each text; 0 of one without words."""
        made: Vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            of_lines = [_of_line(line.strip()) for line in text.splitlines()]
            if of_lines:
                places, weights = (np.concatenate(parts) for parts in zip(*of_lines, strict=True))
                made[row] = np.bincount(places, weights, DIMENSIONS)
        return unit(made)


def counted_lines(text: str) -> WholeVector | None:
    """Returns in whole numbers what the vector of a text has as shares, line by line; None of one that is too long."""
    parts = [_part(line) for line in map(str.strip, text.splitlines()) if line]
    return sum_of(parts) if parts else None


@functools.lru_cache(maxsize=1 << 14)
def _part(line: str) -> QueryPart:
    return part_of(line, *_of_line(line))


@functools.lru_cache(maxsize=1 << 16)
def _of_line(line: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    features = list(_features(line)) if line else []
    places, weights = [place for place, _ in features], [weight for _, weight in features]
    return np.array(places, dtype=np.intp), np.array(weights, dtype=float)


def _features(line: str) -> Iterator[tuple[int, float]]:
    """Yields the places of a line's features, each with its weight and sign."""
    is_result = _RESULT.search(line) is not None
    text = _NUMBER.sub(" ", line) if is_result else line
    yield _hashed(f"line {' '.join(text.split()).casefold()}", _OF_RESULT if is_result else _OF_LINE)
    if not is_result:
        for term in dict.fromkeys(terms(text, "zh" if is_chinese(text) else "en")):
            yield _hashed(term, _OF_WORD)


def _hashed(feature: str, weight: float) -> tuple[int, float]:
    number = zlib.crc32(feature.encode())
    return number % DIMENSIONS, weight if number >> 31 else -weight
