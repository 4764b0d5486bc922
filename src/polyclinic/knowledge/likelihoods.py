"""How likely a result is under every hypothesis of the Bayesian reader: tables of log-likelihoods, an item each."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from polyclinic.cases.record import Finding
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.entries import Distribution, Item
from polyclinic.knowledge.results import ItemReading

Vector = npt.NDArray[np.float64]

LEAST = 0.002
"""No single observation rules a disease out: texts and tests err in ways that no table holds."""


class NumberLikelihoods:
    """Log-likelihood of a number under every hypothesis; "something else" has the mean of all."""

    def __init__(self, item: Item, distributions: list[Distribution]) -> None:
        parameters = np.array([*distributions, item.usual], dtype=float)
        self._unit = item.unit
        self._lognormal = item.lognormal
        self._centre = np.log(parameters[:, 0]) if item.lognormal else parameters[:, 0]
        self._spread = np.log(parameters[:, 1]) if item.lognormal else parameters[:, 1]
        self._log_spread = np.log(self._spread)

    def read_exactly(self, finding: Finding) -> Vector | None:
        """As `read`."""
        return self.read(finding)

    def read_as(self, reading: ItemReading) -> Vector:
        """Returns the log-likelihoods of a number, or of lying within an interval; see `_generous`."""
        low, high = (self._scaled(end) for end in (reading.low, reading.high))
        if low == high:
            return _generous(self._logs(np.array(low)))
        share = _normal_share((high - self._centre) / self._spread) - _normal_share((low - self._centre) / self._spread)
        return _generous(np.log(np.maximum(share, LEAST)))

    def read(self, finding: Finding) -> Vector | None:
        """Returns the log-likelihoods of a result, or None where it is no number in the item's unit."""
        try:
            value = float(finding.value)
        except ValueError:
            return None
        if finding.unit != self._unit:
            return None
        return self._density(np.array(self._scaled(value)))

    def _scaled(self, value: float) -> float:
        return math.log(max(value, 1e-9)) if self._lognormal else value

    def _density(self, x: Vector) -> Vector:
        """Returns the log-densities (..., hypothesis), floored far out, where tails mean nothing."""
        log = self._logs(x)
        log[..., -1] = np.log(np.mean(np.exp(log), axis=-1))
        return log

    def _logs(self, x: Vector) -> Vector:
        """Returns the log-densities (..., hypothesis), the last that of people without this trouble."""
        log: Vector = x[..., None] - self._centre
        # In place: of many results the tables are large.
        log /= self._spread
        log *= log
        np.minimum(log, 18.0, out=log)
        log *= -0.5
        log -= self._log_spread
        return log

    def quantiles(self, samples: int) -> Vector:
        """Returns the log-likelihoods (hypothesis, sample, hypothesis) of evenly spread results of each hypothesis."""
        from statistics import NormalDist  # noqa: PLC0415

        # Every item goes through its quantiles in an order of its own, so that the items of an examination vary freely.
        steps = np.array([NormalDist().inv_cdf((k + 0.5) / samples) for k in range(samples)])
        order = np.random.default_rng(len(self._centre) + int(abs(self._centre).sum() * 997)).permutation(samples)
        drawn = self._centre[:-1, None] + self._spread[:-1, None] * steps[order]
        return self._density(drawn)


class WordingLikelihoods:
    """Log-likelihood of one of an item's texts under every hypothesis."""

    def __init__(self, item: Item, distributions: list[Distribution]) -> None:
        values = list(item.values)
        self._ids = tuple(values)
        shares = np.array(
            [[d.get(v, 0.0) for v in values] for d in (*distributions, item.usual) if isinstance(d, dict)]
        )
        self._usual = shares[-1].copy()
        shares[-1] = shares.mean(axis=0)
        self._shares = np.maximum(shares, LEAST)
        self._log = np.log(self._shares)
        self._value = {w.casefold(): k for k, v in enumerate(values) for w in (item.values[v].en, item.values[v].zh)}
        self._unread = np.log(np.append(np.full(len(distributions), 0.05), 0.3))

    def read_exactly(self, finding: Finding) -> Vector | None:
        """Returns the log-likelihoods of a result, or None where it is in other words than the knowledge's."""
        value = self._value.get(str(finding.value).strip().casefold())
        return None if value is None else self._of(value)

    def _of(self, value: int) -> Vector:
        likelihood: Vector = self._log[:, value]
        return likelihood

    def read_as(self, reading: ItemReading) -> Vector:
        """Returns the log-likelihoods of having one of several texts; see `_generous`."""
        among = [number for number, id in enumerate(self._ids) if id in reading.values]
        share = np.append(self._shares[:-1, among].sum(axis=1), self._usual[among].sum())
        return _generous(np.log(np.clip(share, LEAST, 1.0)))

    def read(self, finding: Finding) -> Vector:
        """Returns the log-likelihoods of a result; other words than the knowledge's speak for "something else"."""
        known = self.read_exactly(finding)
        return self._unread if known is None else known

    def quantiles(self, samples: int) -> Vector:
        """As `NumberLikelihoods.quantiles`: each text as often as its share says."""
        order = np.random.default_rng(int(self._shares.sum() * 997)).permutation(samples)
        levels = (order + 0.5) / samples
        cumulative = np.cumsum(self._shares[:-1] / self._shares[:-1].sum(axis=1, keepdims=True), axis=1)
        drawn = np.minimum((levels[None, :, None] > cumulative[:, None, :]).sum(axis=2), self._shares.shape[1] - 1)
        likelihoods: Vector = self._log.T[drawn]
        return likelihoods


def _normal_share(z: Vector) -> Vector:
    """Returns which share of a normal distribution lies below z standard deviations from its centre."""
    return np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in z])


def _generous(log: Vector) -> Vector:
    """Returns log-likelihoods whose last, that of people without this trouble, is made that of "something else".

    Records of others are full of results that are as usual, and something else leaves most of them so; it is taken to
    be as people without this trouble, or as the mean of all diseases but the one that fits best, whichever is likelier:
    much that is normal does not speak against it, and what only one disease has does.
    """
    by_disease = np.sort(np.exp(log[:-1]).reshape(-1, len(SEVERITIES)).mean(axis=1))
    if len(by_disease) > 1:
        log[-1] = max(log[-1], math.log(by_disease[:-1].mean()))
    return log
