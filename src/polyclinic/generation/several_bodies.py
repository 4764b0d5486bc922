"""The body of somebody with several illnesses, drawn: every quantity once, and what panels, reports and symptoms read.

As `polyclinic.generation.bodies` draws one illness; what several change comes together as
`polyclinic.knowledge.several` says. Of each illness one way to meet its criteria is drawn; a number meets those of all
where that can be, else those of the illness that takes it farthest from the usual.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from polyclinic.cases.presentation import Sex
from polyclinic.generation.bodies import UNBOUND, choose_way, draw_number, draw_text, read_panel, share_at, text_among
from polyclinic.knowledge.body import PRESENT
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.disease_body import restricted
from polyclinic.knowledge.entries import Distribution, Item, Symptom
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.physiology import physiology_of, rounded
from polyclinic.knowledge.several import Ailment, off_usual
from polyclinic.knowledge.variants import Interval, Variant, below

_RARE = 1e-3  # share of a number's distribution below which it does not reach what another illness' criteria ask

Value = float | tuple[str, ...]
"""A number, or the texts that are not normal; the normal one where there are none."""


class SeveralBody(NamedTuple):
    """A body with several illnesses: what each item would show, by id, and the symptoms, each after its parent."""

    shown: Mapping[str, Value]
    present: Sequence[Symptom]


class _Has(NamedTuple):
    """An illness, the way in which it is had, and whether it gives complaints of its own."""

    ailment: Ailment
    way: Variant
    felt: bool


class _Who(NamedTuple):
    """Somebody with several illnesses."""

    has: Sequence[_Has]
    age: float
    sex: Sex


class SeveralBodyDrawing:
    """Draws bodies with several diseases of a knowledge; made once."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._physiology = physiology_of(knowledge)
        self._bodies = knowledge.bodies

    def draw(
        self, illnesses: Sequence[Ailment], felt: Sequence[Ailment], age: float, sex: Sex, rng: random.Random
    ) -> SeveralBody:
        """Draws the body of somebody of an age (years) and sex who comes for the first of these illnesses.

        Those that are not `felt` give no complaints but those that follow from a quantity.
        """
        possible = [s for s in self._knowledge.symptoms.values() if s.possible(age, sex)]
        ids = {s.id for s in possible}
        has = [
            _Has(one, choose_way(self._bodies[one.disease.id].ways[one.severity], ids, rng), one in felt)
            for one in illnesses
        ]
        who = _Who(has, age, sex)
        while True:
            values, shown = self._quantities(who, rng)
            present = self._symptoms(possible, who, values, rng)
            self._reconcile(who, values, shown, present, rng)
            if any(s.section == "symptoms" and s.id in illnesses[0].disease.symptoms for s in present):
                return SeveralBody(shown, present)

    def _quantities(self, who: _Who, rng: random.Random) -> tuple[dict[str, Value], dict[str, Value]]:
        """Returns the quantities, numbers as an adult's, and what every item shows."""
        physiology, (has, age, sex) = self._physiology, who
        values: dict[str, Value] = {}
        shown: dict[str, Value] = {}
        for id, item in physiology.items.items():
            named = [(one, found) for one in has if (found := self._named(one, item)) is not None]
            if item.numeric:
                distribution, interval = self._deciding(item, named)
                number = draw_number(item, distribution, interval, rng)
                shown[id], values[id] = physiology.shown(item, number, interval, age, sex)
                continue
            drawn = [draw_text(_shares(found, one.way.states.get(id)), rng) for one, found in named]
            if not named:
                drawn = [draw_text(_shares(item.usual, item.usual_texts(age)), rng)]
            values[id] = shown[id] = self._together(item, drawn)
        for id, rule in physiology.body.shown_as.items():
            of = values.get(rule.of)
            if shown.get(id) == (rule.state,) and isinstance(of, float) and of >= rule.at_least:
                shown[id] = (rule.as_,)
        for id, reading in physiology.panels.items():
            item = physiology.places[id][1]
            is_named = any(self._named(one, physiology.items[reading.of]) is not None for one in has)
            texts = None if is_named else item.usual_texts(age)
            of, seen = values[reading.of], shown[reading.of]
            each = [(of, seen)] if isinstance(of, float) else [(state, state) for state in of]
            read = [read_panel(reading, item, a, b, possible=texts, rng=rng) for a, b in each]  # type: ignore[arg-type]
            first = read[0]
            shown[id] = self._together(item, [str(one) for one in read]) if isinstance(first, str) else first
        for id, derived in physiology.derived.items():
            parts = [part for quantity in derived.of if isinstance(part := shown[quantity], float)]
            shown[id] = rounded(physiology.places[id][1], derived.value(parts))
        return values, shown

    def _reconcile(
        self,
        who: _Who,
        values: dict[str, Value],
        shown: dict[str, Value],
        present: Sequence[Symptom],
        rng: random.Random,
    ) -> None:
        """Draws anew what an item shows that cannot stand beside another or a symptom."""
        there = {symptom.id for symptom in present}
        for id, rule in self._physiology.together.items():
            item, seen = self._physiology.items[id], shown.get(rule.of, ())
            states = (PRESENT,) if rule.of in there else seen if isinstance(seen, tuple) else ()
            for texts in (rule.states[state] for state in states if state in rule.states):
                has = values[id]
                if isinstance(has, tuple) and not set(has) & set(texts):
                    named = (found for one in who.has if (found := self._named(one, item)) is not None)
                    drawn = text_among(texts, next(named, item.usual), item, rng)
                    values[id] = shown[id] = self._together(item, [*has, drawn])

    def _named(self, one: _Has, item: Item) -> Distribution | None:
        """Returns an illness' distribution of a quantity; None where it leaves it as it is."""
        (disease, severity), body = one.ailment, self._bodies[one.ailment.disease.id]
        if item.id in body.quantities or item.id in one.way.numbers or item.id in one.way.states:
            return body.distribution(item, severity)
        if item.id not in self._physiology.places:
            return None
        examination = self._physiology.places[item.id][0]
        # Specimens are not among the quantities of outpatients.
        if examination.kind == "pathology" and item.id in disease.findings.get(examination.id, {}):
            return disease.distribution(examination.id, item, severity)
        return None

    def _deciding(self, item: Item, named: Sequence[tuple[_Has, Distribution]]) -> tuple[Distribution, Interval]:
        """Returns the distribution that a number is drawn from, and where it has to lie."""
        if not named:
            return item.usual, UNBOUND
        decides, distribution = max(named, key=lambda one: self._off(item, *one))
        intervals = [one.way.numbers.get(item.id, UNBOUND) for one, _ in named]
        low, high = max(a for a, _ in intervals), min(b for _, b in intervals)
        if high > low and below(item, distribution, high) - below(item, distribution, low) >= _RARE:
            return distribution, (low, high)
        return distribution, decides.way.numbers.get(item.id, UNBOUND)

    def _off(self, item: Item, one: _Has, distribution: Distribution) -> float:
        disease, severity = one.ailment
        examination = self._physiology.places[item.id][0].id if item.id in self._physiology.places else ""
        if item.id in disease.findings.get(examination, {}):
            # As it is behind the criteria.
            distribution = disease.distribution(examination, item, severity)
        return off_usual(item, distribution)

    def _together(self, item: Item, drawn: Sequence[str]) -> tuple[str, ...]:
        """Returns the texts that are reported of those that the illnesses bring; of grades, the worst."""
        order = list(item.values)
        others = [text for text in dict.fromkeys(drawn) if text != order[0]]
        if item.id in self._physiology.body.graded and others:
            others = [max(others, key=order.index)]
        return tuple(others) or (order[0],)

    def _symptoms(
        self, possible: Sequence[Symptom], who: _Who, values: Mapping[str, Value], rng: random.Random
    ) -> list[Symptom]:
        readings, felt = self._physiology.symptoms, [one for one in who.has if one.felt]
        present: dict[str, Symptom] = {}
        for symptom in possible:
            draw = rng.random()
            if symptom.parent is not None and symptom.parent not in present:
                continue
            if symptom.id in readings:
                value = values[readings[symptom.id].of]
                each = [value] if isinstance(value, float) else value
                share = max(share_at(readings[symptom.id], one) for one in each)
            else:
                share = self._share(symptom, felt, who)
            if draw < share:
                present[symptom.id] = symptom
        fixed = {s for one in felt for s, there in one.way.symptoms.items() if there}
        shared = {s for one in felt for s in self._bodies[one.ailment.disease.id].shares}
        for one, other in self._physiology.body.apart:
            if one in present and other in present and not {one, other} <= fixed:
                stands = one in fixed or (one in shared and other not in fixed)
                dropped = other if stands or other not in shared else one
                present = {id: s for id, s in present.items() if dropped not in (id, s.parent)}
        return list(present.values())

    def _share(self, symptom: Symptom, felt: Sequence[_Has], who: _Who) -> float:
        """Returns how probable a symptom that follows from no quantity is, given its parent: any illness brings it."""
        shares: list[float] = []
        for (disease, severity), way, _ in felt:
            by = self._bodies[disease.id].shares.get(symptom.id)
            if symptom.id in way.symptoms:
                shares.append(float(way.symptoms[symptom.id]))
            elif by is not None:
                shares.append(symptom.at(by[SEVERITIES.index(severity)], who.age, who.sex))
        if not shares:
            return symptom.at(min(one.ailment.disease.unnamed(symptom) for one in felt), who.age, who.sex)
        return 1 - math.prod(1 - share for share in shares)


def _shares(distribution: Distribution, states: frozenset[str] | None) -> dict[str, float]:
    assert isinstance(distribution, dict)  # noqa: S101
    if states is not None and not any(distribution.get(state, 0.0) for state in states):
        return distribution
    return restricted(distribution, states)
