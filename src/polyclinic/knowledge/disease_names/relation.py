"""The relation between two names of diseases: what the first is to the second.

The names are read (`meaning`) into what they say. The first is a kind of the second where it says all that the second
says, or something that entails it, and nothing that excludes it; both ways round they are the same. Words of doubt
("possible", 待查) change nothing: the name says which disease is meant, not how sure somebody is. What is said not to
be there ("no pneumonia", 排除肺炎) is another thing than the disease.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Literal, NamedTuple

from polyclinic.knowledge.disease_names import running_text as kept_words
from polyclinic.knowledge.disease_names.concepts import BESIDE, METASTASIS, SEPARATORS, NameMeaning, read
from polyclinic.knowledge.disease_names.giveaways import read_giveaways
from polyclinic.knowledge.disease_names.running_text import Definition, LearntNames, vocabulary
from polyclinic.knowledge.disease_names.spelling import units
from polyclinic.knowledge.disease_names.vocabulary import DISEASE, NameVocabulary, NameWord, opposed, wider_number
from polyclinic.knowledge.entries import Disease
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language, is_chinese


class Relation(StrEnum):
    """What a disease is to another."""

    SAME = "same"
    NARROWER = "narrower"
    """It is a kind of the other, or the other with something more said of it."""
    BROADER = "broader"
    """The other is a kind of it."""
    DIFFERENT = "different"


WITHIN = frozenset((Relation.SAME, Relation.NARROWER))
AROUND = frozenset((Relation.SAME, Relation.BROADER))
TURNED = {Relation.NARROWER: Relation.BROADER, Relation.BROADER: Relation.NARROWER}


class ReadName(NamedTuple):
    """What a name says, and what follows from it.

    Attributes:
        all: all atoms that are so; `flat` are those that are so where what is said beside the disease is so too.
    """

    row: tuple[str, ...]  # its units
    meaning: NameMeaning
    said: frozenset[str]  # its atoms, with a disease in place of those that define it
    all: frozenset[str]
    flat: frozenset[str]


Joint = Literal["", "or", "and", ","]

_OR = frozenset("/?？")
_OPENING, _CLOSING = frozenset("(（[【"), frozenset(")）]】")
_LINES = re.compile(r"\s*[\n\r|。]+\s*")
_NUMBERED = re.compile(r"(?:^|(?<=[\s,;，；、。]))[(（]?\d{1,2}\s?[.)）、．](?=\s*[^\W\d])")


class JoinedPart(NamedTuple):
    """A row of units between two joints; `joint` is the one before it."""

    joint: Joint
    row: tuple[str, ...]


def one_line(name: str) -> str:
    """Returns a name on one line, with a semicolon between lines and for bars, full stops and numbers of a list."""
    name = _LINES.sub("; ", name.strip(" \t\n\r|。"))
    return " ".join(_NUMBERED.sub("; ", name).strip("; ").split())


def joined(row: tuple[str, ...]) -> str:
    """Returns units as a name."""
    text = row[0] if row else ""
    for last, unit in itertools.pairwise(row):
        text += unit if not last.isascii() and not unit.isascii() else f" {unit}"
    return text


def parts_of(row: tuple[str, ...], words: NameVocabulary, *, at_and: bool = False) -> list[JoinedPart]:
    """Returns what stands between the marks and words that may join diseases, "and" only `at_and`."""
    parts: list[JoinedPart] = []
    begun, depth, linked = 0, 0, False
    joint: Joint = ""
    for begin, end, found in _joints(row, words):
        if row[begin] in _OPENING or row[begin] in _CLOSING:
            depth += 1 if row[begin] in _OPENING else -1
        elif found == "link":
            linked = True
        elif depth <= 0 and (found != "and" or at_and) and (not linked or row[begin] in ",，;；"):
            parts.append(JoinedPart(joint, row[begun:begin]))
            begun, joint, linked = end, found, False
    parts.append(JoinedPart(joint, row[begun:]))
    return [part for part in parts if part.row]


def choices_of(row: tuple[str, ...], words: NameVocabulary) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yields a name with the one and with the other of two words that "or" joins ("type 1 or type 2 diabetes")."""
    spans = list(_spans(row, words))
    for place in range(1, len(spans) - 1):
        begin, end, found = spans[place]
        if found == "or" and not spans[place - 1][2] and not spans[place + 1][2]:
            for first in dict.fromkeys((spans[place - 1][0], begin - 1)):
                for behind in dict.fromkeys((spans[place + 1][1], *_ends(row, end, words))):
                    yield row[:begin] + row[behind:], row[:first] + row[end:]


def _ends(row: tuple[str, ...], begin: int, words: NameVocabulary) -> list[int]:
    return [*reversed([end for end, _ in words.starting(row, begin)]), begin + 1]


def _joints(row: tuple[str, ...], words: NameVocabulary) -> Iterator[tuple[int, int, Joint | Literal["link"]]]:
    for begin, end, found in _spans(row, words):
        if found:
            yield begin, end, found


def _spans(row: tuple[str, ...], words: NameVocabulary) -> Iterator[tuple[int, int, Joint | Literal["link"]]]:
    """Yields the words of a row, the longest first, and whether they join."""
    at = 0
    while at < len(row):
        if row[at] in SEPARATORS:
            yield at, at + 1, "or" if row[at] in _OR else ","
            at += 1
            continue
        end, word = max(words.starting(row, at), key=lambda found: found[0], default=(at + 1, None))
        found = word.atoms[0] if word is not None and word.kind == "link" else ""
        link: Joint | Literal["link"] = ""
        if found == "or":
            link = "or"
        elif found == "and":
            link = "and"
        elif found and found not in ("of", "not"):
            link = "link"
        yield at, end, link
        at = end


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


__all__ = ["TURNED", "NameReader", "Relation", "names_several", "reader", "relation"]

_COMMAS = frozenset(",，")
_MOST_PARTS = 6
_SAYING = ("process", "event", "state", "disease")
_SPOKEN = 6  # letters of a single word that may be a compound; shorter ones are abbreviations


class NameReader:
    """Reads names and compares them; made once, see `reader`."""

    def __init__(self, words: NameVocabulary, learnt: LearntNames | None = None) -> None:
        self._words = words
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
                self._words.enter(units(name), NameWord("disease", tuple(sorted(atoms))))
        self._closures.clear()

    @property
    def learnt(self) -> LearntNames:
        """What was read out of the names of diseases."""
        return LearntNames(self._parents, self._usual, self._definitions)

    def parents(self, atom: str) -> frozenset[str]:
        """Returns what an atom is a kind of, as the files say."""
        return self._parents.get(atom, frozenset())

    def _define(self, atom: str, name: str) -> None:
        """Takes a name apart: whoever says its parts, in whatever order, means the disease."""
        words = self._words
        row = units(name)
        if name[0] in "=^" or (len(row) == 1 and len(row[0]) < _SPOKEN):
            return
        kept = words.words.get(row)
        parts = self._apart(name)
        if not parts.heads:
            return
        usual = self._usual.get(atom, frozenset()) & parts.atoms
        explicit = frozenset(one for one in usual if one in words.rivals)
        if explicit and kept is not None and kept.atoms == (atom,):
            # "Primary hypertension" is hypertension, and not a secondary one.
            words.enter(row, NameWord("disease", (atom, *sorted(explicit))))
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
        row = units(name)
        kept = self._words.words.pop(row, None)
        parts = self._read(name)
        if kept is not None:
            self._words.words[row] = kept
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
                if atom not in found
                and parts <= found
                and not parts.isdisjoint(spelt)
                and any(self._words.kinds.get(part) in _SAYING and part != DISEASE for part in parts)
            }
            if not new:
                return found
            atoms = atoms | new

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
    words, kept = vocabulary(), kept_words.kept()
    if kept is None:
        made = NameReader(words)
        kept_words.keep(words, made.learnt, read_giveaways())
        return made
    return NameReader(words, kept.learnt)


def relation(a: str, b: str) -> Relation:
    """Returns what a disease is to another, both by name, in English or Chinese or one in each."""
    return reader().relation(one_line(a), one_line(b))


def names_several(name: str) -> bool:
    """Returns whether a name is of several diseases, alternatives or a list, and so of none of them."""
    return len(reader().several.diseases(one_line(name))) > 1


@functools.lru_cache(maxsize=1 << 14)
def disease_meant(name: str, knowledge: Knowledge) -> Disease | None:
    """Returns the disease that a name means, or None.

    The knowledge's own names go first. Else it is the disease that the name is the same as, or a kind of: what holds
    of heart failure holds of an exacerbation of it. Of several the closest one is meant.
    """
    exact = knowledge.disease_named(name)
    if exact is not None:
        return exact
    language: Language = "zh" if is_chinese(name) else "en"
    closest: Disease | None = None
    for disease in knowledge.diseases.values():
        found = relation(name, disease.name.get(language))
        if found is Relation.SAME:
            return disease
        if found is Relation.NARROWER and (closest is None or _is_kind(disease, closest)):
            closest = disease
    return closest


def _is_kind(disease: Disease, other: Disease) -> bool:
    return relation(disease.name.en, other.name.en) is Relation.NARROWER


def known_relation(a: str, b: str, knowledge: Knowledge) -> Relation:
    """Returns what a disease is to another, both by name, to whom the knowledge is the judge of its own names.

    Names that it has are the same or different as it says, also where it has one disease for several that words tell
    apart ("gastric ulcer" and "duodenal ulcer" are its peptic ulcer). A broader name that is one of its names for what
    the other is a kind of is the same, as it has no closer one: "influenza A", where it was an influenza A (H1N1).
    """
    first, second = knowledge.disease_named(a), knowledge.disease_named(b)
    if first is not None and second is not None:
        return Relation.SAME if first.id == second.id else Relation.DIFFERENT
    found = relation(a, b)
    if found is Relation.BROADER and first is not None and disease_meant(b, knowledge) is first:
        return Relation.SAME
    return found
