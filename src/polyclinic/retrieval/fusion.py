"""Reciprocal rank fusion: several rankings made one, by places alone, as their scores have no common measure.

Cormack, Clarke and Büttcher, Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods, SIGIR
2009. They take 60 for the constant, for rankings of some thousand documents that differ little; with 10 the first
places count for more (see docs/retrieval.md for both on LiveQA).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from polyclinic.retrieval.bm25 import Ranked

CONSTANT = 10
DEPTH = 100
"""Places of each ranking that count."""

_DECIMALS = 6


def fuse(rankings: Iterable[Ranked], *, constant: int = CONSTANT) -> Ranked:
    """Returns one ranking: a number's score is the sum of 1 ÷ (constant + place), places from 1."""
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for place, (number, _) in enumerate(ranking, start=1):
            scores[number] += 1 / (constant + place)
    rounded = ((number, round(score, _DECIMALS)) for number, score in scores.items())
    return sorted(rounded, key=lambda hit: (-hit[1], hit[0]))
