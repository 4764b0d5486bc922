"""The director who grades an intern's report, by rules or with a model in the role `grader`; a scorer of Inspect."""

# Inspect is an extra: without it, its classes and decorators are Any to the type checker.
# mypy: allow-subclassing-any, allow-untyped-decorators

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from inspect_ai.model import get_model, model_roles
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from polyclinic.benchmarks.mvme.rows import answers_in, examinations_in, linked_by
from polyclinic.cases.case import Case
from polyclinic.errors import BadInput, EndpointError, UserError
from polyclinic.evals.interns import patients_of
from polyclinic.evals.scorers import unscored
from polyclinic.evals.solvers import TRACE, Tested, trace_of
from polyclinic.events import Failed
from polyclinic.judges.director import Judge, ModelJudge, without_report
from polyclinic.judges.director_by_rules import RulesJudge
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.language.language import Language
from polyclinic.metrics.dialogue import unusable_answer
from polyclinic.metrics.grades import Judgement, aspects_of
from polyclinic.metrics.icd.linking import Linker, linkers_for
from polyclinic.visits.visit import Visit, revisit

RULES = "rules"
"""The director by rules, which needs no model."""

GRADER = "grader"
"""The role of the director among Inspect's models."""

_ICD = ("precision", "recall", "f1")


@solver
def grader_is_there() -> Solver:
    """Checks, before the first question to the intern, that the role `grader` is given.

    Without it Inspect would let the intern grade itself.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        _check_grader()
        return state

    return solve


def _check_grader() -> None:
    if GRADER not in model_roles():
        raise UserError(f"judge={GRADER} is the model in that role; give --model-role {GRADER}=MODEL")


class _Director(NamedTuple):
    """Who grades, and its model where nobody else uses it."""

    judge: Judge
    own: Tested | None


@scorer(metrics={"*": [mean(), stderr()]})
def director(
    *,
    cases: str = "shipped",
    layout: str | None = None,
    one_step: bool = False,
    judge: str = RULES,
    judge_base_url: str | None = None,
    table: str | None = None,
) -> Scorer:
    """Scores the intern's report: five aspects from 1 to 4, its ICD-10 codes in percent, questions and tests.

    An intern whose answer cannot be used has handed in no report: 1 in every aspect, no code right. An aspect without a
    grade is outside the mean of that aspect, and a visit that failed otherwise outside all. A judge whose endpoint
    gives no answer is an error of the sample.

    Args:
        cases: the file that the samples are of.
        layout: of the file.
        one_step: the intern read the whole record; symptoms and examinations are not graded, and nothing is counted.
        judge: `rules`; `grader`, the model in that role; or a model of Inspect's, which then has that role.
        judge_base_url: the address of the judge's model.
        table: of ICD-10 for Chinese cases; without it they have no codes.

    Raises:
        UserError: the file, the table or the judge cannot be used, or a part is not installed.
    """
    known, knowledge = patients_of(cases, layout), read_knowledge()
    linkers = linkers_for(
        {case.presentation.language for case in known.values()}, None if table is None else Path(table)
    )
    if judge not in (RULES, GRADER):
        if judge.partition("/")[0] == "local" or "/" not in judge:
            raise UserError(f"judge={judge}; allowed: {RULES}, {GRADER}, or a model that Inspect can open: direct/NAME")
        # What cannot be opened is told before the first visit, not after the last.
        _director(judge, judge_base_url, knowledge)
    directors: dict[int, _Director] = {}

    async def grade(case: Case, visit: Visit) -> Judgement:
        """Returns what the director says of a report, asking the model that is the director of this evaluation."""
        key = id(model_roles().get(GRADER))
        if key not in directors:
            directors[key] = _director(judge, judge_base_url, knowledge)
        graded, own = directors[key]
        if visit.report is None:
            failure = visit.trace.last(Failed)
            return without_report(case, graded, failure.error if failure else "unknown", one_step=one_step)
        async with own or nullcontext():
            judgement = await graded.grade(case, visit.report, one_step=one_step)
        if judgement.failed:
            raise EndpointError(f"the judge {judgement.judge}: {judgement.failed}")
        return judgement

    async def score(state: TaskState, target: Target) -> Score:
        del target
        case = known[str(state.sample_id)]
        try:
            trace = trace_of(state.store.get(TRACE))
            visit = revisit(trace)
        except BadInput as problem:
            return unscored(str(problem))
        if visit.report is None and unusable_answer(trace) is None:
            return unscored("the visit failed", trace)
        judgement = await grade(case, visit)
        named = "; ".join(diagnosis.name for diagnosis in visit.report.diagnoses) if visit.report is not None else None
        return Score(
            value=_values(case, visit, judgement, linkers),
            answer=named,
            explanation="\n".join(_told(judgement)),
            metadata={"judge": judgement.judge, "version": judgement.version, "prompts": judgement.prompts},
        )

    return score


def _director(judge: str, base_url: str | None, knowledge: Knowledge) -> _Director:
    if judge == RULES:
        return _Director(RulesJudge(knowledge), None)
    if judge == GRADER:
        _check_grader()
        return _Director(ModelJudge(Tested(get_model(role=GRADER))), None)
    # Not among the models that Inspect keeps for everybody: it is closed when nothing is left to grade.
    model = Tested(get_model(judge.removeprefix("inspect/"), role=GRADER, base_url=base_url, memoize=False))
    return _Director(ModelJudge(model), None if GRADER in model_roles() else model)


def _values(case: Case, visit: Visit, judgement: Judgement, linkers: Mapping[Language, Linker]) -> dict[str, float]:
    """Returns the metrics of one visit; nan where there is none, so that every visit has the same."""
    values = {
        aspect.upper(): _number(judgement.grades.get(aspect)) for aspect in aspects_of(one_step=judgement.one_step)
    }
    if linkers:
        linked = linked_by(linkers, [(case, visit)]).get(case.presentation.language)
        values |= {f"ICD_{name.upper()}": _number(linked.per_case[name].mean if linked else None) for name in _ICD}
    if not judgement.one_step:
        values |= {"QA": float(answers_in(visit)), "TESTS": float(examinations_in(visit))}
    return values


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _told(judgement: Judgement) -> Iterable[str]:
    for aspect, grade in judgement.grades.items():
        letter = grade.name if grade is not None else f"no grade ({judgement.unreadable.get(aspect, 'none was given')})"
        yield f"{aspect}: {letter}. {judgement.analyses.get(aspect, '')}".strip()
