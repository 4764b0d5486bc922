"""A drawn patient as its record shows it: what its findings say, by id, and how it stands in one line of a report."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import msgspec

from polyclinic.cases.presentation import Sex
from polyclinic.generation.draw import DrawnPatient
from polyclinic.knowledge.data import Severity
from polyclinic.knowledge.disease_body import DiseaseBody
from polyclinic.knowledge.entries import Disease, Item
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.ages import say_age
from polyclinic.language.language import Language

ADULT = 18


class CheckedPatient(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A drawn patient as its record shows it.

    Attributes:
        shown: every number, or the id of every text, that stands under a result, by item id.
        done: the ids of the examinations that have results.
        present: the ids of the symptoms and circumstances that are there.
        body: what its disease makes of the body.
    """

    drawn: DrawnPatient
    age: float
    sex: Sex
    shown: Mapping[str, tuple[float | str, ...]]
    done: frozenset[str]
    present: frozenset[str]
    body: DiseaseBody

    @property
    def disease(self) -> Disease:
        """What it has."""
        return self.drawn.disease

    @property
    def severity(self) -> Severity:
        """How ill it is."""
        return self.drawn.severity

    def number(self, item: str) -> float | None:
        """Returns the first number that stands under an item, or None."""
        value = self.shown.get(item, ("",))[0]
        return value if isinstance(value, float) else None

    def text(self, item: str) -> str:
        """Returns the id of the first text that stands under an item, or ""."""
        value = self.shown.get(item, ("",))[0]
        return value if isinstance(value, str) else ""

    def line(self, *values: str) -> str:
        """Returns the patient and what is wrong with it, in one line."""
        age = say_age(self.age, "en")
        who = f"{'woman' if self.sex == 'female' else 'man'} of {age}"
        if self.age < ADULT:
            who = f"{'girl' if self.sex == 'female' else 'boy'} of {age}"
        return f"{self.drawn.case.id}, {self.disease.id} ({self.severity}), {who}: {', '.join(values)}"

    def values(self, items: Iterable[str]) -> str:
        """Returns what some items show, for a line."""
        shown = ((item, self.shown.get(item, ())) for item in items)
        return ", ".join(f"{item} {_text(value)}" for item, values in shown for value in values)

    def is_touched(self, quantities: Iterable[str]) -> bool:
        """Returns whether its disease changes one of some quantities, or has a criterion on it."""
        ways = self.body.ways[self.severity]
        return any(
            q in self.body.quantities or any(q in way.numbers or q in way.states for way in ways) for q in quantities
        )


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def checked(patient: DrawnPatient, knowledge: Knowledge) -> CheckedPatient:
    """Returns a drawn patient as its record shows it."""
    person = patient.case.presentation
    assert person.age is not None and person.sex is not None  # noqa: S101
    places = _places(knowledge, person.language)
    shown: dict[str, tuple[float | str, ...]] = {}
    done: set[str] = set()
    for finding in patient.case.record.findings:
        examination, item, texts = places[finding.examination, finding.item]
        value = texts[finding.value] if isinstance(finding.value, str) else finding.value
        shown[item.id] = (*shown.get(item.id, ()), value)
        done.add(examination)
    return CheckedPatient(
        drawn=patient,
        age=person.age,
        sex=person.sex,
        shown=shown,
        done=frozenset(done),
        present=frozenset(symptom.id for symptom in patient.body.present),
        body=knowledge.bodies[patient.disease.id],
    )


@functools.lru_cache(maxsize=4)
def _places(knowledge: Knowledge, language: Language) -> dict[tuple[str, str], tuple[str, Item, dict[str, str]]]:
    """Returns the examination, the item and the ids of its texts by the names that stand in a record."""
    return {
        (e.name.get(language), item.name.get(language)): (
            e.id,
            item,
            {text.get(language): id for id, text in item.values.items()},
        )
        for e in knowledge.examinations.values()
        for item in e.items
    }
