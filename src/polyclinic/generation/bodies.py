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
from polyclinic.knowledge.body import PRESENT, PanelReading, SymptomReading, along, cell_of, cuts_of, of_state
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.disease_body import Interval, Variant, below, restricted
from polyclinic.knowledge.entries import Disease, Distribution, Item, Symptom
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.physiology import physiology_of, rounded

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


class _Ill(NamedTuple):
    """Somebody, and the way in which it is ill."""

    disease: Disease
    severity: Severity
    way: Variant
    age: float
    sex: Sex


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


class _QuantityDrawing(NamedTuple):
    """How a quantity is drawn of who is ill in one way."""

    id: str
    item: Item
    distribution: Distribution
    interval: Interval
    chances: TextChances | None
    of_age: bool


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
        self._prepared = functools.lru_cache(maxsize=1024)(self._prepare)
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
        way = choose_way(self._knowledge.bodies[disease.id].ways[severity], ids, rng)
        ill = _Ill(disease, severity, way, age, sex)
        telling = self._telling(disease.id, severity)
        can_be = {id for id in telling & ids if way.symptoms.get(id, True)}
        if not can_be:
            can_be = {s.id for s in possible if s.section == "symptoms" and s.complaint and s.id in disease.symptoms}
        while True:
            values, shown = self._quantities(ill, rng)
            present = self._symptoms(possible, ill, values, rng, lasting)
            self._reconcile(ill, values, shown, present, rng)
            if any(s.id in can_be for s in present):
                return DrawnBody(shown, present, values)
            if lasting is not None:
                circumstances = {s.id: lasting.present[s.id] for s in possible if s.section != "symptoms"}
                lasting = lasting._replace(present=circumstances)

    def _quantities(self, ill: _Ill, rng: random.Random) -> tuple[dict[str, float | str], dict[str, float | str]]:
        """Returns the quantities, numbers as an adult's, and what every item shows."""
        physiology, linked = self._physiology, self._knowledge.bodies[ill.disease.id]
        values: dict[str, float | str] = {}
        shown: dict[str, float | str] = {}
        ways = linked.ways[ill.severity]
        number_of_way = next(n for n, way in enumerate(ways) if way is ill.way)
        for id, item, distribution, interval, chances, of_age in self._prepared(
            ill.disease.id, ill.severity, number_of_way
        ):
            if chances is None:
                number = draw_number(item, distribution, interval, rng)
                # What is read of it is read of what is shown, so that a temperature of 38.0 is one.
                shown[id], values[id] = physiology.shown(item, number, interval, ill.age, ill.sex)
            elif of_age and isinstance(distribution, dict) and (states := item.usual_texts(ill.age)) is not None:
                values[id] = shown[id] = draw_text(restricted(distribution, states), rng)
            else:
                values[id] = shown[id] = chances.draw(rng)
        for id, rule in physiology.body.shown_as.items():
            if shown.get(id) == rule.state and float(values[rule.of]) >= rule.at_least:
                shown[id] = rule.as_
        for id, reading in physiology.panels.items():
            item = physiology.places[id][1]
            possible = None if reading.of in linked.quantities else item.usual_texts(ill.age)
            shown[id] = read_panel(reading, item, values[reading.of], shown[reading.of], possible=possible, rng=rng)
        for id, derived in physiology.derived.items():
            of = [float(shown[quantity]) for quantity in derived.of]
            shown[id] = rounded(physiology.places[id][1], derived.value(of))
        return values, shown

    def _reconcile(
        self,
        ill: _Ill,
        values: dict[str, float | str],
        shown: dict[str, float | str],
        present: Sequence[Symptom],
        rng: random.Random,
    ) -> None:
        """Draws anew what cannot be shown beside another item or a symptom, but for what defines the illness."""
        there = {symptom.id for symptom in present}
        for id, rule in self._physiology.together.items():
            texts = rule.states.get(PRESENT if rule.of in there else str(shown.get(rule.of)))
            if texts is None or values[id] in texts or id in ill.way.states:
                continue
            item = self._physiology.items[id]
            of_disease = self._knowledge.bodies[ill.disease.id].distribution(item, ill.severity)
            values[id] = shown[id] = text_among(texts, of_disease, item, rng)

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

    def _prepare(self, disease: str, severity: Severity, number: int) -> tuple[_QuantityDrawing, ...]:
        """Returns how each quantity is drawn of who has a disease in the way of a number."""
        linked = self._knowledge.bodies[disease]
        way = linked.ways[severity][number]
        prepared: list[_QuantityDrawing] = []
        for id, item in self._physiology.items.items():
            distribution, states = linked.distribution(item, severity), way.states.get(id)
            chances = None
            if isinstance(distribution, dict):
                is_usual = distribution is item.usual and states is None
                chances = self._usual[id] if is_usual else TextChances.of(restricted(distribution, states))
            of_age = bool(item.from_age) and id not in linked.quantities and states is None
            prepared.append(_QuantityDrawing(id, item, distribution, way.numbers.get(id, UNBOUND), chances, of_age))
        return tuple(prepared)

    def _symptoms(
        self,
        possible: Sequence[Symptom],
        ill: _Ill,
        values: Mapping[str, float | str],
        rng: random.Random,
        lasting: Lasting | None,
    ) -> list[Symptom]:
        readings, shares = self._physiology.symptoms, self._knowledge.bodies[ill.disease.id].shares
        now, way = SEVERITIES.index(ill.severity), ill.way
        began = now if lasting is None else SEVERITIES.index(lasting.began)
        present: dict[str, Symptom] = {}
        for symptom in possible:
            drawn = rng.random()
            draw = drawn if lasting is None else lasting.present.get(symptom.id, drawn)
            place = now if symptom.section == "symptoms" else began
            if symptom.parent is not None and symptom.parent not in present:
                continue
            if symptom.id in way.symptoms:
                there = way.symptoms[symptom.id]
            elif symptom.id in readings:
                there = draw < share_at(readings[symptom.id], values[readings[symptom.id].of])
            else:
                share = shares[symptom.id][place] if symptom.id in shares else ill.disease.unnamed(symptom)
                there = draw < symptom.at(share, ill.age, ill.sex)
            if there:
                present[symptom.id] = symptom
        for one, other in self._physiology.body.apart:
            if one in present and other in present and not {one, other} <= way.symptoms.keys():
                stands = way.symptoms.get(one, False) or (one in shares and other not in way.symptoms)
                dropped = other if stands or other not in shares else one
                present = {id: s for id, s in present.items() if dropped not in (id, s.parent)}
        return list(present.values())


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


def share_at(reading: SymptomReading, value: float | str) -> float:
    """Returns the share that has a symptom where its quantity has a value."""
    if isinstance(value, str):
        return of_state(reading.states, value)
    return reading.below[cell_of(cuts_of(reading.below), value)][1]


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
    if isinstance(value, str):
        return draw_text(_possible(of_state(reading.states, value), possible), rng)
    if not item.numeric:
        return draw_text(_possible(reading.below[cell_of(cuts_of(reading.below), value)][1], possible), rng)
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
