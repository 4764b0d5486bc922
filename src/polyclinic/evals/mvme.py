"""MVME as a task of Inspect: the model under test is the intern, and a director grades its report.

    inspect eval polyclinic/mvme -T cases=FILE -T judge=grader --model-role grader=openai/gpt-4o --model direct/NAME

The evaluation is that of `polyclinic.evaluations.mvme.evaluation` (ai-hospital §3), one intern an evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple, get_args

from inspect_ai import Task, task
from inspect_ai.model import get_model, model_roles
from inspect_ai.scorer import Score, Scorer, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from polyclinic.cases.case import Case
from polyclinic.errors import EndpointError, UserError
from polyclinic.evals.adapter import Tested, task_of
from polyclinic.evals.case_files import cases_of, diagnosis_sample
from polyclinic.evals.visits import unscored, visit_scoring, visiting
from polyclinic.evaluations.mvme.evaluation import grade
from polyclinic.evaluations.mvme.results import answers_in, examinations_in, linked_by
from polyclinic.judging.director import Judge, ModelJudge
from polyclinic.judging.director_by_rules import RulesJudge
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.language.language import Language
from polyclinic.metrics.grades import Judgement, aspects_of
from polyclinic.metrics.icd.linking import Linker, linkers_for
from polyclinic.players.roles.examiner import Missing
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.visit import Visit, see

RULES = "rules"
"""The director by rules, which needs no model."""

GRADER = "grader"
"""The role of the director among Inspect's models."""

_ICD = ("precision", "recall", "f1")


@solver
def intern(
    *,
    cases: str = "shipped",
    layout: str | None = None,
    one_step: bool = False,
    patient: str = "rules",
    patient_base_url: str | None = None,
    max_turns: int = MAX_TURNS,
    missing: Missing = "not recorded",
    seed: int = 0,
) -> Solver:
    """Lets the model under test see the patient of each case and hand in a report. Arguments as `mvme`."""
    if missing not in get_args(Missing):
        raise UserError(f"missing={missing}; allowed: {', '.join(get_args(Missing))}")
    return visiting(
        cases_of(cases, layout=layout),
        partial(see, max_turns=max_turns, in_one_step=one_step, missing=missing),
        patient=patient,
        patient_base_url=patient_base_url,
        max_turns=max_turns,
        in_one_step=one_step,
        seed=seed,
    )


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


class _Grader(NamedTuple):
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
    gives no answer is an error of the sample. In one step symptoms and examinations are not graded, and nothing is
    counted. Arguments as `mvme`.
    """
    known, knowledge = cases_of(cases, layout=layout), read_knowledge()
    languages = {case.presentation.language for case in known.values()}
    linkers = linkers_for(languages, None if table is None else Path(table))
    if judge not in (RULES, GRADER):
        if judge.partition("/")[0] == "local" or "/" not in judge:
            raise UserError(f"judge={judge}; allowed: {RULES}, {GRADER}, or a model that Inspect can open: direct/NAME")
        # What cannot be opened is told before the first visit, not after the last.
        _grader(judge, judge_base_url, knowledge)
    graders: dict[int, _Grader] = {}

    async def score(name: str, visit: Visit) -> Score:
        case, key = known[name], id(model_roles().get(GRADER))
        if key not in graders:
            graders[key] = _grader(judge, judge_base_url, knowledge)
        graded, own = graders[key]
        async with (visit.report is not None and own) or nullcontext():
            judgement = await grade(case, visit, graded, one_step=one_step)
        if judgement is None:
            return unscored("the visit failed", visit.trace)
        if judgement.failed:
            raise EndpointError(f"the judge {judgement.judge}: {judgement.failed}")
        named = "; ".join(diagnosis.name for diagnosis in visit.report.diagnoses) if visit.report is not None else None
        return Score(
            value=_values(case, visit, judgement, linkers),
            answer=named,
            explanation="\n".join(_told(judgement)),
            metadata={"judge": judgement.judge, "version": judgement.version, "prompts": judgement.prompts},
        )

    return visit_scoring(score)


def _grader(judge: str, base_url: str | None, knowledge: Knowledge) -> _Grader:
    if judge == RULES:
        return _Grader(RulesJudge(knowledge), None)
    if judge == GRADER:
        _check_grader()
        return _Grader(ModelJudge(Tested(get_model(role=GRADER))), None)
    # Not among the models that Inspect keeps for everybody: it is closed when nothing is left to grade.
    model = Tested(get_model(judge.removeprefix("inspect/"), role=GRADER, base_url=base_url, memoize=False))
    return _Grader(ModelJudge(model), None if GRADER in model_roles() else model)


def _values(case: Case, visit: Visit, judgement: Judgement, linkers: Mapping[Language, Linker]) -> dict[str, float]:
    """Returns the metrics of one visit; nan where there is none, so that every visit has the same."""
    aspects = aspects_of(one_step=judgement.one_step)
    values = {aspect.upper(): _number(judgement.grades.get(aspect)) for aspect in aspects}
    if linkers:
        linked = linked_by(linkers, [(case, visit)]).get(case.presentation.language)
        values |= {f"ICD_{name.upper()}": _number(linked.per_case[name].mean if linked else None) for name in _ICD}
    if not judgement.one_step:
        values |= {"QA": float(answers_in(visit)), "TESTS": float(examinations_in(visit))}
    return values


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _told(judgement: Judgement) -> Iterable[str]:
    for aspect, given in judgement.grades.items():
        letter = given.name if given is not None else f"no grade ({judgement.unreadable.get(aspect, 'none was given')})"
        yield f"{aspect}: {letter}. {judgement.analyses.get(aspect, '')}".strip()


@task
def mvme(
    *,
    cases: str = "shipped",
    layout: str | None = None,
    one_step: bool = False,
    judge: str = RULES,
    judge_base_url: str | None = None,
    patient: str = "rules",
    patient_base_url: str | None = None,
    table: str | None = None,
    max_turns: int = MAX_TURNS,
    missing: Missing = "not recorded",
    seed: int = 0,
) -> Task:
    """The model under test sees patients as an intern and hands in reports, which a director grades.

    Arguments as `aie`, and these. With `one_step` the intern reads the whole record, without a dialogue: the paper's
    upper bound. The judge is `rules`; `grader`, the model in that role; or a model of Inspect's, at `judge_base_url`,
    which then has that role. Without a `table` of ICD-10, Chinese cases have no codes. `missing` is what the examiner
    says of what is not recorded; the paper says `normal`.

    Raises:
        UserError: a file or an option cannot be used, or a part is not installed.
    """
    return task_of(
        map(diagnosis_sample, cases_of(cases, layout=layout).values()),
        cases,
        setup=grader_is_there() if judge == GRADER else None,
        solver=intern(
            cases=cases,
            layout=layout,
            one_step=one_step,
            patient=patient,
            patient_base_url=patient_base_url,
            max_turns=max_turns,
            missing=missing,
            seed=seed,
        ),
        scorer=director(
            cases=cases, layout=layout, one_step=one_step, judge=judge, judge_base_url=judge_base_url, table=table
        ),
    )
