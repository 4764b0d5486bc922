"""The words that names of diseases are made of, read from the data files beside this one.

Every word, English or Chinese, is a name of an atom: a place, a process, a quality, a cause, or a disease whose name
says more than its parts do. So "nephrolithiasis", "kidney stone" and 肾结石 are the same atoms. What an atom is as well
(a kidney is in the upper urinary tract, tuberculosis is a bacterial infection) stands in the files, and so does what
goes without saying (a stroke is acute).
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from polyclinic.knowledge.disease_names.spelling import HERE, fold, plain, units
from polyclinic.yaml_files import read_yaml

Kind = Literal[
    "place", "part", "process", "event", "state", "quality", "cause", "disease", "link", "nothing", "doubt", "denied"
]

DISEASE = "disease"
"""What every disease is."""

_LETTERED = re.compile(r"([a-z]+:\d+)[a-e]$|([a-z]+:\d+[a-e])\d$")
_BINOMIAL = re.compile(
    r"((?!human|atyp|non)[a-z])[a-z]{4,} ([a-z]{4,}(?:ae|is|um|us|ii|a|ans|es|ens|er|i|on|ei)(?<!virus|teria|nella))"
)
_SHORT = 5  # letters of a name that says too little without "disease"

_CAUSES = ("organisms.yaml", "substances.yaml", "causes.yaml")
_FILES = ("diseases.yaml", *(f"diseases_{number}.yaml" for number in range(2, 12)))


class NameWord(NamedTuple):
    """What a row of units means."""

    kind: Kind
    atoms: tuple[str, ...]  # those that it names; a link, or what adds nothing, has its own name here


class _NameRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a file; texts hold several, with ";" between them. The files say what the fields are."""

    en: str = ""
    zh: str = ""
    form: str = ""
    suffix: str = ""
    within: str = msgspec.field(default="", name="in")
    what: str = msgspec.field(default="", name="is")
    usual: str = ""
    complications: bool = False
    means: str = ""
    illness: str = ""


class AtomTexts(NamedTuple):
    """What a file says in words about an atom, to be read as a name once all words are known."""

    atom: str
    what: tuple[str, ...]
    usual: tuple[str, ...]
    names: tuple[str, ...]
    complications: bool


class NameVocabulary(msgspec.Struct, array_like=True, eq=False):
    """All words, by their units."""

    words: dict[tuple[str, ...], NameWord] = {}
    lengths: dict[str, list[int]] = {}  # of the words that begin with a unit, the shortest first
    whole: dict[tuple[str, ...], NameWord] = {}  # words that count only where they are the whole name
    forms: dict[str, NameWord] = {}  # combining forms of compounds ("nephr") and what they mean
    suffixes: dict[str, NameWord] = {}  # the same of their ends
    kinds: dict[str, Kind] = {}  # of every atom
    rivals: dict[str, str] = {}  # the group of atoms of which only one can be so, by atom
    parents: dict[str, str] = {}  # what each atom is as well, where that is one atom
    said: list[AtomTexts] = []  # what is to be read as names
    joining: frozenset[str] = frozenset()  # units with which "or" and "and" begin
    means: list[tuple[tuple[str, ...], str]] = []  # abbreviations of names, not of one disease
    readings: dict[tuple[str, ...], tuple[str, ...]] = {}  # names said of one thing or another, both in other words

    def read(self) -> NameVocabulary:
        """Reads the files."""
        readings = read_yaml(HERE / "readings.yaml", dict[str, str])
        self.readings = {units(name): _texts(said) for name, said in readings.items()}
        causes = {name: row for file in _CAUSES for rows in _rows(file).values() for name, row in rows.items()}
        self._read_small_words()
        self._read_parts(causes)
        for file in _FILES:
            for name, row in read_yaml(HERE / file, dict[str, _NameRow]).items():
                names = _texts(row.en, row.zh)
                if row.means:
                    self.means.append((names, row.means))
                    continue
                self._enter(name, "disease", row, *(() if f"^{name}" in names else (name,)))
        self._name_infections(causes)
        self._shorten()
        return self

    def _read_small_words(self) -> None:
        grammar = read_yaml(HERE / "grammar.yaml", dict[str, dict[str, Any]])
        joining = (grammar["links"][link] for link in ("or", "and"))
        self.joining = frozenset(units(name)[0] for row in joining for name in _texts(row["en"], row["zh"]))
        for link, row in grammar["links"].items():
            self._add(_texts(row.get("en"), row.get("zh")), NameWord("link", (link,)))
        for kind in ("nothing", "doubt", "denied"):
            self._add(_texts(grammar[kind]["en"], grammar[kind]["zh"]), NameWord(kind, (kind,)))
        self.kinds["after"] = "quality"

    def _read_parts(self, causes: Mapping[str, _NameRow]) -> None:
        body = _rows("body.yaml")
        for name, row in body["organs"].items():
            self._enter(name, "place", row)
        for name, row in body["parts"].items():
            self._enter(name, "part", row)
        for row in body["together"].values():
            self._add(_texts(row.en, row.zh), NameWord("part", _texts(row.what)))
        processes = _rows("processes.yaml")
        for name, row in processes["states"].items():
            self._enter(name, "state", row)
        for name, row in processes["processes"].items():
            self._enter(name, "process", row)
        for name, row in processes["events"].items():
            self._enter(name, "event", row)
        for name, row in processes["levels"].items():
            self._enter(name, "process", row)
            self.rivals[name] = "level"
        for name, row in causes.items():
            self._enter(name, "cause", row)
            self._add(with_short_genus(_texts(row.en)), NameWord("cause", (name,)))
        qualities = read_yaml(HERE / "qualities.yaml", _Qualities)
        for name, row in qualities.free.items():
            self._enter(name, "quality", row)
        for group, rows in qualities.opposites.items():
            for name, row in rows.items():
                self._enter(name, "quality", row)
                self.rivals[name] = group

    def _name_infections(self, causes: Mapping[str, _NameRow]) -> None:
        """Enters what an infection by each organism is called; what brings it is in its name, whoever says it."""
        for row in causes.values():
            called = _texts(row.illness)
            if not called:
                continue
            atom = self._disease_called(called) or called[0]
            self.kinds.setdefault(atom, "disease")
            self._add(called, NameWord("disease", (atom,)))
            spoken = _texts(row.en)[0]
            what = [f"{spoken} infection"]
            for parent in _texts(row.what):
                # A kind of leishmania brings a kind of leishmaniasis.
                over = _texts(causes[parent].illness) if parent in causes else ()
                what += over[:1]
            names = (*called, *(f"{spoken} {end}" for end in ("infection", "disease")))
            self.said.append(AtomTexts(atom, tuple(what), (), names, complications=False))

    def _disease_called(self, names: tuple[str, ...]) -> str | None:
        """Returns the disease that the files know by one of some names, or None."""
        for name in names:
            word = self.words.get(units(name))
            if word is not None and word.kind == "disease":
                return word.atoms[0]
        return None

    def _enter(self, atom: str, kind: Kind, row: _NameRow, *more: str) -> None:
        if atom in self.kinds:
            raise ValueError(f"two rows are called {atom!r}")
        self.kinds[atom] = kind
        word = NameWord(kind, (atom,))
        names = (*more, *_texts(row.en, row.zh))
        self._add(names, word)
        for form in _texts(row.form):
            self.forms.setdefault(fold(form), word)
        for suffix in _texts(row.suffix):
            self.suffixes.setdefault(fold(suffix), word)
        if row.within:
            self.parents[atom] = row.within
        what, usual = _texts(row.what), _texts(row.usual)
        if what or usual or kind == "disease":
            self.said.append(AtomTexts(atom, what, usual, names, row.complications))

    def _add(self, names: tuple[str, ...], word: NameWord) -> None:
        for name in names:
            row = units(name.lstrip("=^"))
            if name.startswith("="):
                self.whole[row] = word
                continue
            self.put(row, word)
            if len(row) == 1 and row[0].endswith("^"):
                self.whole[(plain(row[0][:-1]),)] = word

    def _shorten(self) -> None:
        """Enters "sickle cell" for "sickle cell disease", where the words without the last are nothing else."""
        ends = tuple(units(end)[0] for end in ("disease", "disorder", "syndrome"))
        for said in self.said:
            for name in said.names if self.kinds[said.atom] == "disease" else ():
                row = units(name)
                if len(row) > 1 and row[-1] in ends and len("".join(row[:-1])) > _SHORT:
                    known = all(self.single(unit) is not None or unit in self.forms for unit in row[:-1])
                    if not known and not any(end == len(row) - 1 for end, _ in self.starting(row[:-1], 0)):
                        self.put(row[:-1], NameWord("disease", (said.atom,)))

    def put(self, row: tuple[str, ...], word: NameWord) -> None:
        """Enters a word by its units; the first one to be called so keeps the name, unless a disease is called so."""
        if word.kind == "disease" or row not in self.words:
            self.enter(row, word)

    def enter(self, row: tuple[str, ...], word: NameWord) -> None:
        """Enters a word by its units, whatever else is called so."""
        self.words[row] = word
        lengths = self.lengths.setdefault(row[0], [])
        if len(row) not in lengths:
            bisect.insort(lengths, len(row))

    def starting(self, row: tuple[str, ...], begin: int) -> Iterator[tuple[int, NameWord]]:
        """Yields the words that stand in a row of units from a place on, each with where it ends."""
        for length in self.lengths.get(row[begin], ()) if begin < len(row) else ():
            end = begin + length
            word = self.words.get(row[begin:end]) if end <= len(row) else None
            if word is not None:
                yield end, word

    def single(self, unit: str) -> NameWord | None:
        """Returns the word of one unit, or None."""
        return self.words.get((unit,))


class _Qualities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    opposites: dict[str, dict[str, _NameRow]]
    free: dict[str, _NameRow]


def _rows(file: str) -> Mapping[str, dict[str, _NameRow]]:
    return read_yaml(HERE / file, dict[str, dict[str, _NameRow]])


def _texts(*several: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for text in several if text for name in text.split(";") if name.strip())


def with_short_genus(names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names of organisms with the genus as its letter: "M tuberculosis"."""
    found = (_BINOMIAL.fullmatch(name) for name in names)
    return tuple(f"{binomial[1]} {binomial[2]}" for binomial in found if binomial is not None)


def opposed(atoms: frozenset[str], others: frozenset[str], rivals: Mapping[str, str]) -> bool:
    """Whether one side says something that the other excludes: left and right, type 1 and type 2."""
    ours, theirs = _by_group(atoms, rivals), _by_group(others, rivals)
    return any(group in theirs and ours[group].isdisjoint(theirs[group]) for group in ours)


def _by_group(atoms: frozenset[str], rivals: Mapping[str, str]) -> dict[str, set[str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for atom in atoms:
        group = rivals.get(atom) or (atom.partition(":")[0] if ":" in atom else "")
        if group:
            groups[group] |= {atom, wider_number(atom), wider_number(wider_number(atom))}
    return groups


def wider_number(atom: str) -> str:
    """Returns the stage or type that a stage or type is part of, 2 of 2b, 2b of 2b1; else the atom itself."""
    found = _LETTERED.match(atom)
    return found[1] or found[2] if found is not None else atom
