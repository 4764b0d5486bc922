"""Links names of diseases to the titles of ICD-10 by fuzzy match (ai-hospital §3.2).

The paper links what is more similar than 0.5 and does not say which similarity it takes. Here it is one of letters and
of words, after both sides were brought to one wording (`wording`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Indel, LCSseq

from polyclinic.language.language import Language, is_chinese
from polyclinic.metrics.icd.tables import IcdEntry, category
from polyclinic.metrics.icd.wording import name_wordings, read_wording, title_wordings
from polyclinic.statistics.uncertainty import Numbers

THRESHOLD = 0.5
_CANDIDATES = 80  # titles with the most in common; only their letters are compared
_EXACT = 1.0
_EQUAL = 1e-9  # similarities that differ by less are a tie
# The next three were chosen on the half of AI Hospital's recorded reports with even ids.
_CONTAINED = 0.3  # how much of what is missing to 1 is given to a title that only says more, or only less
_QUALIFIED = 0.08  # what a word costs that makes another disease of a name
_COVERED = 0.7  # how much of a name the titles in it must make up
_SHORTEST = 3  # characters of a title that is looked for inside a name
_PERCENT = 100
_LATIN = re.compile(r"[a-z0-9%+]+")


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A name, or a part of one, as it was compared, and the title it is linked to.

    Attributes:
        code: None where no title is similar enough.
        similarity: 0 to 1; of the most similar title, also where it is below the threshold.
        ties: how many further codes are as similar. The title in its own words goes before a variant of another, then
            the first in the table is taken, which in a sorted table is the most general.
        other_categories: whether any of these codes is of another category.
        nearest: the most similar titles, where names are compared by these (`nearest`); None elsewhere.
    """

    name: str
    code: str | None
    title: str | None
    similarity: float
    ties: int = 0
    other_categories: bool = False
    nearest: frozenset[str] | None = None


def linked(name: str, similarity: float, entries: Sequence[IcdEntry]) -> Link:
    """Returns the link of a name to the first of the titles that are most similar to it, where that is enough."""
    if similarity < THRESHOLD:
        return Link(name=name, code=None, title=None, similarity=similarity)
    codes = {entry.code for entry in entries}
    return Link(
        name=name,
        code=entries[0].code,
        title=entries[0].title,
        similarity=similarity,
        ties=len(codes) - 1,
        other_categories=len(set(map(category, codes))) > 1,
    )


Linker = Callable[[Iterable[str]], Mapping[str, tuple[Link, ...]]]


class Titles:
    """The titles of a table, ready to be searched; where several codes are equally similar, the first one wins."""

    def __init__(self, entries: Sequence[IcdEntry]) -> None:
        self._entries = entries
        # A title in its own words goes before another title's variant.
        self._rows: dict[str, list[int]] = {}
        chinese = sum(is_chinese(entry.title) for entry in entries)
        self._language: Language = "zh" if 2 * chinese > len(entries) else "en"
        wordings = [title_wordings(entry.title, self._language) for entry in entries]
        for version in range(max(map(len, wordings), default=0)):
            for row, versions in enumerate(wordings):
                if version < len(versions):
                    self._rows.setdefault(versions[version], []).append(row)
        self._wordings = list(self._rows)
        self._longest = max(map(len, self._wordings), default=0)
        self._index()

    def _index(self) -> None:
        """Files the titles under what they are made of, and weighs rare parts more than common ones."""
        places: dict[str, list[int]] = defaultdict(list)
        for place, wording in enumerate(self._wordings):
            for part in _parts(wording):
                places[part].append(place)
        n = len(self._wordings)
        self._rarest = float(np.log(max(n, 2)))
        self._places = {part: np.array(found, dtype=np.intp) for part, found in places.items()}
        self._weights = {part: float(np.log(n / len(found))) + 0.1 for part, found in places.items()}
        self._sums = np.zeros(n)
        for part, found in self._places.items():
            self._sums[found] += self._weights[part]
        self._qualifying = read_wording(self._language).qualifiers
        self._qualifiers = [frozenset(self._qualifying.findall(wording)) for wording in self._wordings]
        self._found: dict[str, Link] = {}

    def link_all(self, names: Iterable[str]) -> dict[str, tuple[Link, ...]]:
        """Returns the links of several names, by name."""
        return {name: self.link(name) for name in dict.fromkeys(names)}

    def link(self, name: str) -> tuple[Link, ...]:
        """Links a name to the title, or to the titles, that say it best.

        Its wordings are tried from the fullest to the barest. A name of several diseases is one code where ICD-10 has
        one for them, and is taken apart where the parts are more similar to their titles, on average, than the whole
        to its own; or where titles stand in it, one behind the other, and cover it but for less than a third. A disease
        has one link; there is none where the name says nothing.
        """
        wordings = name_wordings(name, self._language)
        if not wordings:
            return ()
        for wording in wordings:
            if wording in self._rows:
                return (self._best(wording),)
        barest = wordings[-1]
        readings: list[tuple[Link, ...]] = [(self._best(barest),)]
        joints = read_wording(self._language).joints
        joined = [part for text in joints.split(barest) for part in name_wordings(text, self._language)[-1:]]
        if len(joined) > 1:
            readings.append(tuple(self._best(part) for part in joined))
        best = max(readings, key=lambda links: sum(link.similarity for link in links) / len(links))
        inside = self._inside(barest)
        covered = sum(map(len, inside)) / len(barest)
        if len(inside) > 1 and covered > max(_COVERED, sum(link.similarity for link in best) / len(best)):
            return tuple(self._best(wording) for wording in inside)
        return best

    def _inside(self, text: str) -> list[str]:
        """Returns the titles that stand in a text, the longest first from left to right."""
        found, begin = [], 0
        while begin < len(text):
            ends = range(min(len(text), begin + self._longest), begin + _SHORTEST - 1, -1)
            end = next((end for end in ends if text[begin:end] in self._rows), None)
            if end is not None:
                found.append(text[begin:end])
            begin = end if end is not None else begin + 1
        return found

    def _best(self, wording: str) -> Link:
        if wording not in self._found:
            self._found[wording] = self._search(wording)
        return self._found[wording]

    def _search(self, wording: str) -> Link:
        if wording in self._rows:
            return linked(wording, _EXACT, [self._entries[row] for row in self._rows[wording]])
        overlap = self._overlap(wording)
        places = np.flatnonzero(overlap)
        if len(places) > _CANDIDATES:
            bar = np.partition(overlap[places], -_CANDIDATES)[-_CANDIDATES]
            places = places[overlap[places] >= bar]
        if not len(places):
            return linked(wording, 0.0, ())
        similarity = self._similarity(wording, places, overlap[places])
        highest = float(similarity.max())
        best = places[similarity >= highest - _EQUAL]  # in order, own words first
        rows = (row for place in best for row in self._rows[self._wordings[place]])
        return linked(wording, highest, [self._entries[row] for row in rows])

    def _overlap(self, wording: str) -> Numbers:
        """Returns the weighted share (Dice) of parts that a wording has in common with each title."""
        shared, own = np.zeros(len(self._wordings)), 0.0
        for part in _parts(wording):
            own += self._weights.get(part, self._rarest)
            if part in self._places:
                shared[self._places[part]] += self._weights[part]
        return 2 * shared / (self._sums + own)

    def _similarity(self, wording: str, places: NDArray[np.intp], overlap: Numbers) -> Numbers:
        """Returns the similarity to some titles: half by letters, half by parts.

        English words count in any order. Where the one stands wholly in the other, and so only says more or less, it is
        raised; for every word that makes another disease of it and stands in one of the two only, it is lowered.
        """
        titles = [self._wordings[place] for place in places]
        if self._language == "zh":
            letters = process.cdist([wording], titles, scorer=Indel.normalized_similarity, dtype=np.float64)[0]
            common = process.cdist([wording], titles, scorer=LCSseq.similarity, dtype=np.float64)[0]
            contained = common == np.minimum([len(title) for title in titles], len(wording))
        else:
            letters = process.cdist([wording], titles, scorer=fuzz.token_sort_ratio, dtype=np.float64)[0] / _PERCENT
            words = set(wording.split())
            contained = np.array([words <= set(title.split()) or words >= set(title.split()) for title in titles])
        similarity: Numbers = (letters + overlap) / 2
        similarity += _CONTAINED * contained * (1 - similarity)
        own = frozenset(self._qualifying.findall(wording))
        unlike = np.array([len(own ^ self._qualifiers[place]) for place in places])
        return np.clip(similarity - _QUALIFIED * unlike, 0.0, _EXACT)


def _parts(text: str) -> list[str]:
    """Returns what a text is made of, each once: Chinese characters and pairs, Latin words and triples of letters."""
    parts: dict[str, None] = {}
    for word in _LATIN.findall(text):
        parts[f" {word} "] = None
        bounded = f" {word} "
        parts |= dict.fromkeys(bounded[at : at + 3] for at in range(len(bounded) - 2) if len(word) > _SHORTEST)
    for run in _LATIN.split(text.replace(" ", "")):
        parts |= dict.fromkeys(run)
        parts |= dict.fromkeys(run[at : at + 2] for at in range(len(run) - 1))
    return list(parts)
