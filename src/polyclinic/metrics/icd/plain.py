"""The plain way to link a report to ICD-10: cut at punctuation, take the title with the highest edit similarity.

It is the baseline that `linking` has to beat, and shows what its rules are worth.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Indel

from polyclinic.metrics.icd.linking import Link, linked
from polyclinic.metrics.icd.tables import IcdEntry

_NUMBER = re.compile(r"^\s*\d+[.、)]\s*", re.MULTILINE)
_PUNCTUATION = re.compile(r"[\n,，;；。、]")
_BLOCK = 256  # names compared at a time, so that the similarities stay small in memory


def split_plainly(text: str) -> tuple[str, ...]:
    """Returns what stands between the punctuation of a text, without numbering, each once."""
    parts = (part.strip() for part in _PUNCTUATION.split(_NUMBER.sub("", text)))
    return tuple(dict.fromkeys(part for part in parts if part))


def link_plainly(names: Iterable[str], entries: Sequence[IcdEntry]) -> dict[str, tuple[Link, ...]]:
    """Links each name to the title of the highest normalised edit similarity; among equals, the first in the table."""
    wanted = list(dict.fromkeys(names))
    titles = [entry.title for entry in entries]
    links: dict[str, tuple[Link, ...]] = {}
    for begin in range(0, len(wanted), _BLOCK):
        block = wanted[begin : begin + _BLOCK]
        similarities = process.cdist(block, titles, scorer=Indel.normalized_similarity, dtype=np.float32)
        for name, row in zip(block, similarities, strict=True):
            best = [entries[int(place)] for place in np.flatnonzero(row == row.max())]
            links[name] = (linked(name, float(row.max()), best),)
    return links
