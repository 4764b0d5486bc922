"""The knowledge as bodies: every quantity, what reads it, and every way to have a disease.

A `WayToBeIll` is a disease at a severity in one of the ways to meet its criteria. Given it, the quantities are
independent of one another, symptoms and items that read a quantity depend on that one alone, and all other symptoms on
their parents alone. Patients are drawn by it (`polyclinic.generation.bodies`) and read by it
(`polyclinic.knowledge.reading`).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from polyclinic.cases.presentation import Sex
from polyclinic.knowledge.ages import MONTHS
from polyclinic.knowledge.body import (
    BodyRules,
    Carrying,
    Derived,
    PanelReading,
    Range,
    ShownTogether,
    SymptomReading,
    range_of,
    read_body,
)
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.disease_body import Interval, Variant
from polyclinic.knowledge.entries import Disease, Examination, Item
from polyclinic.knowledge.knowledge import Knowledge


class WayToBeIll(NamedTuple):
    """A way to have a disease; the weights of the ways of a disease at a severity sum to 1."""

    disease: Disease
    severity: Severity
    way: Variant


class Physiology:
    """The knowledge as bodies; made once, see `physiology_of`.

    Attributes:
        items: every quantity, by id, as the item that reads it directly, or that stands for it where it is hidden.
        places: the examination and item of every item id.
        panels: what reads another's quantity, by item id; `derived`: what is made of several.
        together: what an item shows beside another item or a symptom, by its id.
        symptoms: what reads a quantity, by symptom id.
        hypotheses: those of a disease and severity side by side, diseases and severities in their order.
    """

    def __init__(self, knowledge: Knowledge, body: BodyRules) -> None:
        self.body = body
        self.places: dict[str, tuple[Examination, Item]] = {
            item.id: (e, item) for e in knowledge.examinations.values() for item in e.items
        }
        self.panels: dict[str, PanelReading] = {id: r for id, r in body.items.items() if id in self.places}
        self.derived: dict[str, Derived] = {id: d for id, d in body.derived.items() if id in self.places}
        self.together: dict[str, ShownTogether] = {
            id: rule
            for id, rule in body.together.items()
            if id in self.places and (rule.of in self.places or rule.of in knowledge.symptoms)
        }
        self.symptoms: dict[str, SymptomReading] = {s: r for s, r in body.symptoms.items() if s in knowledge.symptoms}
        self.items: dict[str, Item] = {
            id: item for id, (_, item) in self.places.items() if id not in body.items and id not in body.derived
        }
        # What is read, though no examination of this vocabulary shows it.
        everywhere = knowledge.quantities
        read = [*(r.of for r in self.symptoms.values()), *(r.of for r in self.panels.values())]
        read += [of for d in self.derived.values() for of in d.of]
        self.items |= {id: everywhere[id] for id in read if id not in self.items}
        self.hypotheses: tuple[WayToBeIll, ...] = tuple(
            WayToBeIll(disease, severity, way)
            for disease in knowledge.diseases.values()
            for severity in SEVERITIES
            for way in knowledge.bodies[disease.id].ways[severity]
        )
        self._carrying: dict[tuple[str, float | None, Sex | None], Carrying] = {}

    def carrying(self, item: Item, age: float | None, sex: Sex | None) -> Carrying:
        """Returns how the numbers of an item are carried over to an age and sex."""
        key = item.id, None if age is None else told_age(age), sex
        found = self._carrying.get(key)
        if found is None:
            found = self._carrying[key] = Carrying(item, self.range(item, age, sex))
        return found

    def range(self, item: Item, age: float | None, sex: Sex | None) -> Range:
        """Returns the reference range of an item at an age and sex; of a panel, that of what it reads."""
        reading = self.panels.get(item.id)
        if reading is not None and not reading.curve and item.numeric:
            return range_of(self.items[reading.of], age, sex, self.body)
        return range_of(item, age, sex, self.body)

    def shown(self, item: Item, value: float, interval: Interval, age: float, sex: Sex) -> tuple[float, float]:
        """Returns an adult's number as it is shown of somebody, and the adult's number that this stands for.

        It is carried over, brought within limits and rounded, which never takes it out of the interval (an adult's).
        """
        carrying = self.carrying(item, age, sex)
        shown = float(round(carrying.there(within_limits(item, value)), item.decimals))
        step = 10.0**-item.decimals
        for _ in range(3):
            back = shown if carrying.is_same else carrying.back(shown)
            if back < interval[0]:
                shown = round(shown + step, item.decimals)
            elif back >= interval[1]:
                shown = round(shown - step, item.decimals)
            else:
                break
        return shown, carrying.back(shown)


def told_age(age: float) -> float:
    """Returns an age as ranges tell ages apart: whole years, an infant's in whole months."""
    return round(age * MONTHS) / MONTHS if age < 1 else int(age)


def rounded(item: Item, value: float) -> float:
    """Returns a number as an item shows it: within its limits, with its decimals."""
    return float(round(within_limits(item, value), item.decimals))


def within_limits(item: Item, value: float) -> float:
    """Returns a number, or the limit of the item, an adult's, that it lies beyond."""
    return value if item.limits is None else min(max(value, item.limits[0]), item.limits[1])


@functools.lru_cache(maxsize=16)
def physiology_of(knowledge: Knowledge) -> Physiology:
    """Returns a knowledge's bodies; the same for the same knowledge."""
    return Physiology(knowledge, read_body())
