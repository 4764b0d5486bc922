"""The ten metrics of AIE, and the choice alone, as scorers of Inspect. All in percent, but turns and length."""

# Inspect is an extra: without it, its classes and decorators are Any to the type checker.
# mypy: allow-subclassing-any, allow-untyped-decorators

from __future__ import annotations

import math

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from polyclinic.errors import BadInput
from polyclinic.evals.datasets import cases_of
from polyclinic.evals.solvers import TRACE, trace_of
from polyclinic.events import End, Failed, Trace
from polyclinic.language.words import rouge_1
from polyclinic.metrics import conversation as aie
from polyclinic.metrics.dialogue import Unscorable, from_trace, unusable_answer
from polyclinic.visits.visit import revisit

MCQE = "MCQE"


@scorer(metrics={name: [mean(), stderr()] for name in aie.METRICS})
def conversation(*, cases: str = "shipped", layout: str | None = None, seed: int = 0) -> Scorer:
    """Scores how the doctor led its visit: `metrics.conversation.METRICS`.

    A doctor whose answer cannot be used has a wrong diagnosis. A visit that failed otherwise, or that a limit ended,
    has no score: it is outside every mean and counted as unscored. So is a metric that cannot be computed.

    Args:
        cases: the file that the samples are of; COVERAGE and INQUIRY_LOGIC need all that is known of a patient.
        layout: of the file.
        seed: as the solver's.

    Raises:
        UserError: the file cannot be used, or what cuts its language into words is not installed.
    """
    known = cases_of(cases, layout=layout, seed=seed)
    for language in {case.presentation.language for case in known.values()}:
        # What is missing is told before the first question to a model, not after the last.
        rouge_1("words", "words", language)

    async def score(state: TaskState, target: Target) -> Score:
        del target
        try:
            trace = trace_of(state.store.get(TRACE))
            problem = unusable_answer(trace)
            if problem is not None:
                return _wrong(trace, problem, {name: 0.0 if name == "DIAGNOSIS" else math.nan for name in aie.METRICS})
            dialogue = from_trace(trace, known[str(state.sample_id)], chosen=_chosen(trace))
        except BadInput as unreadable:
            return unscored(str(unreadable))
        except Unscorable as unscorable:
            return unscored(str(unscorable), trace)
        scored = aie.score(dialogue)
        return Score(
            value={name: scored.values.get(name, math.nan) for name in aie.METRICS},
            answer=dialogue.chosen,
            explanation=_explained(dialogue.chosen, dialogue.options, dialogue.answers),
            metadata={
                "states": " ".join(turn.state for turn in dialogue.turns),
                "left out": [problem.problem for problem in scored.left_out],
            },
        )

    return score


@scorer(metrics={MCQE: [mean(), stderr()]})
def choice() -> Scorer:
    """Scores the doctor's choice alone. A visit that failed has no score."""

    async def score(state: TaskState, target: Target) -> Score:
        del target
        try:
            trace = trace_of(state.store.get(TRACE))
            visit = revisit(trace)
        except BadInput as problem:
            return unscored(str(problem))
        unusable = unusable_answer(trace)
        if unusable is not None:
            return _wrong(trace, unusable, {MCQE: 0.0})
        if visit.end is End.FAILED:
            return unscored("the visit failed", trace)
        return Score(
            value={MCQE: 100.0 * (visit.answer in visit.truth.answers)},
            answer=visit.answer,
            explanation=_explained(visit.answer, {}, visit.truth.answers),
        )

    return score


def _wrong(trace: Trace, problem: str, value: dict[str, float]) -> Score:
    """Returns the score of a doctor whose answer could not be used: wrong, with the name of the failure."""
    failure = trace.last(Failed)
    told = f"{problem}: {failure.problem}" if failure is not None else problem
    return Score(value=value, answer=None, explanation=told, metadata={"unusable": problem})


def _chosen(trace: Trace) -> str | None:
    try:
        return revisit(trace).answer
    except BadInput:
        return None


def unscored(problem: str, trace: Trace | None = None) -> Score:
    """Returns a score that no mean counts, with the name of the failure where there is one."""
    failure = trace.last(Failed) if trace is not None else None
    if failure is None:
        return Score.unscored(reason="scoring_failed", explanation=problem)
    told = f"the visit failed, by the {failure.who}: {failure.error}: {failure.problem}"
    return Score.unscored(reason=failure.error, explanation=told)


def _explained(chosen: str | None, options: dict[str, str], right: tuple[str, ...]) -> str:
    named = f"{chosen}. {options[chosen]}" if chosen in options else chosen or "none of the options"
    return f"The doctor chose {named}; right: {', '.join(right)}."
