"""How well a doctor led a consultation: AIE's ten automatic metrics (aie-saps §4.4.2), users' own, and paired doctors.

The definitions are those that give the published tables; where the paper's formulas say something else, they are the
second column. docs/metrics.md writes them out.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations
from numbers import Real
from typing import Any, NamedTuple

import msgspec

from polyclinic import plugins
from polyclinic.errors import PolyclinicError, UserError, in_short, meant
from polyclinic.events import ADVICE, EFFECTIVE, INQUIRY, State
from polyclinic.language.language import length
from polyclinic.language.words import distinct_2, likeness, rouge_1
from polyclinic.metrics.dialogue import Dialogue, LeftOut
from polyclinic.statistics.comparison import Compared, compare_values, of_means
from polyclinic.statistics.uncertainty import (
    Difference,
    Estimate,
    estimate,
    mcnemar,
    paired_difference,
    ratio,
    share_estimate,
    standard_error,
)

Turns = tuple[tuple[State, ...], tuple[State, ...]]
"""The states of turns that count, and of all turns of their kind."""


class Metric(NamedTuple):
    """What the values of a metric are."""

    percent: bool = True
    share: bool = False  # each value is 100 or 0, so that the mean is a share of the dialogues
    turns: Turns | None = None  # of a share of turns, which
    studied: bool = False  # among the 28 indicators that the paper correlates with people's


METRICS = {
    "DIAGNOSIS": Metric(share=True, studied=True),
    "COVERAGE": Metric(studied=True),
    "INQUIRY_ACC": Metric(turns=(INQUIRY[:1], INQUIRY), studied=True),
    "INQUIRY_SPECIFIC": Metric(turns=(INQUIRY[:2], INQUIRY), studied=True),
    "INQUIRY_LOGIC": Metric(studied=True),
    "ADVICE_ACC": Metric(turns=(ADVICE[:1], ADVICE), studied=True),
    "ADVICE_SPECIFIC": Metric(turns=(ADVICE[:2], ADVICE), studied=True),
    "DISTINCT": Metric(studied=True),
    "AVG_TURN": Metric(percent=False),
    "AVG_LEN": Metric(percent=False),
}
"""The ten, in the order of the published tables."""

MCQE = "MCQE"  # right answers, in percent, of a doctor who reads everything, without a dialogue


def kind_of(name: str) -> Metric:
    """Returns what the values of a metric are: one of the ten, MCQE, or the user's own."""
    return Metric(share=True) if name == MCQE else METRICS.get(name, Metric())


_TURNS = {name: metric.turns for name, metric in METRICS.items() if metric.turns is not None}
SECOND = ("COVERAGE_WITHOUT_O", *(f"{name}_POOLED" for name in _TURNS))
"""As formulas 14, 16, 17, 19 and 20 have it: COVERAGE without the opening, and shares of all turns of all cases."""


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """One dialogue's values."""

    id: str | int
    values: dict[str, float]  # by metric; a metric that cannot be computed is missing
    counts: dict[str, tuple[int, int]]  # for each share, how many turns count and of how many
    lengths: tuple[int, ...]  # of the doctor's turns, in characters or words
    left_out: tuple[LeftOut, ...] = ()
    unreadable: bool = False  # the diagnosis is not among the options; it counts as wrong


class ConversationSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A doctor's scores over many dialogues."""

    metrics: dict[str, Estimate]
    second: dict[str, Estimate]  # the metrics as the paper's formulas have them
    scores: tuple[Score, ...]
    left_out: tuple[LeftOut, ...]
    unreadable: int  # dialogues whose diagnosis could not be read; counted as wrong
    failed: int  # visits that failed; outside every mean


def score(dialogue: Dialogue) -> Score:
    """Scores one dialogue."""
    id, turns, known, language = dialogue.id, dialogue.turns, dialogue.information, dialogue.language
    values: dict[str, float] = {}
    left_out, counts, unreadable = [], {}, False
    states = [turn.state for turn in turns]
    if not dialogue.options:
        left_out.append(LeftOut(id, "the case has no options to choose a diagnosis from", ("DIAGNOSIS",)))
    elif not set(dialogue.answers) & dialogue.options.keys():
        given = ", ".join(dialogue.answers) or "none"
        left_out.append(LeftOut(id, f"the right answer ({given}) is not among the options", ("DIAGNOSIS",)))
    else:
        unreadable = dialogue.chosen not in dialogue.options
        values["DIAGNOSIS"] = 100.0 * (dialogue.chosen in dialogue.answers)
    if known is None:
        problem = "all that is known of the patient is not at hand (a trace needs its cases)"
        left_out.append(LeftOut(id, problem, ("COVERAGE", "INQUIRY_LOGIC")))
    else:
        collected = _collected(dialogue, State.OPENING)
        values["COVERAGE"] = 100 * rouge_1(collected, known, language).recall
        values["INQUIRY_LOGIC"] = 100 * likeness(collected, known, language)
        values["COVERAGE_WITHOUT_O"] = 100 * rouge_1(_collected(dialogue), known, language).recall
    for name, (good, all_of_kind) in _TURNS.items():
        counts[name] = sum(s in good for s in states), sum(s in all_of_kind for s in states)
        values[name] = 100 * counts[name][0] / counts[name][1] if counts[name][1] else 0.0
    # A turn's two texts are joined without a blank, as the published values have it.
    values["DISTINCT"] = 100 * distinct_2([turn.doctor + turn.patient for turn in turns], language)
    values["AVG_TURN"] = float(len(turns))
    opened_by_patient = not turns[0].doctor and turns[0].state is State.OPENING
    lengths = tuple(length(turn.doctor) for turn in turns[opened_by_patient:])
    values["AVG_LEN"] = sum(lengths) / len(lengths) if lengths else 0.0
    return Score(
        id=id,
        values={name: values[name] for name in (*METRICS, *SECOND) if name in values},
        counts=counts,
        lengths=lengths,
        left_out=tuple(left_out),
        unreadable=unreadable,
    )


def unusable(id: str | int, problem: str, names: Iterable[str] = METRICS) -> Score:
    """Returns the score of a doctor whose answer could not be used: a wrong diagnosis, so that no model gains by it."""
    others = tuple(name for name in names if name != "DIAGNOSIS")
    return Score(
        id=id,
        values={"DIAGNOSIS": 0.0},
        counts=dict.fromkeys(_TURNS, (0, 0)),
        lengths=(),
        left_out=(LeftOut(id, problem, others),),
        unreadable=True,
    )


def covered(dialogue: Dialogue) -> float | None:
    """Returns COVERAGE alone; None where all that is known of the patient is not at hand."""
    if dialogue.information is None:
        return None
    return 100 * rouge_1(_collected(dialogue, State.OPENING), dialogue.information, dialogue.language).recall


def _collected(dialogue: Dialogue, *also: State) -> str:
    return "".join(turn.patient for turn in dialogue.turns if turn.state in (*EFFECTIVE, *also))


def summarise(
    scores: Sequence[Score], *, names: Collection[str] = METRICS, left_out: Sequence[LeftOut] = (), seed: int = 0
) -> ConversationSummary:
    """Returns the means over dialogues with their errors and intervals.

    Dialogues of one id are repetitions of one case: errors and intervals are then over cases. AVG_LEN is the mean
    over all turns of all dialogues, and its standard error over turns, as published; its interval is over cases.
    `left_out` has the records that could not be scored at all.
    """

    def mean(name: str) -> Estimate:
        having = [score for score in scores if name in score.values]
        ids, values = [score.id for score in having], [score.values[name] for score in having]
        if kind_of(name).share:
            return share_estimate(values, clusters=ids)
        return estimate(values, clusters=ids, seed=seed)

    def pooled(parts: list[float], wholes: list[int]) -> Estimate:
        return ratio(parts, wholes, clusters=[score.id for score in scores], seed=seed)

    metrics = {name: mean(name) for name in names}
    if "AVG_LEN" in metrics:
        lengths = [length for score in scores for length in score.lengths]
        pooled_length = pooled([sum(score.lengths) for score in scores], [len(score.lengths) for score in scores])
        # Where all are equal there is none: that is no sign of being sure.
        error = standard_error(lengths) or None
        metrics["AVG_LEN"] = msgspec.structs.replace(pooled_length, stderr=error, n=len(lengths))
    second = {SECOND[0]: mean(SECOND[0])} if "COVERAGE" in metrics else {}
    for name, pooled_name in zip(_TURNS, SECOND[1:], strict=True):
        if name in metrics:
            shares = [score.counts[name] for score in scores]
            second[pooled_name] = pooled([100 * part for part, _ in shares], [whole for _, whole in shares])
    problems = (problem for score in scores for problem in score.left_out if set(problem.metrics) & set(names))
    return ConversationSummary(
        metrics=metrics,
        second=second,
        scores=tuple(scores),
        left_out=(*left_out, *problems),
        unreadable=sum(score.unreadable for score in scores),
        failed=sum(problem.failed for problem in left_out),
    )


class MetricDifference(Compared, frozen=True, kw_only=True, rename={"measure": "metric"}):
    """One metric of two doctors on the cases that both have seen; of AVG_LEN, the means of the cases are compared."""

    measure: str


def compare(summaries: dict[str, ConversationSummary], *, seed: int = 0) -> tuple[MetricDifference, ...]:
    """Compares every two doctors, by name, on every metric: DIAGNOSIS by McNemar's exact test, others by sign flips.

    Repetitions of a case are averaged before they are compared. Nothing comes of two who share no case.
    """

    def shares(first: Sequence[float], second: Sequence[float]) -> Difference:
        difference = paired_difference(first, second, seed=seed)
        if not first or not {*first, *second} <= {0.0, 100.0}:
            return difference
        p = mcnemar(*([value > 0 for value in some] for some in (first, second)))
        return msgspec.structs.replace(difference, p=p)

    names = next(iter(summaries.values())).metrics if summaries else ()
    values = {doctor: by_case(one) for doctor, one in summaries.items()}
    pairs = combinations(summaries, 2)
    compared = compare_values(
        MetricDifference, values, list(names), pairs, lambda name: shares if kind_of(name).share else of_means(seed)
    )
    return tuple(one for one in compared if one.difference.n)


def by_case(summary: ConversationSummary) -> dict[str | int, dict[str, float]]:
    """Returns the metrics of each case, their means where there are several visits to one."""
    values: dict[str | int, dict[str, list[float]]] = {}
    for score in summary.scores:
        for metric, value in score.values.items():
            values.setdefault(score.id, {}).setdefault(metric, []).append(value)
    return {id: {name: sum(some) / len(some) for name, some in of.items()} for id, of in values.items()}


class BrokenMetric(PolyclinicError):
    """A metric of the user's measured nothing, for it made a mistake wherever it was to."""


class Wanted(NamedTuple):
    """The names of all metrics that are wanted, in the order of the tables, and the user's own by name."""

    names: tuple[str, ...] = tuple(METRICS)
    own: Mapping[str, Callable[[Dialogue], Any]] = {}


TEN = Wanted()


def choose_metrics(names: Iterable[str]) -> Wanted:
    """Returns the metrics of these names, built-in ones or plugins of the group `metrics`; by default all ten."""
    names = list(dict.fromkeys(names))
    own = {name: _found(name) for name in names if name not in METRICS}
    builtin = tuple(name for name in METRICS if name in names) or tuple(METRICS)
    return Wanted((*builtin, *own), own)


def _found(name: str) -> Callable[[Dialogue], Any]:
    metric = plugins.find(name, "metrics")
    if metric is None:
        known = (*METRICS, *plugins.offered("metrics"))
        raise UserError(
            f"no metric {name!r}{meant(name, known)}; there are {', '.join(known)}, or path/to/file.py:function"
        )
    try:
        if isinstance(metric, type):
            raise TypeError(f"{metric} is a class")
        inspect.signature(metric).bind(None)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise UserError(
            f"the metric {name!r} cannot be called with a dialogue ({in_short(error)}); a metric is a function of one "
            "polyclinic.metrics.dialogue.Dialogue, and all other parameters have defaults"
        ) from None
    return metric  # type: ignore[return-value]


async def measure(dialogue: Dialogue, wanted: Wanted = TEN) -> Score:
    """Scores one dialogue by the ten metrics, and by the user's own."""
    scored = score(dialogue)
    values, left_out = dict(scored.values), list(scored.left_out)
    for name, metric in wanted.own.items():
        try:
            value = metric(dialogue)
            value = await value if inspect.isawaitable(value) else value
            finite = isinstance(value, Real) and math.isfinite(value)
        except Exception as error:
            problem = in_short(error)
        else:
            if finite:
                values[name] = float(value)
            if finite or value is None:
                continue
            problem = f"the metric returned {value!r:.60}"
            if not isinstance(value, Real):
                problem += "; it returns a number, or None where there is nothing to measure"
        left_out.append(LeftOut(dialogue.id, problem, (name,)))
    return msgspec.structs.replace(scored, values=values, left_out=tuple(left_out))


def check_measured(wanted: Wanted, scored: Iterable[Sequence[Score]]) -> None:
    """Tells of a metric of the user's that made a mistake on every dialogue of everybody."""
    scores = [score for scores in scored for score in scores]
    for name in wanted.own:
        mistakes = [one for score in scores for one in score.left_out if one.metrics == (name,)]
        if mistakes and len(mistakes) == len(scores):
            first = f"the first, {mistakes[0].id}: {mistakes[0].problem}"
            raise BrokenMetric(f"the metric {name} measured none of {len(scores)} dialogues; {first}")
