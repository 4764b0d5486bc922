"""Names of several diseases beside others: which diseases they name, and what that makes them.

The diseases of a name are alternatives ("influenza or asthma") or a list (流感、哮喘); or all but one are denied
("influenza, no pneumonia"), and the name is that of the one. What joins two names that are one disease's, or one's of
which the other is a kind, makes no list; nor does "and", unless it joins three that are nothing of one another.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from polyclinic.knowledge.disease_names.alternatives import JoinedPart, choices_of, joined, parts_of
from polyclinic.knowledge.disease_names.relations import AROUND, WITHIN, ReadName, Relation
from polyclinic.knowledge.disease_names.segments import SEPARATORS
from polyclinic.knowledge.disease_names.spelling import units
from polyclinic.knowledge.disease_names.vocabulary import NameVocabulary

_KEPT = 1 << 16


class _Several(NamedTuple):
    """The diseases that a name names, and whether they are alternatives."""

    names: tuple[str, ...]
    alternatives: bool = False


class DiseaseListReader:
    """Compares names of which one names several diseases, by what each of them is."""

    def __init__(
        self, words: NameVocabulary, known: Callable[[str], ReadName], relation: Callable[[str, str], Relation]
    ) -> None:
        self._words, self._known, self._relation = words, known, relation
        self._kept = functools.lru_cache(maxsize=_KEPT)(self._several)

    def compare(self, a: str, b: str) -> Relation | None:
        """Returns the relation where at least one of two names names several, or one and what it is not."""
        several, others = self._kept(a), self._kept(b)
        if several is None and others is None:
            return None
        first, second = several or _Several((a,)), others or _Several((b,))
        table = [[self._relation(a, b) for b in second.names] for a in first.names]
        narrower = all(any(one in WITHIN for one in row) for row in table)
        broader = all(any(one in AROUND for one in column) for column in zip(*table, strict=True))
        if narrower and broader:
            return Relation.SAME
        if narrower and (first.alternatives or second.alternatives or len(second.names) == 1):
            return Relation.NARROWER
        if broader and (first.alternatives or second.alternatives or len(first.names) == 1):
            return Relation.BROADER
        return Relation.DIFFERENT

    def diseases(self, name: str) -> tuple[str, ...]:
        """Returns the diseases that a name names where there are several, or the one that is not denied; or nothing."""
        found = self._kept(name)
        return () if found is None else found.names

    def _several(self, name: str) -> _Several | None:
        """Returns the diseases that a name names where there are several, or others that are denied."""
        row, words = units(name), self._words
        if self._words.joining.isdisjoint(row) and SEPARATORS.isdisjoint(row):
            return None
        found = self._divided(parts_of(row, words), 2)
        if found is not None and not found.alternatives and _apart_by_blanks(name) and self._one_place(found.names):
            return None
        return found or self._chosen(row) or self._divided(parts_of(row, words, at_and=True), 3)

    def _one_place(self, names: Sequence[str]) -> bool:
        kinds = self._words.kinds
        places = [{atom for atom in self._known(name).all if kinds.get(atom) == "place"} for name in names]
        shared = set.intersection(*places)
        return bool(shared) and any(theirs == shared for theirs in places)

    def _divided(self, parts: Sequence[JoinedPart], least: int) -> _Several | None:
        rows: list[tuple[str, ...]] = []
        waiting: tuple[str, ...] = ()
        alternatives = False
        for part in parts:
            if not self._is_disease(part.row, sure=part.joint != "or"):
                if rows:
                    rows[-1] += (",", *part.row)
                else:
                    waiting += (*part.row, ",")
                continue
            alternatives |= bool(rows) and part.joint == "or"
            rows.append((*waiting, *part.row) if not rows else part.row)
        names = [joined(one) for one in rows]
        if len(names) < 2:
            return None
        denied = [self._known(name).meaning.denied for name in names]
        if alternatives and (denied[0] or denied[-1]):
            return None  # "no influenza or pneumonia"
        if any(denied) and not all(denied):
            return _Several(tuple(name for name, gone in zip(names, denied, strict=True) if not gone), alternatives)
        apart: list[str] = []
        for name in names:
            if all(self._relation(name, other) is Relation.DIFFERENT for other in apart):
                apart.append(name)
        return _Several(tuple(names), alternatives) if len(apart) >= least else None

    def _chosen(self, row: tuple[str, ...]) -> _Several | None:
        for chosen in choices_of(row, self._words) if not self._known(joined(row)).meaning.denied else ():
            one, other = map(joined, chosen)
            told = all(self._is_disease(units(name), sure=True) for name in (one, other))
            if told and self._relation(one, other) is Relation.DIFFERENT:
                return _Several((one, other), alternatives=True)
        return None

    def _is_disease(self, row: tuple[str, ...], *, sure: bool) -> bool:
        """Whether a part of a name names a disease; where it must be `sure`, by known words that say which."""
        ends = {row[0], row[-1]}
        said = self._known(joined(row))
        strange = not sure and all(atom not in self._words.kinds and ":" not in atom for atom in said.said)
        if not (said.meaning.heads or strange) or (sure and not said.meaning.plain) or not ends.isdisjoint(SEPARATORS):
            return False
        kinds = {self._words.kinds.get(atom) for atom in said.said}
        if "disease" in kinds:
            return True
        if not sure:
            return bool(kinds - {"state", "quality", "event"})
        return "process" in kinds and not kinds.isdisjoint(("place", "cause"))


def _apart_by_blanks(name: str) -> bool:
    """Whether nothing but blanks divides a Chinese name (肾病综合征 膜性肾病); one of one place is one disease."""
    return SEPARATORS.isdisjoint(name)
