"""How likely a result is under every hypothesis of the Bayesian reader: tables of log-likelihoods, an item each."""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from polyclinic.cases.record import Finding
from polyclinic.knowledge.entries import Distribution, Item

Vector = npt.NDArray[np.float64]

LEAST = 0.002
"""No single observation rules a disease out: texts and tests err in ways that no table holds."""


@functools.cache
def _steps(samples: int) -> Vector:
    """Returns evenly spread values of the standard normal distribution."""
    from statistics import NormalDist  # noqa: PLC0415

    return np.array([NormalDist().inv_cdf((k + 0.5) / samples) for k in range(samples)])


class NumberLikelihoods:
    """Log-likelihood of a number under every hypothesis; "something else" has the mean of all."""

    def __init__(self, item: Item, distributions: list[Distribution]) -> None:
        parameters = np.array([*distributions, item.usual], dtype=float)
        self._unit = item.unit
        self._lognormal = item.lognormal
        self._centre = np.log(parameters[:, 0]) if item.lognormal else parameters[:, 0]
        self._spread = np.log(parameters[:, 1]) if item.lognormal else parameters[:, 1]
        self._log_spread = np.log(self._spread)

    def observed(self, finding: Finding) -> float | None:
        """Returns the number of a result, or None where it is none in the item's unit."""
        try:
            value = float(finding.value)
        except ValueError:
            return None
        return value if finding.unit == self._unit else None

    def read(self, finding: Finding) -> Vector | None:
        """Returns the log-likelihoods of a result, or None where it is no number in the item's unit."""
        value = self.observed(finding)
        return None if value is None else self._density(np.array(self._scaled(value)))

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

    def quantiles(self, samples: int, under: npt.NDArray[np.intp]) -> Vector:
        """Returns the log-likelihoods (hypothesis, sample, hypothesis) of evenly spread results of some hypotheses."""
        # Every item goes through its quantiles in an order of its own, so that the items of an examination vary freely.
        order = np.random.default_rng(len(self._centre) + int(abs(self._centre).sum() * 997)).permutation(samples)
        drawn = self._centre[under, None] + self._spread[under, None] * _steps(samples)[order]
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

    def observed(self, finding: Finding) -> str | None:
        """Returns the id of a result's text, or None where it is in other words than the knowledge's."""
        value = self._value.get(str(finding.value).strip().casefold())
        return None if value is None else self._ids[value]

    def read(self, finding: Finding) -> Vector:
        """Returns the log-likelihoods of a result; other words than the knowledge's speak for "something else"."""
        known = self.observed(finding)
        likelihood: Vector = self._unread if known is None else self._log[:, self._ids.index(known)]
        return likelihood

    def quantiles(self, samples: int, under: npt.NDArray[np.intp]) -> Vector:
        """As `NumberLikelihoods.quantiles`: each text as often as its share says."""
        order = np.random.default_rng(int(self._shares.sum() * 997)).permutation(samples)
        levels = (order + 0.5) / samples
        shares = self._shares[under]
        cumulative = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
        drawn = np.minimum((levels[None, :, None] > cumulative[:, None, :]).sum(axis=2), self._shares.shape[1] - 1)
        likelihoods: Vector = self._log.T[drawn]
        return likelihoods
