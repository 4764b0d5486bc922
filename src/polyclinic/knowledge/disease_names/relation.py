"""The relation between two names of diseases: what the first is to the second.

The names are read (`meaning`) into what they say. The first is a kind of the second where it says all that the second
says, or something that entails it, and nothing that excludes it; both ways round they are the same. Words of doubt
("possible", 待查) change nothing: the name says which disease is meant, not how sure somebody is. What is said not to
be there ("no pneumonia", 排除肺炎) is another thing than the disease.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterable

from polyclinic.knowledge.disease_names import kept_words
from polyclinic.knowledge.disease_names.alternatives import one_line
from polyclinic.knowledge.disease_names.giveaways import read_giveaways
from polyclinic.knowledge.disease_names.kept_words import Definition, LearntNames, vocabulary
from polyclinic.knowledge.disease_names.meaning import BESIDE, METASTASIS, NameMeaning, read
from polyclinic.knowledge.disease_names.relations import TURNED, ReadName, Relation
from polyclinic.knowledge.disease_names.several import DiseaseListReader
from polyclinic.knowledge.disease_names.spelling import units
from polyclinic.knowledge.disease_names.vocabulary import (
    DISEASE,
    NameVocabulary,
    NameWord,
    flat,
    opposed,
    wider_number,
)

__all__ = ["TURNED", "NameReader", "Relation", "names_several", "reader", "relation"]

_KEPT = 1 << 16
_COMMAS = frozenset(",，")
_MOST_PARTS = 6
_SAYING = ("process", "event", "state", "disease")
_SPOKEN = 6  # letters of a single word that may be a compound; shorter ones are abbreviations


class NameReader:
    """Reads names and compares them; made once, see `reader`."""

    def __init__(self, words: NameVocabulary, learnt: LearntNames | None = None) -> None:
        self._words = words
        self._entered: list[tuple[tuple[str, ...], NameWord]] = []
        self.kinds = words.kinds
        self._parents: dict[str, frozenset[str]] = {
            atom: frozenset((parent,)) for atom, parent in words.parents.items()
        }
        self._usual: dict[str, frozenset[str]] = {}
        # Diseases whose complications are kinds of them, as in ICD-10 (E10 to E14, M32.1).
        self._complicated = frozenset(said.atom for said in words.said if said.complications)
        self._definitions: dict[str, list[Definition]] = defaultdict(list)
        self._closures: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        if learnt is None:
            self._learn()
        else:
            self._parents, self._usual, self._definitions = learnt.parents, learnt.usual, learnt.definitions
            self._entered = learnt.entered
            for row, word in learnt.entered:
                words.enter(row, word)
        self.known = functools.lru_cache(maxsize=_KEPT)(self._known)
        self.relation = functools.lru_cache(maxsize=_KEPT)(self._relation)
        self.several = DiseaseListReader(words, self.known, self.relation)

    def _learn(self) -> None:
        """Reads what the files say in words, first what each atom is, then what each name of it says."""
        words = self._words
        read_once = functools.cache(lambda text: self._read(text).atoms)
        for said in words.said:
            what = [read_once(text) for text in said.what]
            # A disease that is called what it is ("cancer of prostate") is what the parts of that say.
            what = [
                self._apart(text).atoms if said.atom in found else found
                for text, found in zip(said.what, what, strict=True)
            ]
            self._parents[said.atom] = self._parents.get(said.atom, frozenset()) | frozenset().union(*what)
            if said.usual:
                self._usual[said.atom] = frozenset().union(*(self._read(text).atoms for text in said.usual))
        self._closures.clear()  # Some were asked for before all that an atom is had been read.
        for said in words.said:
            if words.kinds[said.atom] == "disease":
                for name in said.names:
                    self._define(said.atom, name)
        known_once = functools.cache(lambda text: self._recognised(self._read(text).atoms))
        for said in words.said:
            # What is "inflammation of the pharynx" in the files is a pharyngitis.
            what = [known_once(text) for text in said.what]
            self._parents[said.atom] |= frozenset().union(*what) - {said.atom}
        self._closures.clear()
        for names, means in words.means:
            atoms = self._read(means).atoms
            for name in names:
                self._enter(units(name), NameWord("disease", tuple(sorted(atoms))))
        self._closures.clear()

    def _enter(self, row: tuple[str, ...], word: NameWord) -> None:
        self._words.enter(row, word)
        self._entered.append((row, word))

    @property
    def learnt(self) -> LearntNames:
        """What was read out of the names of diseases."""
        return LearntNames(self._parents, self._usual, self._definitions, self._entered)

    def parents(self, atom: str) -> frozenset[str]:
        """Returns what an atom is a kind of, as the files say."""
        return self._parents.get(atom, frozenset())

    def _define(self, atom: str, name: str) -> None:
        """Takes a name apart: whoever says its parts, in whatever order, means the disease."""
        words = self._words
        row = units(name)
        if name[0] in "=^" or (len(row) == 1 and len(row[0]) < _SPOKEN):
            return
        node = words.node(row)
        kept = node.get("")
        parts = self._apart(name)
        if not parts.heads:
            return
        usual = self._usual.get(atom, frozenset()) & parts.atoms
        explicit = frozenset(one for one in usual if one in words.rivals)
        if explicit and kept is not None and kept.atoms == (atom,):
            # "Primary hypertension" is hypertension, and not a secondary one.
            self._enter(row, NameWord("disease", (atom, *sorted(explicit))))
        parts_said = parts.atoms - explicit
        if atom in parts_said:
            return
        known = self.closure(frozenset((atom,)))
        others = {one for one in parts_said if words.kinds.get(one.removeprefix(BESIDE)) == "disease"}
        vague = len(row) == 1 and not any(
            words.kinds.get(one) in ("process", "event") for one in parts_said - {DISEASE}
        )
        qualities = all(words.kinds.get(one.removeprefix(BESIDE)) == "quality" for one in parts_said)
        strange = any(one not in known and one.removeprefix(BESIDE) not in known for one in others)
        if strange or len(parts_said) < 2 or vague or qualities:
            return
        self._definitions[_rarest(parts_said)].append((parts_said, atom))

    def _apart(self, name: str) -> NameMeaning:
        """Returns what a name says that is read by its parts, whatever it means as a whole."""
        node = self._words.node(units(name))
        kept = node.pop("", None)
        parts = self._read(name)
        if kept is not None:
            node[""] = kept
        return parts

    def _read(self, name: str) -> NameMeaning:
        return read(units(name), self._words, self.closure)

    def _known(self, name: str) -> ReadName:
        """Returns what a name says, and all that follows from it."""
        row = units(name)
        meaning = read(row, self._words, self.closure)
        own = {cause for cause in meaning.causes if not self._complicated.isdisjoint(self.closure(frozenset((cause,))))}
        said = self._recognised(meaning.atoms)
        follows = self._follows(said | own)
        if BESIDE + METASTASIS in follows:
            follows |= {METASTASIS}  # A cancer with metastases is a metastatic one.
        return ReadName(row, meaning, said, follows, self._follows(_flat(said)))

    def _recognised(self, atoms: frozenset[str]) -> frozenset[str]:
        """Returns atoms with the diseases that some of them define together in place of those."""
        kinds = self._words.kinds
        # What brings a disease about may be said beside it ("anaemia due to iron deficiency").
        bare = {a: a.removeprefix(BESIDE) if kinds.get(a.removeprefix(BESIDE)) != "disease" else a for a in atoms}
        found = frozenset(bare.values())
        defined = [d for one in found for d in self._definitions.get(one, ()) if d[0] <= found]
        if not defined:
            return atoms
        used = frozenset().union(*(parts for parts, _ in defined))
        return frozenset(a for a in atoms if bare[a] not in used) | {disease for _, disease in defined}

    def _follows(self, atoms: frozenset[str]) -> frozenset[str]:
        """Returns all that is so where atoms are, with the diseases that they define together.

        Something of what defines a disease is said in so many words; what is so of a disease anyhow is in the files. A
        definition that says no more than "disease" ("functional bowel disease") does not reach every one of the place.
        """
        spelt = self._all(atom for atom in atoms if self._words.kinds.get(atom) != "disease")
        while True:
            found = self._all(atoms)
            new = {
                atom
                for one in found
                for parts, atom in self._definitions.get(one, ())
                if atom not in found and parts <= found and not parts.isdisjoint(spelt) and self._says_what(parts)
            }
            if not new:
                return found
            atoms = atoms | new

    def _says_what(self, parts: frozenset[str]) -> bool:
        return any(self._words.kinds.get(part) in _SAYING and part != DISEASE for part in parts)

    def closure(self, atoms: frozenset[str]) -> frozenset[str]:
        """Returns all that atoms are, themselves among them, without what only goes without saying."""
        return frozenset().union(*(self._closure(atom)[0] for atom in atoms))

    def _closure(self, atom: str) -> tuple[frozenset[str], frozenset[str]]:
        """Returns all that an atom is, and what goes without saying of it."""
        if atom not in self._closures:
            self._closures[atom] = (frozenset((atom,)), frozenset())  # where a row names itself
            if atom.startswith(BESIDE):
                known, usual = self._closure(atom[len(BESIDE) :])
                self._closures[atom] = (_beside(known), _beside(usual))
            else:
                found, usual_too = {atom}, set(self._usual.get(atom, ()))
                if "+" in atom:  # what both of two places side by side are in
                    found |= frozenset.intersection(*(self._closure(part)[0] for part in atom.split("+")))
                found |= {wider_number(atom), wider_number(wider_number(atom))}
                if self._words.kinds.get(atom) in ("disease", "process", "event"):
                    found.add(DISEASE)
                for parent in self._parents.get(atom, ()):
                    known, usual = self._closure(parent)
                    found |= known
                    usual_too |= usual
                self._closures[atom] = (frozenset(found), frozenset(usual_too))
        return self._closures[atom]

    def _all(self, atoms: Iterable[str]) -> frozenset[str]:
        return frozenset().union(*(part for atom in atoms for part in self._closure(atom)))

    def _relation(self, a: str, b: str) -> Relation:
        """Returns the relation; of names that mean one thing or another, the closest that there is between the two."""
        readings = self._words.readings
        first, second = readings.get(units(a), (a,)), readings.get(units(b), (b,))
        if len(first) == len(second) == 1 or units(a) == units(b):
            return self._of_two(a, b)
        found = {self._of_two(one, other) for one in first for other in second}
        if Relation.SAME in found or {Relation.NARROWER, Relation.BROADER} <= found:
            return Relation.SAME
        return next((one for one in TURNED if one in found), Relation.DIFFERENT)

    def _of_two(self, a: str, b: str) -> Relation:
        first, second = self.known(a), self.known(b)
        if first.meaning.empty or second.meaning.empty:
            return Relation.DIFFERENT
        if _same_words(first.row, second.row) and (
            _same_parts(first.row, second.row) or (a.isascii() and self._order_is_nothing(first, second))
        ):
            return Relation.SAME
        if (of_several := self.several.compare(a, b)) is not None:
            return of_several
        if first.said == second.said:
            return Relation.SAME if first.meaning.denied == second.meaning.denied else Relation.DIFFERENT
        if first.meaning.denied or second.meaning.denied:
            return Relation.DIFFERENT
        if opposed(first.meaning.atoms, second.meaning.atoms, self._words.rivals):
            return Relation.DIFFERENT
        narrower, broader = _holds(first.all, second.said), _holds(second.all, first.said)
        if narrower and broader:
            return Relation.SAME
        if narrower:
            return Relation.NARROWER
        if broader:
            return Relation.BROADER
        return Relation.SAME if self._only_turned(first, second) else Relation.DIFFERENT

    def _only_turned(self, first: ReadName, second: ReadName) -> bool:
        """Whether two names say the same of one disease, and only put what is beside it otherwise."""
        if not any(atom.startswith(BESIDE) for atom in first.said | second.said):
            return False
        if not (_flat(second.said) <= first.flat and _flat(first.said) <= second.flat):
            return False
        return self._one_named(first, second)

    def _order_is_nothing(self, first: ReadName, second: ReadName) -> bool:
        return not (first.meaning.linked or second.meaning.linked) or self._one_named(first, second)

    def _one_named(self, first: ReadName, second: ReadName) -> bool:
        return self._names_one(first, second) or self._names_one(second, first)

    def _names_one(self, first: ReadName, second: ReadName) -> bool:
        own = [atom for atom in first.said if self._words.kinds.get(atom) in ("disease", "process", "event")]
        return any(atom in second.all for atom in own)


def _same_words(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether two names have the same words in some order."""
    if first == second:
        return True
    ours, theirs = ([unit for unit in row if unit not in _COMMAS] for row in (first, second))
    return sorted(ours) == sorted(theirs)


def _same_parts(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether two names have the same parts between commas in another order, with commas or without."""
    if len(first) < len(second):
        first, second = second, first
    parts, others = _between_commas(first), _between_commas(second)
    if sorted(parts) == sorted(others):
        return True
    if len(others) > 1 or len(parts) > _MOST_PARTS:
        return False
    return any(tuple(itertools.chain.from_iterable(order)) == second for order in itertools.permutations(parts))


def _between_commas(row: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [tuple(group) for comma, group in itertools.groupby(row, lambda unit: unit in _COMMAS) if not comma]


def _holds(known: frozenset[str], said: frozenset[str]) -> bool:
    """Whether all that is said is known to be so; what is the disease itself is also beside it."""
    return all(atom in known or (atom.startswith(BESIDE) and atom[len(BESIDE) :] in known) for atom in said)


def _beside(atoms: frozenset[str]) -> frozenset[str]:
    return frozenset(BESIDE + atom.removeprefix(BESIDE) for atom in atoms)


def _flat(atoms: frozenset[str]) -> frozenset[str]:
    return frozenset(atom.removeprefix(BESIDE) for atom in atoms)


def _rarest(atoms: frozenset[str]) -> str:
    return min(atoms, key=lambda atom: (atom == DISEASE, -len(atom), atom))


@functools.cache
def reader() -> NameReader:
    """Returns the reader of names; its words are read when somebody first asks."""
    words, learnt = vocabulary(), kept_words.learnt()
    if learnt is None:
        before = flat(words)
        made = NameReader(words)
        kept_words.keep(before, made.learnt, read_giveaways())
        return made
    return NameReader(words, learnt)


def relation(a: str, b: str) -> Relation:
    """Returns what a disease is to another, both by name, in English or Chinese or one in each.

    A name that says nothing is different from everything.
    """
    return reader().relation(one_line(a), one_line(b))


def names_several(name: str) -> bool:
    """Returns whether a name is of several diseases, alternatives or a list, and so of none of them."""
    return len(reader().several.diseases(one_line(name))) > 1
