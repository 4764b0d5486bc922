"""Whether what is printed as 95 % is that: intervals and p of data whose truth is known, drawn again and again.

    python -m bench statistics [--times N]

Shares over three seeds of forty cases whose answers are alike within a case, or not; means of bounded and of lopsided
scores; differences of two that do not differ; figures of which all are to hold at once; and how often a difference of
the size that is called detectable is found. An interval may miss oftener than it says by what chance does to so many
draws (three standard errors) and by `SLACK`, and a test may not find oftener what is not there.
"""

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyclinic.statistics.uncertainty import (
    Estimate,
    estimate,
    holm,
    paired_difference,
    share_difference,
    share_estimate,
)

TIMES = 1_000
SLACK = 0.03  # of 0.95, for what is discrete or lopsided
SEEDS, CASES = 3, 40
RESAMPLES = 1_000
POWER = 0.8

Draws = np.random.Generator
Values = NDArray[np.float64]


class Frequency(NamedTuple):
    """How often something was so, of how many times, and between which shares it is to be."""

    what: str
    share: float
    times: int
    least: float = 0.0
    most: float = 1.0

    @property
    def met(self) -> bool:
        """Whether it lies there, or no farther off than chance puts it."""
        bound = min(max(self.share, self.least), self.most)
        return abs(self.share - bound) <= 3 * math.sqrt(max(bound * (1 - bound), 1e-4) / self.times)

    def __str__(self) -> str:
        bar = f"at least {100 * self.least:.0f} %" if self.least else f"at most {100 * self.most:.0f} %"
        return f"{self.what}: {100 * self.share:.1f} %  bar {bar}: {'met' if self.met else 'MISSED'}"


def run(*options: str) -> None:
    told = argparse.ArgumentParser(prog="python -m bench statistics")
    told.add_argument("--times", type=int, default=TIMES)
    told.add_argument("--seed", type=int, default=0)
    given = told.parse_args(options)
    rng = np.random.default_rng(given.seed)
    for part in (shares, means, nothing_there, found):
        for one in part(rng, given.times):
            print(one, flush=True)


def shares(rng: Draws, times: int) -> Iterable[Frequency]:
    """Wilson's intervals of shares of several seeds over cases."""
    for share in (0.5, 0.8, 0.95):
        for alike in (0.0, 0.3, 0.6, 0.9):
            told = (
                f"share {100 * share:.0f} %, {SEEDS} seeds of {CASES} cases, correlation {alike:.1f}, interval holds it"
            )
            yield holding(told, lambda share=share, alike=alike: answers(rng, share, alike), 100 * share, times)


def answers(rng: Draws, share: float, alike: float) -> Estimate:
    """Returns the estimate of a share whose answers of a case correlate so much."""
    right = (rng.random((SEEDS, CASES)) < propensities(rng, share, alike)).ravel()
    return share_estimate((100.0 * right).tolist(), clusters=[*range(CASES)] * SEEDS)


def propensities(rng: Draws, share: float, alike: float) -> Values:
    """Returns how likely each case is answered rightly: by the beta distribution that has this correlation."""
    if not alike:
        return np.full(CASES, share)
    rest = (1 - alike) / alike
    return rng.beta(share * rest, (1 - share) * rest, CASES)


LIKERT = ((1.0, 2.0, 3.0, 4.0, 5.0), (0.02, 0.05, 0.13, 0.30, 0.50))
DRAWN: tuple[tuple[str, Callable[[Draws, int], Values], float], ...] = (
    ("F1 scores", lambda rng, n: 100 * rng.beta(4, 3, n), 400 / 7),
    ("lopsided scores", lambda rng, n: 100 * rng.beta(2, 5, n), 200 / 7),
    ("marks of 1 to 5", lambda rng, n: rng.choice(LIKERT[0], p=LIKERT[1], size=n), float(np.dot(*LIKERT))),
)


def means(rng: Draws, times: int) -> Iterable[Frequency]:
    """Bootstrap intervals of means, of few cases and of many."""
    for name, draw, mean in DRAWN:
        for n in (6, 12, 20, 40, 100):

            def drawn(draw=draw, n=n) -> Estimate:
                return estimate(draw(rng, n).tolist(), resamples=RESAMPLES, seed=int(rng.integers(2**31)))

            yield holding(f"mean of {n} {name}, interval holds it", drawn, mean, times)


def holding(what: str, draw: Callable[[], Estimate], truth: float, times: int) -> Frequency:
    held, had = 0, 0
    for _ in range(times):
        one = draw()
        if one.low is not None and one.high is not None:
            had += 1
            held += one.low - 1e-9 <= truth <= one.high + 1e-9
    return Frequency(what, held / had, had, least=0.95 - SLACK)


def nothing_there(rng: Draws, times: int) -> Iterable[Frequency]:
    """What two that do not differ are said to differ, with p of at most 0.05; with Holm's correction any of three."""
    clusters = [*range(CASES)] * SEEDS

    def share_p(alike: float) -> float:
        likely = propensities(rng, 0.7, alike)
        first, second = (rng.random((2, SEEDS, CASES)) < likely).reshape(2, -1).tolist()
        return share_difference(first, second, clusters=clusters).p or 1.0

    def plain_p() -> float:
        first, second = (rng.random((2, CASES)) < propensities(rng, 0.7, 0.5)).tolist()
        return share_difference(first, second).p or 1.0

    def score_p(n: int) -> float:
        cases = rng.normal(60, 15, n)
        first, second = (np.clip(cases + rng.normal(0, 12, (2, n)), 0, 100)).tolist()
        return paired_difference(first, second, resamples=1, seed=int(rng.integers(2**31))).p or 1.0

    def any_p() -> float:
        return min(one for one in holm([score_p(15) for _ in range(3)]) if one is not None)

    trials: Sequence[tuple[str, Callable[[], float]]] = (
        (f"shares of {CASES} cases (McNemar)", plain_p),
        (f"shares of {SEEDS} seeds of {CASES} cases, correlation 0.0", lambda: share_p(0.0)),
        (f"shares of {SEEDS} seeds of {CASES} cases, correlation 0.6", lambda: share_p(0.6)),
        ("scores of 8 cases", lambda: score_p(8)),
        ("scores of 15 cases", lambda: score_p(15)),
        ("scores of 40 cases", lambda: score_p(40)),
        ("any of three comparisons, after Holm's correction", any_p),
    )
    for told, p in trials:
        some = times // 4 if told.startswith("scores of 40") else times  # ways are drawn
        wrong = sum(p() <= 0.05 for _ in range(some))
        yield Frequency(f"{told}: a difference found where none is", wrong / some, some, most=0.05)


def found(rng: Draws, times: int) -> Iterable[Frequency]:
    """How often a difference is found that is as large as what cases so unlike are said to show four times in five."""
    for n in (6, 8, 12, 19, 40):
        some = times if n < 20 else times // 4
        # What is detectable goes by the spread that was seen, so its mean over draws is what is tried.
        said = [
            one.detectable
            for _ in range(min(200, times))
            if (one := paired_difference(rng.normal(0, 10, n).tolist(), [0.0] * n, resamples=1)).detectable is not None
        ]
        shift = float(np.mean(said))
        seen = sum(
            (paired_difference(rng.normal(shift, 10, n).tolist(), [0.0] * n, resamples=1).p or 1) <= 0.05
            for _ in range(some)
        )
        yield Frequency(f"{n} cases: the detectable difference found", seen / some, some, least=POWER - 0.15)
