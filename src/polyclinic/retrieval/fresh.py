"""The few passages that the index of words does not hold yet: found and scored as those in it.

A commit of the index costs as much as a dozen searches. So what is added or taken out is committed to the file of
passages, and to the index only when it makes up some part of it. Until then numbers and lengths of the score's formula
(see `bm25`) are those of the index: passages in it and beside it are measured alike.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, repeat
from typing import NamedTuple

from polyclinic.retrieval.words import terms

TITLE, TEXT = "title", "text"
FIELDS = (TITLE, TEXT)

K1, B = 1.2, 0.75

_STEPS = (step for doubled in range(1, 28) for step in repeat(2**doubled, 8))
_LENGTHS = [*range(40), *accumulate(_STEPS, initial=40)]
"""The lengths that tantivy knows: each up to 40, then in steps that double every eight of them."""


class Statistics(NamedTuple):
    """What a score depends on beside the passage: how many there are, and how long each field is on average."""

    passages: float
    mean: Mapping[str, float]


class Posting(NamedTuple):
    """How often a word stands in a field of a passage, and how long that field is."""

    number: int
    often: int
    length: int


class Fresh:
    """Passages beside the index, by their words.

    Attributes:
        numbers: what the index holds of these is not as it is now: they were added, changed or taken out.
    """

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        self._postings: defaultdict[tuple[str, str], dict[int, Posting]] = defaultdict(dict)
        self._held: dict[int, list[tuple[str, str]]] = {}

    def put(self, number: int, title: str, text: str) -> None:
        """Takes a passage in, in place of what has its number."""
        self.forget(number)
        keys = self._held[number] = []
        for field, said in zip(FIELDS, (title, text), strict=True):
            counts = Counter(terms(said))
            length = _LENGTHS[bisect_right(_LENGTHS, counts.total()) - 1]
            for word, often in counts.items():
                self._postings[field, word][number] = Posting(number, often, length)
                keys.append((field, word))

    def forget(self, number: int) -> None:
        """Takes a passage out, here and in what the index holds."""
        self.numbers.add(number)
        for key in self._held.pop(number, ()):
            del self._postings[key][number]

    def scores(
        self, words: Sequence[str], statistics: Statistics, holding: Callable[[str, str], int]
    ) -> Iterable[tuple[int, float]]:
        """Returns the passages that hold one of these different words, with their scores; `holding` counts a word's."""
        found: defaultdict[int, float] = defaultdict(float)
        for word in words:
            for field in FIELDS:
                postings = self._postings.get((field, word))
                if not postings:
                    continue
                n = holding(field, word)
                rarity = math.log(1 + (statistics.passages - n + 0.5) / (n + 0.5))
                for number, often, length in postings.values():
                    fit = often + K1 * (1 - B + B * length / statistics.mean[field])
                    found[number] += rarity * often * (1 + K1) / fit
        return found.items()
