"""Who wins against whom: win rates, Bradley-Terry strengths.

Source: aie-saps §2.4 and §4.4.3 (win rates without ties); Bradley and Terry, Biometrika 39 (1952).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyclinic.statistics.uncertainty import RESAMPLES, Numbers, ends, resampled, share

_STEPS = 100
_LONGEST_STEP = 2.0
_CLOSE = 1e-9


class Comparison(msgspec.Struct, frozen=True):
    """One judgement of two players."""

    first: str
    second: str
    winner: str | None  # one of the two; None is a tie
    case: str = ""  # what they were compared on; comparisons of one case are resampled together


class WinRate(msgspec.Struct, frozen=True, kw_only=True):
    """How often a player wins, in percent of the comparisons that were no ties, with Wilson's 95 % interval.

    Without such a comparison percent, low and high are None.
    """

    percent: float | None
    low: float | None
    high: float | None
    wins: int
    losses: int
    ties: int


class Strength(msgspec.Struct, frozen=True, kw_only=True):
    """A player's Bradley-Terry strength from n comparisons, with its 95 % bootstrap interval.

    It is a natural logarithm, 0 on average; two players' difference d gives odds of exp(d) to win.
    """

    strength: float
    low: float
    high: float
    n: int


class Standings(msgspec.Struct, frozen=True, kw_only=True):
    """The win rates and strengths of players over n comparisons."""

    n: int
    ties: int
    win_rates: dict[str, WinRate]
    strengths: dict[str, Strength]


def standings(comparisons: Sequence[Comparison], *, seed: int = 0) -> Standings:
    """Returns win rates without ties and Bradley-Terry strengths."""
    return Standings(
        n=len(comparisons),
        ties=sum(one.winner is None for one in comparisons),
        win_rates=win_rates(comparisons),
        strengths=strengths(comparisons, seed=seed),
    )


def win_rates(comparisons: Sequence[Comparison]) -> dict[str, WinRate]:
    """Returns each player's win rate without ties, in the order in which the players come up."""
    rates = {}
    for player in _players(comparisons):
        mine = [c for c in comparisons if player in (c.first, c.second)]
        wins, ties = sum(c.winner == player for c in mine), sum(c.winner is None for c in mine)
        decided = len(mine) - ties
        percent, low, high = share(wins, decided)
        rates[player] = WinRate(percent=percent, low=low, high=high, wins=wins, losses=decided - wins, ties=ties)
    return rates


def _players(comparisons: Sequence[Comparison]) -> list[str]:
    return list(dict.fromkeys(name for c in comparisons for name in (c.first, c.second)))


def strengths(
    comparisons: Sequence[Comparison], *, prior: float = 0.5, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Strength]:
    """Fits Bradley-Terry strengths, with intervals by resampling the cases.

    A tie is half a win for each. Each player also wins and loses `prior` times against a player of strength 0, so
    that one who never lost stays finite; its pull fades as comparisons come. A comparison without a case stands for
    itself.
    """
    players = _players(comparisons)
    if not players:
        return {}
    place = {player: number for number, player in enumerate(players)}
    cases: dict[object, int] = {}
    rows = [cases.setdefault(c.case or number, len(cases)) for number, c in enumerate(comparisons)]
    wins = np.zeros((len(cases), len(players), len(players)))
    for row, c in zip(rows, comparisons, strict=True):
        a, b = place[c.first], place[c.second]
        share = 0.5 if c.winner is None else float(c.winner == c.first)
        wins[row, a, b] += share
        wins[row, b, a] += 1 - share
    fitted = _fit(wins.sum(axis=0)[None], prior)[0]
    flat = wins.reshape(len(cases), -1)
    drawn_strengths = [
        _fit((_counts(drawn) @ flat).reshape(-1, len(players), len(players)), prior)
        for drawn in resampled(len(cases), resamples, seed)
    ]
    reached = np.percentile(np.concatenate(drawn_strengths), ends(max(len(cases), 2)), axis=0)
    return {
        player: Strength(
            strength=float(fitted[i]),
            low=float(min(reached[0, i], fitted[i])),
            high=float(max(reached[1, i], fitted[i])),
            n=sum(player in (c.first, c.second) for c in comparisons),
        )
        for player, i in place.items()
    }


def _counts(drawn: NDArray[np.intp]) -> Numbers:
    """Returns how often each thing stands in each row of resampled indices."""
    rows, width = drawn.shape
    offsets = np.arange(rows, dtype=np.intp)[:, None] * width
    return np.bincount((drawn + offsets).ravel(), minlength=rows * width).reshape(rows, width).astype(np.float64)


def _fit(wins: Numbers, prior: float) -> Numbers:
    """Maximises the likelihood with the prior by Newton's method, for a stack of win matrices at once."""
    games = wins + wins.transpose(0, 2, 1)
    strength = np.zeros(wins.shape[:2])
    diagonal = np.arange(wins.shape[1])
    won = wins.sum(axis=2) + prior
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(strength[:, None, :] - strength[:, :, None]))
        against = 1 / (1 + np.exp(-strength))
        slope = won - (games * likely).sum(axis=2) - 2 * prior * against
        bend = -games * likely * (1 - likely)
        curvature = bend.copy()
        curvature[:, diagonal, diagonal] = 2 * prior * against * (1 - against) - bend.sum(axis=2)
        step = _solve(curvature, slope)
        strength += np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        if np.abs(step).max() < _CLOSE:
            break
    centred: Numbers = strength - strength.mean(axis=1, keepdims=True)
    return centred


def _solve(matrices: Numbers, right: Numbers) -> Numbers:
    """Solves a stack of linear equations by elimination: the last digits of LAPACK depend on the machine."""
    left, found = matrices.copy(), right.copy()
    size = left.shape[1]
    for row in range(size):
        share = left[:, row + 1 :, row] / left[:, row, row, None]
        left[:, row + 1 :] -= share[..., None] * left[:, row, None]
        found[:, row + 1 :] -= share * found[:, row, None]
    for row in reversed(range(size)):
        known = (left[:, row, row + 1 :] * found[:, row + 1 :]).sum(axis=1)
        found[:, row] = (found[:, row] - known) / left[:, row, row]
    return found
