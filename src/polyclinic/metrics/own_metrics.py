"""Which metrics of a consultation are wanted: all ten, some of them, and functions of the user's beside them.

A user's metric is a function of a `Dialogue`, also an async one, that returns a number, or None where there is nothing
to measure. What it raises leaves that dialogue out of that metric, and is counted.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import msgspec

from polyclinic import doors
from polyclinic.errors import PolyclinicError, UserError, meant
from polyclinic.metrics.conversation import METRICS, Score, score
from polyclinic.metrics.dialogue import Dialogue, LeftOut

_FITS = "a metric is a function of one polyclinic.metrics.dialogue.Dialogue"


class BrokenMetric(PolyclinicError):
    """A metric of the user's measured nothing, for it made a mistake wherever it was to."""


class Wanted(NamedTuple):
    """The names of all metrics that are wanted, in the order of the tables, and the user's own by name."""

    names: tuple[str, ...] = METRICS
    own: Mapping[str, Callable[[Dialogue], Any]] = {}


TEN = Wanted()


def choose_metrics(names: Iterable[str]) -> Wanted:
    """Returns the metrics of these names, built-in ones or doors of the group `metrics`; by default all ten.

    Raises:
        UserError: there is no metric of a name, or what stands there cannot be one.
    """
    names = list(dict.fromkeys(names))
    own = {name: _found(name) for name in names if name not in METRICS}
    builtin = tuple(name for name in METRICS if name in names) or METRICS
    return Wanted((*builtin, *own), own)


def _found(name: str) -> Callable[[Dialogue], Any]:
    metric = doors.find(name, "metrics")
    if metric is None:
        offered = "".join(f", {one}" for one in doors.offered("metrics"))
        near = meant(name, (*METRICS, *doors.offered("metrics")))
        raise UserError(
            f"no metric {name!r}{near}; there are {', '.join(METRICS)}{offered}, or path/to/file.py:function"
        )
    if not callable(metric) or isinstance(metric, type):
        raise UserError(f"the metric {name!r} is no function but {type(metric).__name__}; {_FITS}")
    try:
        inspect.signature(metric).bind(None)
    except (TypeError, ValueError):
        takes = ", ".join(doors.parameters(metric)) or "nothing"
        raise UserError(
            f"the metric {name!r} takes {takes}; {_FITS}, and whatever else it takes has a default"
        ) from None
    return metric


async def measure(dialogue: Dialogue, wanted: Wanted = TEN) -> Score:
    """Scores one dialogue by the ten metrics, and by the user's own.

    Raises:
        MissingExtra: as `score`.
    """
    scored = score(dialogue)
    values, left_out = dict(scored.values), list(scored.left_out)
    for name, metric in wanted.own.items():
        try:
            value = metric(dialogue)
            value = await value if inspect.isawaitable(value) else value
            finite = isinstance(value, Real) and math.isfinite(value)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}".removesuffix(": ")
            left_out.append(LeftOut(dialogue.id, " ".join(problem.split()), (name,)))
            continue
        if value is None:
            continue
        if not isinstance(value, Real):
            told = f"the metric returned {value!r:.60}; it returns a number, or None where there is nothing to measure"
            left_out.append(LeftOut(dialogue.id, told, (name,)))
        elif finite:
            values[name] = float(value)
        else:
            left_out.append(LeftOut(dialogue.id, f"the metric returned {value}", (name,)))
    return msgspec.structs.replace(scored, values=values, left_out=tuple(left_out))


def check_measured(wanted: Wanted, scored: Iterable[Sequence[Score]]) -> None:
    """Tells of a metric of the user's that made a mistake on every dialogue of everybody.

    Raises:
        BrokenMetric: there is one.
    """
    scores = [score for scores in scored for score in scores]
    for name in wanted.own:
        mistakes = [one for score in scores for one in score.left_out if one.metrics == (name,)]
        if mistakes and len(mistakes) == len(scores):
            first = f"the first, {mistakes[0].id}: {mistakes[0].problem}"
            raise BrokenMetric(f"the metric {name} measured none of {len(scores)} dialogues; {first}")
