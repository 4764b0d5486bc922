"""How drugs are written by those who prescribe, and the usual most of each: `prescribed.yaml`."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from polyclinic.knowledge.data import DATA, Data
from polyclinic.knowledge.entries import Drug, Source
from polyclinic.yaml_files import read_yaml

_TIMES, _TIMES_NARROW = 10, 4
_FORM = re.compile(
    r"^(?:intravenous|nebulised) |(?: (?:by|into|under|vein|mouth|the|muscle|tongue|for the vagina|a|joint|inhalation|"
    r"inhaler|nasal|spray|eye|ear|drops|cream|ointment|gel|lotion|tablets?|capsules?|injection|infusion|patch|syrup|"
    r"suspension|lozenges?|mouthwash|solution|powder))+$|"
    r"^(?:静脉|口服|舌下|肌内注射|雾化吸入|关节腔注射)|"
    r"(?:吸入气雾剂|吸入剂|吸入|滴眼液|滴耳液|鼻喷雾剂|鼻喷剂|喷雾剂|乳膏|软膏|凝胶|片|胶囊|注射液|贴剂|糖浆|溶液)$",
    re.IGNORECASE,
)


class DrugInUse(Data, frozen=True, kw_only=True):
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


class _PrescribedFile(Data, frozen=True, kw_only=True):
    sources: tuple[Source, ...]
    drugs: dict[str, DrugInUse]


@functools.cache
def read_prescribed(path: Path = DATA / "prescribed.yaml") -> Mapping[str, DrugInUse]:
    """Reads how drugs are written, by the id of each."""
    return read_yaml(path, _PrescribedFile).drugs


def own_names(drug: Drug) -> tuple[str, ...]:
    """Returns the names of a drug by which plans name it, without its form: who writes "salbutamol" has named it."""
    return tuple(filter(None, (_FORM.sub("", drug.name.en), _FORM.sub("", drug.name.zh))))


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
