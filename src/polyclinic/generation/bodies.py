"""A patient's body, drawn: every quantity once, and what panels, reports and symptoms read of it."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import random
from collections.abc import Collection, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple, Self, TypeVar

from polyclinic.cases.presentation import Sex
from polyclinic.knowledge.body import PRESENT, PanelReading, along
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.disease_body import Interval, Variant, below, restricted
from polyclinic.knowledge.entries import Disease, Distribution, Item, Symptom
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.physiology import physiology_of, rounded
from polyclinic.knowledge.several import Ailment, off_usual

T = TypeVar("T")

_quantile = NormalDist().inv_cdf
_LEAST = 1e-12


class EvenRandom(random.Random):
    """A generator that takes one number for each draw, whatever is drawn."""

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        """Draws from a normal distribution."""
        return mu + sigma * _quantile(min(max(self.random(), _LEAST), 1 - _LEAST))

    normalvariate = gauss

    def lognormvariate(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        """Draws from a log-normal distribution; mean and spread are the logarithm's."""
        return math.exp(self.gauss(mu, sigma))

    def choice(self, seq: Sequence[T]) -> T:  # type: ignore[override]
        """Draws one of several."""
        return seq[int(self.random() * len(seq))]


class Lasting(NamedTuple):
    """What stays the same at every visit of one illness.

    Attributes:
        present: for each symptom and circumstance the number, from 0 to 1, that decides whether it is there.
    """

    present: dict[str, float]
    told: dict[str, float]  # the same for how it is told
    began: Severity  # how badly ill the person was at first; circumstances go by that


def lasting(knowledge: Knowledge, life: random.Random, illness: random.Random, began: Severity) -> Lasting:
    """Draws the numbers of a person's illness: of what lasts a life from one generator, of the rest from the other."""
    present: dict[str, float] = {}
    told: dict[str, float] = {}
    for id, symptom in knowledge.symptoms.items():
        source = life if symptom.lasts else illness
        present[id], told[id] = source.random(), source.random()
    return Lasting(present, told, began)


UNBOUND: Interval = (-math.inf, math.inf)
_FARTHEST_USUAL = 2.4  # standard deviations that people without trouble lie from the middle
_TELLING = 4  # complaints of an illness that speak most for it, of which nobody comes without any
_RARE = 1e-3  # share of a number's distribution below which it does not reach what another illness' criteria ask
_SPEAKS = 0.12  # so much commoner than in others is what speaks for an illness


class DrawnBody(NamedTuple):
    """A body at one visit."""

    shown: Mapping[str, float | str]  # what each item would show, by id: a number, rounded, or the id of a text
    present: Sequence[Symptom]  # the symptoms that are there, each after its parent
    values: Mapping[str, float | str]  # the quantities, numbers as an adult's

    def numbers(self) -> dict[str, float]:
        """Returns the quantities that are numbers, as an adult's."""
        return {id: value for id, value in self.values.items() if not isinstance(value, str)}

    def measured(self) -> dict[str, float]:
        """Returns the numbers that would be shown, as they are measured."""
        return {id: value for id, value in self.shown.items() if not isinstance(value, str)}


Value = float | tuple[str, ...]
"""What is so of a quantity: a number, or texts, of which several illnesses can bring more than one."""


class SeveralBody(NamedTuple):
    """A body with several illnesses: what each item would show, by id, and the symptoms, each after its parent."""

    shown: Mapping[str, Value]
    present: Sequence[Symptom]


class _Has(NamedTuple):
    """An illness, the way in which it is had, and whether it gives complaints of its own."""

    ailment: Ailment
    way: Variant
    named: Mapping[str, _NamedQuantity]
    felt: bool = True


class _Who(NamedTuple):
    """Somebody with one or several illnesses, and what stays the same at every visit of the first."""

    has: Sequence[_Has]
    age: float
    sex: Sex
    lasting: Lasting | None = None

    @property
    def has_several(self) -> bool:
        """Whether more than one illness may bring what is shown."""
        return len(self.has) > 1


class TextChances(NamedTuple):
    """Texts, and up to which share of the whole, added up, each of them reaches."""

    texts: tuple[str, ...]
    sums: tuple[float, ...]

    @classmethod
    def of(cls, shares: Mapping[str, float]) -> Self:
        """Returns the chances of texts by the share of each."""
        return cls(tuple(shares), tuple(itertools.accumulate(shares.values())))

    def draw(self, rng: random.Random) -> str:
        """Returns a text; as `Random.choices` draws it, from one number."""
        sums = self.sums
        return self.texts[bisect.bisect(sums, rng.random() * sums[-1], 0, len(sums) - 1)]


class _NamedQuantity(NamedTuple):
    """How a quantity that an illness names, or that its way fixes, is drawn."""

    distribution: Distribution
    interval: Interval  # where a number has to lie
    chances: TextChances | None  # of a text


class BodyDrawing:
    """Draws bodies with the diseases of a knowledge; made once."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._physiology = physiology_of(knowledge)
        self._usual = {
            id: TextChances.of(item.usual)
            for id, item in self._physiology.items.items()
            if isinstance(item.usual, dict)
        }
        self._named = functools.lru_cache(maxsize=1024)(self._named_by)
        self._possible = functools.lru_cache(maxsize=256)(self._possible_at)
        self._telling = functools.lru_cache(maxsize=1024)(self._telling_of)

    def draw(
        self,
        disease: Disease,
        severity: Severity,
        age: float,
        sex: Sex,
        rng: random.Random,
        *,
        lasting: Lasting | None = None,
    ) -> DrawnBody:
        """Draws the body of somebody of an age (years) and sex who has a disease, and one complaint that speaks for it.

        Nobody comes to the doctor without a complaint, and somebody with another illness' complaints alone has that.
        `lasting` is what decides on symptoms and circumstances; where it gives none of the disease's complaints, the
        symptoms are drawn.
        """
        possible, ids = self._possible(age, sex)
        has = self._has(Ailment(disease, severity), ids, rng)
        can_be = {id for id in self._telling(disease.id, severity) & ids if has.way.symptoms.get(id, True)}
        if not can_be:
            can_be = {s.id for s in possible if s.section == "symptoms" and s.complaint and s.id in disease.symptoms}
        values, shown, present = self._draw(_Who([has], age, sex, lasting), can_be, rng)
        return DrawnBody(_single(shown), present, _single(values))

    def draw_several(
        self, illnesses: Sequence[Ailment], felt: Sequence[Ailment], age: float, sex: Sex, rng: random.Random
    ) -> SeveralBody:
        """Draws the body of somebody who comes for the first of these illnesses.

        Illnesses that are not `felt` give no complaints but those that follow from a quantity.
        """
        possible, ids = self._possible(age, sex)
        has = [self._has(one, ids, rng)._replace(felt=one in felt) for one in illnesses]
        can_be = {s.id for s in possible if s.section == "symptoms" and s.id in illnesses[0].disease.symptoms}
        _, shown, present = self._draw(_Who(has, age, sex), can_be, rng)
        return SeveralBody(shown, present)

    def _has(self, ailment: Ailment, possible: frozenset[str], rng: random.Random) -> _Has:
        ways = self._knowledge.bodies[ailment.disease.id].ways[ailment.severity]
        way = choose_way(ways, possible, rng)
        number = next(number for number, one in enumerate(ways) if one is way)
        return _Has(ailment, way, self._named(ailment.disease.id, ailment.severity, number))

    def _draw(
        self, who: _Who, can_be: set[str], rng: random.Random
    ) -> tuple[dict[str, Value], dict[str, Value], list[Symptom]]:
        """Draws quantities and symptoms until one of some complaints is there."""
        possible, _ = self._possible(who.age, who.sex)
        while True:
            values, shown = self._quantities(who, rng)
            present = self._symptoms(possible, who, values, rng)
            self._reconcile(who, values, shown, present, rng)
            if any(s.id in can_be for s in present):
                return values, shown, present
            if who.lasting is not None:
                circumstances = {s.id: who.lasting.present[s.id] for s in possible if s.section != "symptoms"}
                who = who._replace(lasting=who.lasting._replace(present=circumstances))

    def _quantities(self, who: _Who, rng: random.Random) -> tuple[dict[str, Value], dict[str, Value]]:
        """Returns the quantities, numbers as an adult's, and what every item shows."""
        physiology, (has, age, sex, _) = self._physiology, who
        values: dict[str, Value] = {}
        shown: dict[str, Value] = {}
        for id, item in physiology.items.items():
            named = [(one, one.named[id]) for one in has if id in one.named]
            if item.numeric:
                distribution, interval = self._deciding(item, named)
                number = draw_number(item, distribution, interval, rng)
                # What is read of it is read of what is shown, so that a temperature of 38.0 is one.
                shown[id], values[id] = physiology.shown(item, number, interval, age, sex)
            elif named:
                drawn = [of.chances.draw(rng) for _, of in named if of.chances is not None]
                values[id] = shown[id] = self._together(item, drawn)
            elif (states := item.usual_texts(age)) is not None:
                values[id] = shown[id] = (draw_text(_possible(item.usual, states), rng),)  # type: ignore[arg-type]
            else:
                values[id] = shown[id] = (self._usual[id].draw(rng),)
        for id, rule in physiology.body.shown_as.items():
            of = values.get(rule.of)
            if shown.get(id) == (rule.state,) and isinstance(of, float) and of >= rule.at_least:
                shown[id] = (rule.as_,)
        for id, reading in physiology.panels.items():
            item = physiology.places[id][1]
            texts = None if any(reading.of in one.named for one in has) else item.usual_texts(age)
            of, seen = values[reading.of], shown[reading.of]
            if isinstance(of, float):
                read = [read_panel(reading, item, of, seen, possible=texts, rng=rng)]  # type: ignore[arg-type]
            else:
                read = [read_panel(reading, item, state, state, possible=texts, rng=rng) for state in of]
            first = read[0]
            shown[id] = self._together(item, [str(one) for one in read]) if isinstance(first, str) else first
        for id, derived in physiology.derived.items():
            parts = [part for quantity in derived.of if isinstance(part := shown[quantity], float)]
            shown[id] = rounded(physiology.places[id][1], derived.value(parts))
        return values, shown

    def _deciding(self, item: Item, named: Sequence[tuple[_Has, _NamedQuantity]]) -> tuple[Distribution, Interval]:
        """Returns the distribution that a number is drawn from, and where it has to lie."""
        if not named:
            return item.usual, UNBOUND
        if len(named) == 1:
            return named[0][1].distribution, named[0][1].interval
        _, decides = max(named, key=lambda one: self._off(item, *one))
        low, high = max(of.interval[0] for _, of in named), min(of.interval[1] for _, of in named)
        distribution = decides.distribution
        if high > low and below(item, distribution, high) - below(item, distribution, low) >= _RARE:
            return distribution, (low, high)
        return distribution, decides.interval

    def _off(self, item: Item, one: _Has, of: _NamedQuantity) -> float:
        disease, severity = one.ailment
        distribution = of.distribution
        examination = self._physiology.places[item.id][0].id if item.id in self._physiology.places else ""
        if item.id in disease.findings.get(examination, {}):
            # As it is behind the criteria.
            distribution = disease.distribution(examination, item, severity)
        return off_usual(item, distribution)

    def _together(self, item: Item, drawn: Sequence[str]) -> tuple[str, ...]:
        """Returns the texts that are reported of those that the illnesses bring; of grades, the worst."""
        if len(drawn) == 1:
            return (drawn[0],)
        order = list(item.values)
        others = [text for text in dict.fromkeys(drawn) if text != order[0]]
        if item.id in self._physiology.body.graded and others:
            others = [max(others, key=order.index)]
        return tuple(others) or (order[0],)

    def _reconcile(
        self,
        who: _Who,
        values: dict[str, Value],
        shown: dict[str, Value],
        present: Sequence[Symptom],
        rng: random.Random,
    ) -> None:
        """Draws anew what cannot be shown beside another item or a symptom."""
        there = {symptom.id for symptom in present}
        for id, rule in self._physiology.together.items():
            item, seen = self._physiology.items[id], shown.get(rule.of, ())
            states = (PRESENT,) if rule.of in there else seen if isinstance(seen, tuple) else ()
            for texts in (rule.states[state] for state in states if state in rule.states):
                has = values[id]
                if not isinstance(has, tuple) or set(has) & set(texts):
                    continue
                if not who.has_several and id in who.has[0].way.states:
                    continue
                named = (one.named[id].distribution for one in who.has if id in one.named)
                drawn = text_among(texts, next(named, item.usual), item, rng)
                values[id] = shown[id] = self._together(item, [*has, drawn] if who.has_several else [drawn])

    def _telling_of(self, disease: str, severity: Severity) -> frozenset[str]:
        """Returns the complaints that speak most for a disease; all that it names where none speaks much."""
        of, symptoms = self._knowledge.diseases[disease], self._knowledge.symptoms
        felt = [symptoms[id] for id in of.symptoms if symptoms[id].section == "symptoms" and symptoms[id].complaint]
        speaks = {s.id: of.share(s, severity) - s.base for s in felt if s.parent is None}
        most = sorted(speaks, key=lambda id: -speaks[id])[:_TELLING]
        return frozenset(id for id in most if speaks[id] >= _SPEAKS) or frozenset(s.id for s in felt)

    def _possible_at(self, age: float, sex: Sex) -> tuple[tuple[Symptom, ...], frozenset[str]]:
        """Returns the symptoms that somebody of an age and sex can have, and their ids."""
        possible = tuple(s for s in self._knowledge.symptoms.values() if s.possible(age, sex))
        return possible, frozenset(s.id for s in possible)

    def _named_by(self, disease: str, severity: Severity, number: int) -> dict[str, _NamedQuantity]:
        """Returns how the quantities are drawn that a disease changes in the way of a number."""
        linked, of = self._knowledge.bodies[disease], self._knowledge.diseases[disease]
        way = linked.ways[severity][number]
        named: dict[str, _NamedQuantity] = {}
        for id, item in self._physiology.items.items():
            if id in linked.quantities or id in way.numbers or id in way.states:
                distribution = linked.distribution(item, severity)
            else:
                # Specimens are not among the quantities of outpatients.
                examination = self._physiology.places[id][0] if id in self._physiology.places else None
                if examination is None or examination.kind != "pathology":
                    continue
                if id not in of.findings.get(examination.id, {}):
                    continue
                distribution = of.distribution(examination.id, item, severity)
            chances = None
            if isinstance(distribution, dict):
                chances = TextChances.of(_possible(distribution, way.states.get(id)))
            named[id] = _NamedQuantity(distribution, way.numbers.get(id, UNBOUND), chances)
        return named

    def _symptoms(
        self, possible: Sequence[Symptom], who: _Who, values: Mapping[str, Value], rng: random.Random
    ) -> list[Symptom]:
        readings, felt = self._physiology.symptoms, [one for one in who.has if one.felt]
        present: dict[str, Symptom] = {}
        for symptom in possible:
            drawn = rng.random()
            draw = drawn if who.lasting is None else who.lasting.present.get(symptom.id, drawn)
            if symptom.parent is not None and symptom.parent not in present:
                continue
            if symptom.id in readings:
                value = values[readings[symptom.id].of]
                each = [value] if isinstance(value, float) else value
                share = max(readings[symptom.id].at(one) for one in each)
            else:
                share = self._share(symptom, felt, who)
            if draw < share:
                present[symptom.id] = symptom
        fixed = {s for one in felt for s, there in one.way.symptoms.items() if there}
        shared = {s for one in felt for s in self._knowledge.bodies[one.ailment.disease.id].shares}
        for one, other in self._physiology.body.apart:
            if one in present and other in present and not {one, other} <= fixed:
                stands = one in fixed or (one in shared and other not in fixed)
                dropped = other if stands or other not in shared else one
                present = {id: s for id, s in present.items() if dropped not in (id, s.parent)}
        return list(present.values())

    def _share(self, symptom: Symptom, felt: Sequence[_Has], who: _Who) -> float:
        """Returns how probable a symptom that follows from no quantity is, given its parent: any illness brings it."""
        shares: list[float] = []
        for (disease, severity), way, *_ in felt:
            by = self._knowledge.bodies[disease.id].shares.get(symptom.id)
            if symptom.id in way.symptoms:
                shares.append(float(way.symptoms[symptom.id]))
            elif by is not None:
                lasts = who.lasting if symptom.section != "symptoms" else None
                at = severity if lasts is None else lasts.began
                shares.append(symptom.at(by[SEVERITIES.index(at)], who.age, who.sex))
        if not shares:
            return symptom.at(min(one.ailment.disease.unnamed(symptom) for one in felt), who.age, who.sex)
        return shares[0] if len(who.has) == 1 else 1 - math.prod(1 - share for share in shares)


def _single(values: Mapping[str, Value]) -> dict[str, float | str]:
    return {id: value if isinstance(value, float) else value[0] for id, value in values.items()}


def with_beside(
    body: DrawnBody, disease: Disease, conditions: Collection[str], knowledge: Knowledge, rng: random.Random
) -> DrawnBody:
    """Returns a body as conditions beside the illness make it; what the illness changes stays."""
    physiology, linked = physiology_of(knowledge), knowledge.bodies[disease.id]
    moved: dict[str, float | str] = {}
    there = [beside for id, beside in physiology.body.beside.items() if id in conditions]
    # A later stage says it anew; drawn is once.
    numbers = {quantity: of for beside in there for quantity, of in beside.numbers.items()}
    for quantity, distribution in numbers.items():
        item = physiology.items.get(quantity)
        if item is not None and linked.distribution(item, "mild") == item.usual:
            moved[quantity] = rounded(item, draw_number(item, distribution, UNBOUND, rng))
    for beside in there:
        for quantity, state in beside.texts.items():
            item = physiology.items.get(quantity)
            # What the illness changes stays, but where it left this patient as others are.
            own = item is None or linked.distribution(item, "mild") != item.usual
            if item is not None and (not own or body.values.get(quantity) in item.normal_texts()):
                moved[quantity] = state
    return body._replace(shown={**body.shown, **moved}, values={**body.values, **moved}) if moved else body


@functools.lru_cache(maxsize=16)
def body_drawing(knowledge: Knowledge) -> BodyDrawing:
    """Returns what draws a knowledge's bodies; the same for the same knowledge."""
    return BodyDrawing(knowledge)


def read_panel(
    reading: PanelReading,
    item: Item,
    value: float | str,
    shown: float | str,
    *,
    possible: frozenset[str] | None,
    rng: random.Random,
) -> float | str:
    """Returns what an item shows that reads another's quantity."""
    if isinstance(value, str) or not item.numeric:
        return draw_text(_possible(reading.at(value), possible), rng)
    exact = along(reading.curve, value) if reading.curve else float(shown)
    return rounded(item, exact + rng.gauss(0, reading.error))


def _possible(shares: Mapping[str, float], texts: frozenset[str] | None) -> Mapping[str, float]:
    """Returns the shares of the texts that can be, or of all where none of those can."""
    if texts is None or not any(shares.get(text, 0) for text in texts):
        return shares
    return restricted(shares, texts)


def text_among(texts: Sequence[str], distribution: Distribution, item: Item, rng: random.Random) -> str:
    """Returns one of some texts of an item: by its distribution where that has any of them, else as is usual."""
    for shares in (distribution, item.usual):
        if isinstance(shares, dict) and any(shares.get(text, 0.0) for text in texts):
            return draw_text(restricted(shares, frozenset(texts)), rng)
    return texts[0]


def choose_way(ways: Sequence[Variant], possible: set[str] | frozenset[str], rng: random.Random) -> Variant:
    """Returns a way to have a disease that somebody can have it in, by its weight."""
    if len(ways) == 1:
        return ways[0]
    open_ways = [way for way in ways if possible.issuperset(s for s, there in way.symptoms.items() if there)]
    return rng.choices(open_ways or ways, [way.weight for way in open_ways or ways])[0]


def draw_text(shares: Mapping[str, float], rng: random.Random) -> str:
    """Returns a text, by the shares of each."""
    return TextChances.of(shares).draw(rng)


def draw_number(item: Item, distribution: Distribution, interval: Interval, rng: random.Random) -> float:
    """Returns a number, an adult's, of a distribution that is cut off at the ends of an interval."""
    centre, spread = distribution
    assert isinstance(centre, float) and isinstance(spread, float)  # noqa: S101
    if interval == UNBOUND:
        z = rng.gauss(0, 1)
        if distribution is item.usual and abs(z) > _FARTHEST_USUAL:
            # Who lies so far out has something else, which would have to be looked into.
            z = math.copysign(max(2 * _FARTHEST_USUAL - abs(z), 0.0), z)
    else:
        low, high = (below(item, distribution, end) for end in interval)
        z = _quantile(min(max(low + (high - low) * rng.random(), 1e-12), 1 - 1e-12))
    return centre * spread**z if item.lognormal else centre + spread * z
