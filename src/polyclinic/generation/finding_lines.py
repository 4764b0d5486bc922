"""The findings of somebody of an age and sex, without their results."""

from __future__ import annotations

import functools
from typing import NamedTuple

from polyclinic.cases.presentation import Sex
from polyclinic.cases.record import Code, Finding
from polyclinic.knowledge.entries import Examination, Item
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.physiology import physiology_of, told_age
from polyclinic.language.language import Language


class FindingLine(NamedTuple):
    """A finding of somebody without its result."""

    examination: str
    item: str
    texts: dict[str, str]
    unit: str
    code: Code | None
    reference: str = ""

    def finding(self, shown: float | str) -> Finding:
        """Returns the finding with what is shown: a number, or the id of a text."""
        examination, item, texts, unit, code, reference = self
        value = texts[shown] if isinstance(shown, str) else shown
        return Finding(examination=examination, item=item, value=value, unit=unit, reference=reference, code=code)


@functools.lru_cache(maxsize=256)
def finding_lines(
    knowledge: Knowledge, age: float, sex: Sex, language: Language
) -> tuple[tuple[Examination, ...], tuple[tuple[str, FindingLine], ...]]:
    """Returns what is done on somebody of an age and sex, and the findings of it with the ids of their items."""
    done = tuple(e for e in knowledge.examinations.values() if e.possible(sex, age))
    lines, references = _lines_of_all(knowledge, language), _references(knowledge, told_age(age), sex)
    of_it = (lines[item.id]._replace(reference=references[item.id]) for e in done for item in e.items)
    return done, tuple(zip((item.id for e in done for item in e.items), of_it, strict=True))


@functools.lru_cache(maxsize=16)
def _lines_of_all(knowledge: Knowledge, language: Language) -> dict[str, FindingLine]:
    return {
        item.id: FindingLine(
            examination=examination.name.get(language),
            item=item.name.get(language),
            texts={id: name.get(language) for id, name in item.values.items()},
            unit=item.unit,
            code=Code("loinc", item.loinc) if item.loinc else None,
        )
        for examination, item in physiology_of(knowledge).places.values()
    }


@functools.lru_cache(maxsize=512)
def _references(knowledge: Knowledge, age: float, sex: Sex) -> dict[str, str]:
    """Returns the reference range of each item at an age and sex, as it is written beside a result."""
    physiology = physiology_of(knowledge)
    return {id: reference_of(item, *physiology.range(item, age, sex)) for id, (_, item) in physiology.places.items()}


def reference_of(item: Item, low: float | None, high: float | None) -> str:
    """Returns a reference range of an item, as it is written beside a result; "" where it has none."""
    if not item.numeric:
        return ""
    if low is not None and high is not None:
        return f"{low:g}-{high:g}"
    if high is not None:
        return f"< {high:g}"
    return f"> {low:g}" if low is not None else ""
