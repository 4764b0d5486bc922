"""How drugs are written by those who prescribe, and the usual most of each: `prescribed.yaml`.

Procedures are read as which action on which part of the body a text speaks of. "Appendicectomy", "remove the appendix"
and 手术切除阑尾 are one procedure: each says the action and the part. The words of both are in `procedures.yaml`. When
something is to be done is read too, in days.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from polyclinic.knowledge.data import DATA, Data
from polyclinic.knowledge.entries import Drug, Source
from polyclinic.yaml_files import read_yaml

_TIMES, _TIMES_NARROW = 10, 4


class DrugInUse(Data):
    """How a drug is written, and the usual most of a grown-up, once and in a day, in `unit`; 0 where it is not known.

    Of a drug with a `narrow` range four times the most is beyond what can be lived with, of others ten times.
    """

    en: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()
    once: float = 0
    day: float = 0
    unit: Literal["mg", "units"] = "mg"
    narrow: bool = False

    def too_much(self, amount: float, times: float) -> bool:
        """Whether an amount, so many times a day (0: not told), is beyond what can be lived with."""
        by = _TIMES_NARROW if self.narrow else _TIMES
        return bool(self.once and amount >= by * self.once) or bool(self.day and amount * times >= by * self.day)


class _PrescribedFile(Data):
    sources: tuple[Source, ...]
    forms: re.Pattern[str]
    drugs: dict[str, DrugInUse]


@functools.cache
def _read_prescribed(path: Path = DATA / "prescribed.yaml") -> _PrescribedFile:
    return read_yaml(path, _PrescribedFile)


def read_prescribed() -> Mapping[str, DrugInUse]:
    """Reads how drugs are written, by the id of each."""
    return _read_prescribed().drugs


def own_names(drug: Drug) -> tuple[str, ...]:
    """Returns the names of a drug by which plans name it, without its form: who writes "salbutamol" has named it."""
    form = _read_prescribed().forms
    return tuple(filter(None, (form.sub("", drug.name.en), form.sub("", drug.name.zh))))


class DrugNames:
    """Finds drugs in what somebody prescribed; made once for the drugs of a knowledge."""

    def __init__(self, drugs: Mapping[str, Drug]) -> None:
        known = read_prescribed()
        self.most = {id: known.get(id, DrugInUse()) for id in drugs}
        self.own = {id: own_names(drug) for id, drug in drugs.items()}
        self._names = {id: (*self.own[id], *self.most[id].en, *self.most[id].zh) for id in drugs}
        self._longer = {
            name: tuple(
                other
                for id, names in self._names.items()
                if name not in names
                for other in names
                if name.casefold() in other.casefold()
            )
            for names in self._names.values()
            for name in names
        }

    def in_plan(self, text: str) -> Iterator[str]:
        """Yields the drugs, by id, that a plan's text names."""
        return (id for id, names in self.own.items() if any(mentions(text, name) for name in names))

    def mentioned(self, text: str, id: str) -> Iterator[tuple[int, int]]:
        """Yields where a drug stands in a text, by any of its names, and not as a part of another's."""
        for name in self._names[id]:
            if not (found := list(spans(text, name))):
                continue
            others = [span for other in self._longer[name] for span in spans(text, other)]
            for start, end in found:
                if not any(first <= start and end <= last for first, last in others):
                    yield start, end


def mentions(text: str, name: str) -> bool:
    """Whether a text has a name of a drug: an English one as a whole word."""
    return any(True for _ in spans(text, name))


def spans(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Yields where a name stands in a text."""
    # Looked for and not matched: the names of all drugs are more than compiled expressions are kept of.
    text, name = text.casefold(), name.casefold()
    is_word, end = name.isascii(), 0
    while (start := text.find(name, end)) >= 0:
        end = start + len(name)
        if not is_word or not (_is_letter(text[max(start - 1, 0) : start]) or _is_letter(text[end : end + 1])):
            yield start, end
        else:
            end = start + 1


def _is_letter(character: str) -> bool:
    return "a" <= character <= "z"


_CLAUSE = re.compile(r"[,;:\n，。；：！？、]|\.(?!\d)|\b(?:then|or)\b|或")
_WORD = re.compile(r"[a-z][a-z-]*[a-z]")
_WHOLE_BELLY = "belly"
_NEVER = re.compile("(?!)")

Procedure = tuple[str, str]
"""An action and a part, by their ids."""


class _Said(Data):
    """The words of an action, a part, or of what is both, and how they begin or end in compounds."""

    en: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    of: Procedure = ("", "")

    @property
    def pattern(self) -> re.Pattern[str]:
        """What finds any of the words: English ones as wholes ("…": any ending), others anywhere."""
        patterns = []
        for word in map(str.casefold, (*self.en, *self.zh)):
            whole, open_end = re.escape(word.rstrip("…")), word.endswith("…")
            if word.isascii() or open_end:
                whole = rf"(?<![a-z]){whole}" + ("" if open_end else r"(?![a-z])")
            patterns.append(whole)
        return re.compile("|".join(patterns)) if patterns else _NEVER


class _Times(Data):
    numbers: dict[str, float]
    units: dict[str, float]  # in days


class _ProcedureFile(Data):
    actions: dict[str, _Said]
    parts: dict[str, _Said]
    same: tuple[tuple[Procedure, ...], ...]
    whole: tuple[_Said, ...]
    approaches: dict[str, _Said]
    operation: _Said
    urgent: _Said
    put_off: _Said
    times: _Times


class ProceduresSaid(NamedTuple):
    """What a text says is done."""

    done: frozenset[Procedure] = frozenset()  # actions on parts, and what is as good
    operated: frozenset[str] = frozenset()  # parts of which only an operation is told
    approaches: frozenset[str] = frozenset()  # ways of an operation of which no part is named, or by which one is done
    partless: bool = False  # it tells of an operation and names no part

    def names(self, due: ProceduresSaid) -> bool:
        """Whether it tells what is due, wholly or by the way and the part of it."""
        if self.done & due.done or self.operated & {part for _, part in due.done}:
            return True
        return self.partless and bool(self.approaches & due.approaches)


class ProcedureWords:
    """Reads procedures by the words of a file; made once, see `procedure_words`."""

    def __init__(self, of: _ProcedureFile) -> None:
        self._actions = {id: one.pattern for id, one in of.actions.items()}
        self._endings = [(ending, id) for id, one in of.actions.items() for ending in one.endings]
        self._parts = {id: one.pattern for id, one in of.parts.items()}
        self._roots = [(root, id) for id, one in of.parts.items() for root in one.roots]
        self._whole = [(one.pattern, one.of) for one in of.whole]
        self._same = [frozenset(group) for group in of.same]
        self._approaches = {id: one.pattern for id, one in of.approaches.items()}
        self._operation = of.operation.pattern
        self._urgent = of.urgent.pattern
        self._put_off = of.put_off.pattern

    def read(self, text: str) -> ProceduresSaid:
        """Returns the procedures that a text says are done."""
        done: set[Procedure] = set()
        operated: set[str] = set()
        partless = False
        for clause in filter(None, map(str.strip, _CLAUSE.split(text.casefold()))):
            said, parts = self._clause(clause)
            done |= said
            operation = self._operation.search(clause) is not None
            operated |= parts if operation and not said else set()
            partless = partless or (operation and not parts - {_WHOLE_BELLY} and not said)
        for group in self._same:
            done |= group if done & group else set()
        approaches = frozenset(id for id, pattern in self._approaches.items() if pattern.search(text.casefold()))
        return ProceduresSaid(frozenset(done), frozenset(operated), approaches, partless)

    def _clause(self, clause: str) -> tuple[set[Procedure], set[str]]:
        done = {procedure for pattern, procedure in self._whole if pattern.search(clause)}
        actions = {id for id, pattern in self._actions.items() if pattern.search(clause)}
        parts = {id for id, pattern in self._parts.items() if pattern.search(clause)}
        for word in _WORD.findall(clause):
            done |= self._compound(word)
        named = parts | {part for _, part in done}
        parts -= {_WHOLE_BELLY} if len(named) > 1 else set()
        return done | {(action, part) for action in actions for part in parts}, named

    def _compound(self, word: str) -> set[Procedure]:
        """Returns what a word of a root and an ending is: "appendicectomy", "salpingo-oophorectomy"."""
        ends = [(ending, action) for ending, action in self._endings if word.endswith(ending)]
        if not ends:
            return set()
        longest = max(len(ending) for ending, _ in ends)
        stem = word[: len(word) - longest]
        roots = [(root, part) for root, part in self._roots if root in f"{stem}o"]
        own = [part for root, part in roots if not any(root != longer and root in longer for longer, _ in roots)]
        return {(action, part) for ending, action in ends if len(ending) == longest for part in own}

    def is_put_off(self, written: str, due: str) -> bool:
        """Whether something that is due soon is to be done much later: after three times as long, and beyond two days.

        Where the plan does not say how soon, nothing is put off.
        """
        limit = _days(due, _times()[1])
        if limit is None:
            limit = 1.0 if self._urgent.search(due.casefold()) else None
        if limit is None:
            return False
        wait = _days(written, _times()[2])
        if wait is None:
            return self._put_off.search(written.casefold()) is not None
        return wait > max(_PATIENCE * limit, _GRACE)


_PATIENCE, _GRACE = 3, 2.0  # times as long as the plan says, and days
_TO = r"(?:\s*(?:-|–|to|至|到|或|or)\s*(\d+|\w+?))?"


@functools.cache
def _times() -> tuple[_Times, re.Pattern[str], re.Pattern[str]]:
    """Returns the words of times, and what finds "within 2 days" and "in 2 to 3 days"."""
    words = _read_procedures().times
    number = rf"(?:a )?(\d+(?:\.\d+)?|{'|'.join(sorted(words.numbers, key=len, reverse=True))})"
    time = rf"{number}{_TO}\s*个?({'|'.join(words.units)})s?"
    within = rf"within {time}|{time}(?:以?内|之内)"
    after = rf"\b(?:in|after|within|wait|for) (?:about )?{time}|{time}(?:以后|之后|后|以?内| ?later\b| from now)"
    return words, re.compile(within, re.IGNORECASE), re.compile(after, re.IGNORECASE)


def _days(text: str, pattern: re.Pattern[str]) -> float | None:
    """Returns the longest time that a pattern finds in a text, in days; None where there is none."""
    found = [groups for match in pattern.finditer(text) if (groups := [g for g in match.groups() if g is not None])]
    times = []
    for *numbers, unit in found:
        words = _times()[0]
        written = (
            float(number) if re.fullmatch(r"\d+(?:\.\d+)?", number) else words.numbers.get(number.casefold())
            for number in numbers
        )
        if known := [number for number in written if number is not None]:
            times.append(max(known) * words.units[unit.casefold()])
    return max(times, default=None)


@functools.cache
def _read_procedures(path: Path = DATA / "procedures.yaml") -> _ProcedureFile:
    return read_yaml(path, _ProcedureFile)


@functools.cache
def procedure_words() -> ProcedureWords:
    """Returns the words of procedures."""
    return ProcedureWords(_read_procedures())
