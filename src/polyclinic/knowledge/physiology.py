"""The knowledge as bodies: every way to have a disease, and what each makes of the quantities.

A `Hypothesis` is a disease at a severity in a variant of its criteria. Given it, the quantities are independent of one
another, symptoms and items that read a quantity depend on that one alone, and all other symptoms on their parents
alone. Patients are drawn from it (`polyclinic.generation.draw`) and read by it (`polyclinic.knowledge.reading`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from polyclinic.cases.presentation import Sex
from polyclinic.errors import BadInput
from polyclinic.knowledge.body import (
    Body,
    Carrying,
    Derived,
    PanelReading,
    SymptomReading,
    at_state,
    cuts_of,
    range_of,
    read_body,
)
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.entries import Disease, Distribution, Examination, Item
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.variants import Variant, below, variants

_LEAST_SPREAD = 0.025  # of the pulse pressure's share, where a disease's pressures leave it open
_SYSTOLIC, _DIASTOLIC, _PULSE_SHARE = "systolic", "diastolic", "pulse_share"


class Hypothesis(NamedTuple):
    """A way to have a disease; `weight` is its share among those of the same disease and severity."""

    disease: Disease
    severity: Severity
    variant: Variant
    weight: float


class Physiology:
    """The knowledge as bodies; made once.

    Attributes:
        items: every quantity, by id, as the item that it is read by.
        home: the examination that reads a quantity directly; those that are hidden have none.
        panels: items that read another's quantity; `symptoms`: symptoms that do; `derived`: items made of several.
        hypotheses: all of them, those of a disease and severity together, diseases and severities in their order.
    """

    def __init__(self, knowledge: Knowledge, body: Body) -> None:
        self.knowledge, self.body = knowledge, body
        placed = {item.id: (e, item) for e in knowledge.examinations.values() for item in e.items}
        self.panels: dict[str, PanelReading] = {i: r for i, r in body.items.items() if i in placed}
        self.derived: dict[str, Derived] = {i: d for i, d in body.derived.items() if i in placed}
        self.symptoms: dict[str, SymptomReading] = {s: r for s, r in body.symptoms.items() if s in knowledge.symptoms}
        self.home: dict[str, Examination] = {
            id: e for id, (e, _) in placed.items() if id not in self.panels and id not in self.derived
        }
        self.items: dict[str, Item] = {id: placed[id][1] for id in self.home} | {i.id: i for i in body.hidden}
        self.hypotheses: tuple[Hypothesis, ...] = tuple(self._all_hypotheses())
        self._carrying: dict[tuple[str, int | None, Sex | None], Carrying] = {}

    def distribution(self, disease: Disease, severity: Severity, item: Item) -> Distribution:
        """Returns the distribution of a quantity in a disease, before its criteria."""
        return disease.body_distribution(item, severity)

    def carrying(self, item: Item, age: float | None, sex: Sex | None) -> Carrying:
        """Returns how the numbers of a quantity are carried over to an age and sex."""
        key = item.id, None if age is None else int(age), sex
        found = self._carrying.get(key)
        if found is None:
            found = self._carrying[key] = Carrying(item, range_of(item, age, sex, self.body))
        return found

    def _all_hypotheses(self) -> Iterator[Hypothesis]:
        for disease in self.knowledge.diseases.values():
            for severity in SEVERITIES:
                found = self._variants(disease, severity)
                total = math.fsum(v.weight for v in found)
                for variant in found:
                    yield Hypothesis(disease, severity, variant, variant.weight / total)

    def _variants(self, disease: Disease, severity: Severity) -> tuple[Variant, ...]:
        if disease.criteria is None:
            return (Variant(),)
        try:
            return variants(
                disease.criteria.at(severity),
                self.items,
                lambda item: self.distribution(disease, severity, item),
                lambda symptom: disease.share(self.knowledge.symptoms[symptom], severity),
            )
        except ValueError as problem:
            raise BadInput(f"{disease.id}, {severity}: {problem}", field="$.criteria") from None
