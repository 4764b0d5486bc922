"""Several diseases at once: how what they change comes together, and the reader of it.

Given the diseases and their severities, symptoms and results are independent, as in `polyclinic.knowledge.bayes`. A
symptom that several diseases name is brought by any of them (noisy or). Of a number that several name, the one decides
that takes it farthest from the usual. Of a text each brings its own, and all that is not normal is reported. What none
of them names is as it is in other illness.

`polyclinic.generation.inpatients` draws by this, and `SeveralReader` reads by it. A quantity speaks once: where
it was measured, what reads it says nothing new.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from polyclinic.cases.presentation import Presentation
from polyclinic.knowledge.ages import AGE_BANDS, band_of
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.entries import Disease, Distribution, Examination, Item
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.physiology import physiology_of

Vector = npt.NDArray[np.float64]

_LEAST = 0.004  # No single observation proves or rules out anything: texts and tests err in ways that no table holds.
_FARTHEST = 16.0  # squared spreads beyond which it says nothing more how far a number is off
RECORDED = 0.3
"""Share of the symptoms of somebody with several diseases that stand in the record; some give no complaints."""

_SPARE = 2.6  # log odds that a disease has to bring before it counts as one of several: some three in forty have it


class Ailment(NamedTuple):
    """A disease that somebody has, and how badly."""

    disease: Disease
    severity: Severity


def off_usual(item: Item, distribution: Distribution) -> float:
    """Returns how far a distribution of a number lies from the usual one, in spreads of that."""
    assert isinstance(distribution, tuple) and isinstance(item.usual, tuple)  # noqa: S101
    (centre, _), (usual, spread) = distribution, item.usual
    if item.lognormal:
        return abs(math.log(centre / usual)) / math.log(spread)
    return abs(centre - usual) / spread


class SymptomTold(NamedTuple):
    """A symptom that is told or denied; where it has a parent, that is there."""

    symptom: str
    present: bool


class Shown(NamedTuple):
    """What an item of an examination showed: a number in its unit, or the texts that are not normal, none or more."""

    examination: str
    item: str
    value: float | frozenset[str]


Observation = SymptomTold | Shown


class Weighed(NamedTuple):
    """What observations say.

    Attributes:
        weights: log odds by disease: how much better the observations are explained with it than without, given the
            other diseases chosen.
    """

    chosen: tuple[str, ...]  # the diseases that together explain them, in the order in which they were found
    weights: dict[str, float]
    parts: Vector  # the same by observation: (observation, disease)


class SeveralReader:
    """Reads observations of somebody who may have several diseases; made once, used for any number of patients."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.diseases: tuple[Disease, ...] = tuple(knowledge.diseases.values())
        self.ids = [disease.id for disease in self.diseases]
        self._items = {(e.id, item.id): (e, item) for e in knowledge.examinations.values() for item in e.items}
        self._physiology = physiology_of(knowledge)
        self._terms = functools.cache(self._make_terms)
        self._numbers = functools.cache(lambda *place: _Numeric(*self._items[place], self.diseases))
        self._beside_others = functools.cache(self._make_beside)
        leaks = [d.background for d in self.diseases]
        self._background = sum(leaks) / len(leaks)

    def person(self, presentation: Presentation) -> Vector:
        """Returns how age and sex speak for each disease, in log odds."""
        total = np.zeros(len(self.diseases))
        if presentation.age is not None:
            age = presentation.age
            years = {b: last - first + 1 for b, (first, last) in AGE_BANDS.items()}
            usual = years[band_of(age)] / sum(years.values())
            shares = np.array([d.epidemiology.share_at(age) for d in self.diseases])
            total += np.log(np.maximum(shares, 0.01) / usual)
        if presentation.sex is not None:
            female = np.clip(np.array([d.epidemiology.female for d in self.diseases]), 0.01, 0.99)
            total += np.log(2 * (female if presentation.sex == "female" else 1 - female))
        return np.clip(total, -4.0, 1.0)

    def weigh(self, observations: Sequence[Observation], presentation: Presentation | None = None) -> Weighed:
        """Finds the diseases that together explain what was observed."""
        prior, plain = self._prior(presentation), self._plain(observations, presentation)
        chosen: list[int] = []
        for _ in range(len(self.diseases)):
            weights = self._parts(plain, chosen).sum(axis=0) + prior
            worst = min(chosen, key=lambda d: weights[d], default=None)
            if worst is not None and weights[worst] < _SPARE:
                # What was found later explains what it was chosen for.
                chosen.remove(worst)
                continue
            gains = weights.copy()
            gains[chosen] = -math.inf
            best = int(gains.argmax())
            if gains[best] <= _SPARE:
                break
            chosen.append(best)
        return self._weighed(plain, chosen, prior)

    def beside(
        self, observations: Sequence[Observation], given: Iterable[str], presentation: Presentation | None = None
    ) -> Weighed:
        """Weighs every disease beside others that are given; those that are not known are passed over."""
        chosen = [self.ids.index(disease) for disease in given if disease in self.ids]
        return self._weighed(self._plain(observations, presentation), chosen, self._prior(presentation))

    def _prior(self, presentation: Presentation | None) -> Vector:
        return np.zeros(len(self.diseases)) if presentation is None else self.person(presentation)

    def _weighed(self, observations: Sequence[Observation | None], chosen: list[int], prior: Vector) -> Weighed:
        parts = self._parts(observations, chosen)
        weights = dict(zip(self.ids, (parts.sum(axis=0) + prior).tolist(), strict=True))
        return Weighed(tuple(self.ids[d] for d in chosen), weights, parts)

    def _parts(self, observations: Sequence[Observation | None], chosen: list[int]) -> Vector:
        """Returns the log-likelihood ratio of each observation: with each disease, beside the others, and without."""
        nothing = np.zeros(len(self.diseases))
        rows = [nothing if one is None else self._ratio(one, chosen) for one in observations]
        return np.array(rows).reshape(-1, len(self.diseases))

    def _plain(
        self, observations: Sequence[Observation], presentation: Presentation | None
    ) -> list[Observation | None]:
        """Returns observations with an adult's numbers; None for what only repeats a quantity that was measured."""
        measured = {one.item for one in observations if isinstance(one, Shown)}
        plain: list[Observation | None] = []
        for one in observations:
            if self._repeats(one, measured):
                plain.append(None)
            elif presentation is None or isinstance(one, SymptomTold) or isinstance(one.value, frozenset):
                plain.append(one)
            else:
                _, item = self._items[one.examination, one.item]
                carrying = self._physiology.carrying(item, presentation.age, presentation.sex)
                plain.append(one._replace(value=carrying.back(one.value)))
        return plain

    def _repeats(self, observation: Observation, measured: Container[str]) -> bool:
        if isinstance(observation, SymptomTold):
            reading = self._physiology.symptoms.get(observation.symptom)
            return reading is not None and reading.of in measured
        panel, derived = (by.get(observation.item) for by in (self._physiology.panels, self._physiology.derived))
        if panel is not None:
            return panel.of in measured
        return derived is not None and all(of in measured for of in derived.of)

    def _ratio(self, observation: Observation, chosen: list[int]) -> Vector:
        if isinstance(observation, Shown) and not isinstance(observation.value, frozenset):
            return self._numbers(observation.examination, observation.item).ratio(observation.value, chosen)
        if isinstance(observation, Shown) and isinstance(observation.value, frozenset) and len(observation.value) > 1:
            # No disease brings two texts of one item: each is looked at by itself.
            values = sorted(observation.value)
            each = [self._beside_others(observation.examination, observation.item, value) for value in values]
            return np.array([one.ratio(chosen) for one in each]).sum(axis=0)  # type: ignore[no-any-return]
        return self._terms(observation).ratio(chosen)

    def _make_terms(self, observation: Observation) -> _Terms:
        if isinstance(observation, SymptomTold):
            symptom = self.knowledge.symptoms[observation.symptom]
            named = np.array([symptom.id in d.symptoms for d in self.diseases])
            # A part of a symptom that is written down ("dry cough") is.
            written = RECORDED if symptom.parent is None else 1.0
            share = written * np.array([float(np.mean(d.symptoms.get(symptom.id, (0.0,)))) for d in self.diseases])
            complaint = symptom.section == "symptoms" and symptom.parent is None
            usual = written * (symptom.base * self._background if complaint else symptom.base)
            if not observation.present:
                return _Terms(named, [(1, 1 - share, 1 - usual)])
            return _Terms(named, [(1, np.ones_like(share), 1.0), (-1, 1 - share, 1 - usual)])
        examination, item = self._items[observation.examination, observation.item]
        assert isinstance(observation.value, frozenset)  # noqa: S101
        named = np.array([item.id in d.findings.get(examination.id, {}) for d in self.diseases])
        order = list(item.values)
        if observation.value and item.id in self._physiology.body.graded:
            # What is said is the worst that any brings.
            worst = max(map(order.index, observation.value))
            up_to = [(sign, order[:end]) for sign, end in ((1, worst + 1), (-1, worst))]
            return _Terms(named, [self._all_among(sign, examination, item, grades) for sign, grades in up_to])
        normal = order[0]
        terms = [self._all_among(1, examination, item, (normal, *observation.value))]
        if observation.value:
            # Not all of them normal.
            terms.append(self._all_among(-1, examination, item, (normal,)))
        return _Terms(named, terms)

    def _all_among(
        self, sign: int, examination: Examination, item: Item, values: Sequence[str]
    ) -> tuple[int, Vector, float]:
        """Returns the probability, by disease, that what it brings is one of these."""

        def share(distribution: Distribution) -> float:
            assert isinstance(distribution, dict)  # noqa: S101
            return sum(distribution.get(value, 0.0) for value in values)

        found = ([d.distribution(examination.id, item, severity) for severity in SEVERITIES] for d in self.diseases)
        q = np.array([sum(map(share, each)) / len(each) for each in found])
        return sign, q, share(item.usual)

    def _make_beside(self, examination: str, item: str, value: str) -> _Terms:
        """Returns the probability that a text is reported, whatever else is."""
        outer, inner = self._items[examination, item]
        named = np.array([inner.id in d.findings.get(outer.id, {}) for d in self.diseases])
        others = [one for one in inner.values if one != value]
        return _Terms(named, [(1, np.ones(len(self.diseases)), 1.0), self._all_among(-1, outer, inner, others)])


class _Terms:
    """The probability of a text or a symptom, as a sum of products over the diseases that bring it."""

    def __init__(self, named: npt.NDArray[np.bool_], terms: Sequence[tuple[int, Vector, float]]) -> None:
        self._named = named
        self._signs = np.array([sign for sign, _, _ in terms], dtype=float)[:, None]
        # A disease that does not name it leaves it as it is.
        self._q = np.array([np.where(named, np.clip(q, 1e-6, 1.0), 1.0) for _, q, _ in terms])
        self._usual = np.array([usual for _, _, usual in terms])[:, None]
        self._ratio = functools.lru_cache(maxsize=256)(self._make_ratio)

    def ratio(self, chosen: Sequence[int]) -> Vector:
        """Returns log P(with each disease) - log P(without), the other chosen ones being there."""
        # Those that do not name it change nothing.
        return self._ratio(tuple(d for d in chosen if self._named[d]))

    def _make_ratio(self, chosen: tuple[int, ...]) -> Vector:
        product = self._q[:, list(chosen)].prod(axis=1, keepdims=True)
        count = np.full(len(self._named), len(chosen))
        without = np.repeat(product, len(self._named), axis=1)
        for d in chosen:
            without[:, d] = self._q[:, [one for one in chosen if one != d]].prod(axis=1)
            count[d] -= 1
        before = (self._signs * np.where(count > 0, without, self._usual)).sum(axis=0)
        behind = np.where(self._named, (self._signs * without * self._q).sum(axis=0), before)
        ratio: Vector = np.log(np.maximum(behind, _LEAST)) - np.log(np.maximum(before, _LEAST))
        return ratio


class _Numeric:
    """The density of a number under each disease; the one farthest from the usual decides."""

    def __init__(self, examination: Examination, item: Item, diseases: Iterable[Disease]) -> None:
        self._log = item.lognormal
        self._usual = self._parameters(item.usual)
        self._named, self._off, self._all = [], [], []
        for disease in diseases:
            named = item.id in disease.findings.get(examination.id, {})
            found = [disease.distribution(examination.id, item, severity) for severity in SEVERITIES]
            self._named.append(named)
            self._off.append(float(np.mean([off_usual(item, one) for one in found])) if named else -1.0)
            self._all.append([self._parameters(one) for one in found])
        self._mask, self._far = np.array(self._named), np.array(self._off)
        self._centres = np.array(self._all)

    def _parameters(self, distribution: Distribution) -> tuple[float, float]:
        assert isinstance(distribution, tuple)  # noqa: S101
        centre, spread = distribution
        return (math.log(centre), math.log(spread)) if self._log else (centre, spread)

    def ratio(self, value: float, chosen: list[int]) -> Vector:
        """As `_Terms.ratio`."""
        x = math.log(max(value, 1e-9)) if self._log else value
        by_severity = self._density(x, self._centres[:, :, 0], self._centres[:, :, 1])
        each = np.log(np.exp(by_severity).mean(axis=1))
        usual = float(self._density(x, *map(np.array, self._usual)))
        before = np.full(len(each), usual)
        far = np.full(len(each), -1.0)
        named = sorted((d for d in chosen if self._named[d]), key=lambda d: -self._off[d])
        if named:
            before[:], far[:] = each[named[0]], self._off[named[0]]
            # Beside itself stands the next.
            own = named[0]
            before[own], far[own] = (each[named[1]], self._off[named[1]]) if len(named) > 1 else (usual, -1.0)
        ratio: Vector = np.where(self._mask & (self._far > far), each - before, 0.0)
        return ratio

    @staticmethod
    def _density(x: float, centre: Vector, spread: Vector) -> Vector:
        z = (x - centre) / spread
        density: Vector = -0.5 * np.minimum(z * z, _FARTHEST) - np.log(spread)
        return density
