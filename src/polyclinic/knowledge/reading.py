"""What is known of one patient, read exactly: every quantity once, however often and in whatever form it is reported.

The tables hold what each hypothesis (`Physiology.hypotheses`) makes of each quantity. A reading sums over the cells of
a quantity that only its symptoms or reports tell of, and takes its value where that was measured; it recomputes only
what an observation touched. One hypothesis more, the last, is "something else".
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from polyclinic.cases.presentation import Sex
from polyclinic.knowledge.body import (
    PRESENT,
    PanelReading,
    ShownTogether,
    SymptomReading,
    back_along,
)
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.disease_body import Interval, Variant, cell_shares
from polyclinic.knowledge.entries import Item
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.physiology import Physiology, physiology_of
from polyclinic.knowledge.results import ItemReading

_FARTHEST = 18.0  # squared spreads beyond which it says nothing more how far a number is off


Observed = float | str | ItemReading
"""What an item shows: a number in its unit, the id of its text, or what others' words say of it."""

Told = float | dict[str, float]
"""Share of a symptom, or of each text of an item, in a cell of what it reads."""


def chance_of(share: Told, observed: Observed | bool) -> float:
    """Returns the share of an observation in a cell of what it reads."""
    if isinstance(share, dict):
        if isinstance(observed, ItemReading):
            return sum(share.get(value, 0.0) for value in observed.values) if observed.values else 1.0
        return share.get(str(observed), 0.0)
    return share if observed else 1 - share


Vector = npt.NDArray[np.float64]

LEAST = 0.002
"""No single observation rules a disease out: texts and tests err in ways that no table holds."""

_OUTSIDE = math.log(LEAST)  # for a number that the criteria exclude


class _Numbers(NamedTuple):
    """A number under every hypothesis, "something else" last: centres and spreads (of logarithms where lognormal)."""

    centre: Vector
    spread: Vector
    low: Vector
    high: Vector
    scale: Vector


class BodyTables:
    """The knowledge as tables of what each hypothesis makes of each quantity and symptom; made once.

    Attributes:
        hypotheses: how many there are, without "something else".
        prior: log prior of each given its disease and severity; "something else" last.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.physiology: Physiology = physiology_of(knowledge)
        found = self.physiology.hypotheses
        self.hypotheses = len(found)
        self.prior: Vector = np.log(np.array([*(max(h.way.weight, 1e-12) for h in found), 1.0]))
        groups = [(h.disease.id, h.severity) for h in found]
        self.starts = np.array([n for n, g in enumerate(groups) if n == 0 or g != groups[n - 1]] + [self.hypotheses])
        self._weights = np.exp(self.prior[:-1]) / len(self.starts[:-1])
        # Of the hypotheses of a disease at a severity, side by side, the first; and whose way fixes a symptom.
        self._groups = [(found[start], int(end - start)) for start, end in itertools.pairwise(self.starts)]
        self._fixed: dict[str, list[tuple[int, bool]]] = {}
        for number, h in enumerate(found):
            for symptom, there in h.way.symptoms.items():
                self._fixed.setdefault(symptom, []).append((number, there))
        self.symptom_row = functools.cache(self._symptom_row)
        self.cells = functools.cache(self._cells)
        self._numbers = functools.cache(self._make_numbers)
        self._text_logs = functools.cache(self._make_text_logs)

    def collapsed(self, log: Vector) -> Vector:
        """Returns the logarithms for diseases and severities, "something else" last."""
        summed: Vector = np.logaddexp.reduceat(log, self.starts)
        return summed

    def _symptom_row(self, symptom: str) -> Vector:
        """Returns the shares of a symptom (given its parent), which follows from no quantity, as an adult's."""
        one, bodies = self.knowledge.symptoms[symptom], self.knowledge.bodies
        shares: list[float] = []
        for h, ways in self._groups:
            shares += [float(bodies[h.disease.id].share(h.disease, one, h.severity))] * ways
        for number, there in self._fixed.get(symptom, ()):
            shares[number] = float(there)
        return np.array([*shares, one.base])

    def _cells(self, quantity: str, cuts: tuple[float, ...]) -> Vector:
        """Returns the shares of a quantity's cells, or states, under every hypothesis: (hypothesis, cell)."""
        item = self.physiology.items[quantity]
        # Most hypotheses leave a quantity as it is: what is alike is worked out once.
        alike: dict[tuple[int, Interval | None, frozenset[str] | None], list[float]] = {}
        rows = []
        for h in self.physiology.hypotheses:
            distribution = self.knowledge.bodies[h.disease.id].distribution(item, h.severity)
            key = id(distribution), h.way.numbers.get(quantity), h.way.states.get(quantity)
            if key not in alike:
                alike[key] = _in_order(cell_shares(cuts, item, distribution, (h.way._replace(weight=1.0),)), item, cuts)
            rows.append(alike[key])
        usual = cell_shares(cuts, item, item.usual, (Variant(),))
        return np.array([*rows, _in_order(usual, item, cuts)])

    def number(self, quantity: str, value: float) -> Vector:
        """Returns the log-densities of an adult's number under every hypothesis; "something else" has their mean."""
        numbers = self._numbers(quantity)
        x = math.log(max(value, 1e-9)) if self.physiology.items[quantity].lognormal else value
        z = (x - numbers.centre) / numbers.spread
        log: Vector = -0.5 * np.minimum(z * z, _FARTHEST) - numbers.scale
        log[:-1] += np.where((x >= numbers.low[:-1]) & (x < numbers.high[:-1]), 0.0, _OUTSIDE)
        log[-1] = math.log(float(np.dot(np.exp(log[:-1]), self._weights) * 0.98 + 0.02 * math.exp(log[-1])) + 1e-300)
        return log

    def interval(self, quantity: str, low: float, high: float) -> Vector:
        """Returns the log-shares of an interval of an adult's numbers, that of people without this trouble last."""
        item = self.physiology.items[quantity]
        numbers = self._numbers(quantity)
        ends = [math.log(max(x, 1e-9)) if item.lognormal and math.isfinite(x) else x for x in (low, high)]
        a, b = (np.clip(end, numbers.low, numbers.high) for end in ends)
        inside = _below((b - numbers.centre) / numbers.spread) - _below((a - numbers.centre) / numbers.spread)
        whole = _below((numbers.high - numbers.centre) / numbers.spread)
        whole -= _below((numbers.low - numbers.centre) / numbers.spread)
        log: Vector = np.log(np.maximum(inside / np.maximum(whole, 1e-9), LEAST))
        return log

    def texts(self, quantity: str, states: frozenset[str]) -> Vector:
        """Returns the log-shares of being in one of some states; that of people without this trouble last."""
        return self._text_logs(quantity, states).copy()

    def _make_text_logs(self, quantity: str, states: frozenset[str]) -> Vector:
        among = [n for n, state in enumerate(self.physiology.items[quantity].values) if state in states]
        log: Vector = np.log(np.clip(self.cells(quantity, ())[:, among].sum(axis=1), LEAST, 1.0))
        return log

    def mean(self, log: Vector) -> float:
        """Returns the logarithm of what "something else" makes of an observation: the mean of all hypotheses."""
        return math.log(float(np.dot(np.exp(log[:-1]), self._weights)) + 1e-300)

    def generous(self, log: Vector) -> Vector:
        """Returns log-likelihoods whose last, that of people without this trouble, is made that of "something else".

        The mean of all diseases but the one that fits best, or that of people without this trouble, whichever is
        likelier: much that is normal does not speak against it, and what only one disease has does.
        """
        diseases = self._weights * (len(self.starts) - 1) / len(SEVERITIES) * np.exp(log[:-1])
        sums = np.add.reduceat(diseases, self.starts[:-1][:: len(SEVERITIES)])
        if len(sums) > 1:
            log[-1] = max(log[-1], math.log(float((sums.sum() - sums.max()) / (len(sums) - 1)) + 1e-300))
        return log

    def _make_numbers(self, quantity: str) -> _Numbers:
        item, bodies = self.physiology.items[quantity], self.knowledge.bodies
        found = [bodies[h.disease.id].distribution(item, h.severity) for h in self.physiology.hypotheses]
        parameters = np.array([*found, item.usual], dtype=float)
        ends = [h.way.numbers.get(item.id, (-math.inf, math.inf)) for h in self.physiology.hypotheses]
        limits = np.array([*ends, (-math.inf, math.inf)])
        centre, spread = parameters[:, 0], parameters[:, 1]
        if item.lognormal:
            centre, spread = np.log(centre), np.log(spread)
            with np.errstate(divide="ignore", invalid="ignore"):
                limits = np.where(limits > 0, np.log(limits), -math.inf)
        low, high = limits[:, 0], limits[:, 1]
        share = _below((high - centre) / spread) - _below((low - centre) / spread)
        return _Numbers(centre, spread, low, high, np.log(spread) + np.log(np.maximum(share, 1e-9)))


class PatientReading:
    """What is known of one patient."""

    def __init__(self, tables: BodyTables, age: float | None, sex: Sex | None) -> None:
        self._tables, self._age, self._sex = tables, age, sex
        self._log = tables.prior.copy()
        self._collapsed: Vector | None = None
        self._parts: dict[str, Vector] = {}
        self._observed: dict[str, dict[str, tuple[Observed | bool, float]]] = {}

    def copy(self) -> Self:
        """Returns another that goes on from what is known."""
        other = copy.copy(self)
        other._log, other._parts = self._log.copy(), dict(self._parts)
        # What is known of a quantity is never changed in its place, so that both may hold it.
        other._observed = dict(self._observed)
        return other

    def log(self) -> Vector:
        """Returns the log-likelihoods of diseases and severities, "something else" last."""
        if self._collapsed is None:
            self._collapsed = self._tables.collapsed(self._log)
        return self._collapsed

    def settled(self) -> set[str]:
        """Returns the symptoms that follow from quantities that were measured, and so say nothing more."""
        readings, measured = self._tables.physiology.symptoms, self._measured()
        return {symptom for symptom, reading in readings.items() if reading.of in measured} if measured else set()

    def symptom(self, symptom: str, present: bool, *, weight: float = 1.0) -> None:
        """Takes in whether a symptom is there (given its parent)."""
        reading = self._tables.physiology.symptoms.get(symptom)
        self._put(reading.of if reading is not None else symptom, symptom, present, weight)

    def item(self, item: str, observed: Observed) -> bool:
        """Takes in what an item shows; returns whether that says anything."""
        physiology = self._tables.physiology
        if item in physiology.derived:
            return self._derived(item, observed)
        of = physiology.panels[item].of if item in physiology.panels else item
        self._put(of, item, observed, 1.0)
        return True

    def forget(self, name: str) -> None:
        """Takes a symptom or an item back."""
        for quantity, by in self._observed.items():
            if name in by:
                self._observed[quantity] = {other: known for other, known in by.items() if other != name}
                self._update(quantity)
                return

    def _put(self, quantity: str, name: str, observed: Observed | bool, weight: float) -> None:
        self._observed[quantity] = self._observed.get(quantity, {}) | {name: (observed, weight)}
        self._update(quantity)

    def _update(self, quantity: str) -> None:
        self._collapsed = None
        before = self._parts.pop(quantity, None)
        if before is not None:
            self._log = self._log - before
        by = self._observed[quantity]
        if by:
            self._parts[quantity] = part = self._of_quantity(quantity, by)
            self._log = self._log + part
        for item, rule in self._tables.physiology.together.items():
            if quantity in (item, rule.of):
                self._reconcile(item, rule)

    def _reconcile(self, item: str, rule: ShownTogether) -> None:
        """Takes in that an item shows what goes with another, where both are known: it says that much less."""
        place = f"{item} beside {rule.of}"
        before = self._parts.pop(place, None)
        if before is not None:
            self._log = self._log - before
        (shown, _), (other, _) = (self._observed.get(of, {}).get(of, (None, 1.0)) for of in (item, rule.of))
        texts = rule.states.get(PRESENT if other is True else str(other))
        if isinstance(shown, str) and texts is not None and shown in texts:
            log = self._tables.texts(item, frozenset(texts))
            log[-1] = self._tables.mean(log)
            self._parts[place] = -log
            self._log = self._log - log

    def _measured(self) -> set[str]:
        physiology = self._tables.physiology
        return {
            q
            for q, by in self._observed.items()
            if any(name == q or (name in physiology.panels and physiology.places[name][1].numeric) for name in by)
        }

    def _of_quantity(self, quantity: str, by: dict[str, tuple[Observed | bool, float]]) -> Vector:
        """Returns what all that is known of a quantity, or of a symptom that follows from none, says."""
        physiology = self._tables.physiology
        if quantity not in physiology.items:
            ((present, weight),) = by.values()
            return self._of_symptom(quantity, bool(present)) * weight
        if quantity in by:
            return self._measurement(quantity, by[quantity][0])
        for name, (observed, _) in by.items():
            if name in physiology.panels and physiology.places[name][1].numeric:
                return self._measurement(quantity, self._through(physiology.panels[name], observed))
        return self._summed(quantity, by)

    def _of_symptom(self, symptom: str, present: bool) -> Vector:
        row = self._tables.symptom_row(symptom)
        one = self._tables.knowledge.symptoms[symptom]
        if one.prevalence and self._age is not None:
            usual = max(one.usual_at(self._age, self._sex), 1e-6)
            moved = row * usual * (1 - one.base)
            row = moved / (moved + (1 - row) * (1 - usual) * one.base + 1e-300)
        row = np.clip(row, LEAST, 1 - LEAST)
        return np.log(row) if present else np.log1p(-row)

    def _measurement(self, quantity: str, observed: Observed | bool) -> Vector:
        tables = self._tables
        item = tables.physiology.items[quantity]
        shown_as = tables.physiology.body.shown_as.get(quantity)
        if isinstance(observed, str):
            alike = (shown_as.state, shown_as.as_) if shown_as is not None else ()
            log = tables.texts(quantity, frozenset(alike if observed in alike else (observed,)))
            log[-1] = tables.mean(log)
            return log
        if isinstance(observed, ItemReading):
            if observed.values:
                return tables.generous(tables.texts(quantity, observed.values))
            low, high = self._back(item, observed.low), self._back(item, observed.high)
            return tables.generous(
                tables.number(quantity, low) if low == high else tables.interval(quantity, low, high)
            )
        value = self._back(item, float(observed))
        return self._or_beside(tables.number(quantity, value), value, item)

    def _or_beside(self, log: Vector, value: float, item: Item) -> Vector:
        """Returns the log-densities of an adult's number where something beside the illness may have moved it."""
        physiology, bodies = self._tables.physiology, self._tables.knowledge.bodies
        for beside in physiology.body.beside.values():
            share = beside.share(self._age, self._sex) if item.id in beside.numbers else 0.0
            if share:
                centre, spread = beside.numbers[item.id]
                x = value
                if item.lognormal:
                    centre, spread, x = math.log(centre), math.log(spread), math.log(max(value, 1e-9))
                density = -0.5 * min(((x - centre) / spread) ** 2, _FARTHEST) - math.log(spread)
                hypotheses = physiology.hypotheses
                alone = [bodies[h.disease.id].distribution(item, h.severity) == item.usual for h in hypotheses]
                moved = np.where([*alone, True], share, 1e-12)
                log = np.logaddexp(np.log1p(-moved) + log, np.log(moved) + density)
        return log

    def as_adult(self, item: str, value: float) -> float:
        """Returns the adult's number that a patient's stands for."""
        known = self._tables.physiology.items.get(item)
        return value if known is None else self._back(known, value)

    def _back(self, item: Item, value: float) -> float:
        if math.isinf(value):
            return value
        return self._tables.physiology.carrying(item, self._age, self._sex).back(value)

    @staticmethod
    def _through(panel: PanelReading, observed: Observed | bool) -> Observed | bool:
        """Returns what the quantity shows of which an item along a curve shows something."""
        if not panel.curve:
            return observed
        if isinstance(observed, ItemReading):
            ends = [x if math.isinf(x) else back_along(panel.curve, x) for x in (observed.low, observed.high)]
            return observed._replace(low=ends[0], high=ends[1])
        assert isinstance(observed, float)  # noqa: S101
        return back_along(panel.curve, observed)

    def _summed(self, quantity: str, by: dict[str, tuple[Observed | bool, float]]) -> Vector:
        """Returns what symptoms and reports of a quantity say that was not measured itself."""
        physiology = self._tables.physiology
        item = physiology.items[quantity]
        readings: dict[str, SymptomReading | PanelReading] = {
            name: physiology.symptoms[name] if name in physiology.symptoms else physiology.panels[name] for name in by
        }
        cuts = tuple(sorted({cut for reading in readings.values() for cut in reading.cuts}))
        edges = (-math.inf, *cuts)
        weights = np.ones(len(item.values) or len(edges))
        for name, (observed, weight) in by.items():
            shares: list[Told] = [readings[name].at(cell) for cell in (item.values or edges)]
            told = [chance_of(share, observed) for share in shares]
            weights *= np.clip(np.array(told), LEAST, 1.0) ** weight
        return np.log(np.maximum(self._tables.cells(quantity, cuts) @ weights, 1e-12))

    def _derived(self, item: str, observed: Observed) -> bool:
        """Takes in what is made of two quantities, of which one is known."""
        derived = self._tables.physiology.derived[item]
        known = self._observed.get(derived.of[0], {}).get(derived.of[0])
        if not isinstance(observed, float) or known is None or not isinstance(known[0], float):
            return False
        other = derived.other(observed, known[0])
        if other is None or derived.of[1] in self._observed:
            return False
        self._put(derived.of[1], derived.of[1], other, 1.0)
        return True


def _in_order(shares: dict[str, float], item: Item, cuts: tuple[float, ...]) -> list[float]:
    return [shares.get(key, 0.0) for key in (item.values or map(str, range(len(cuts) + 1)))]


_erfc = np.frompyfunc(math.erfc, 1, 1)


def _below(z: Vector) -> Vector:
    """Returns which share of a normal distribution lies below z standard deviations from its centre."""
    return 0.5 * np.asarray(_erfc(-z / math.sqrt(2)), dtype=np.float64)
