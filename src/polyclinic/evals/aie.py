"""AIE as tasks of Inspect: `inspect eval polyclinic/aie -T cases=FILE --model direct/NAME --model-base-url URL`.

The evaluation is that of `polyclinic.evaluations.aie.evaluation` (Liao et al., arXiv:2403.08495, §4),
one doctor an evaluation. All metrics are in percent, but turns and length.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from inspect_ai import Task, task
from inspect_ai.scorer import Score, Scorer, scorer
from inspect_ai.solver import Solver, solver

from polyclinic.evals.adapter import averaged, task_of
from polyclinic.evals.case_files import cases_of, question_sample
from polyclinic.evals.visits import unscored, visit_scoring, visiting
from polyclinic.evaluations.aie import evaluation
from polyclinic.evaluations.aie.results import MCQE
from polyclinic.events import Failed
from polyclinic.language.words import rouge_1
from polyclinic.metrics.conversation import METRICS
from polyclinic.metrics.conversation import Score as Values
from polyclinic.metrics.dialogue import LeftOut, from_trace, unusable_answer
from polyclinic.visits.visit import Visit


@solver
def consultation(
    *,
    cases: str = "shipped",
    layout: str | None = None,
    patient: str = "rules",
    patient_base_url: str | None = None,
    max_turns: int | None = None,
    in_one_step: bool = False,
    seed: int = 0,
) -> Solver:
    """Lets the model under test see the patient of each case and answer the case's question.

    Arguments as `aie`; with `in_one_step` the doctor reads the whole record, without a dialogue.
    """
    return visiting(
        cases_of(cases, layout=layout, options=seed),
        partial(evaluation.see_patient, one_step=in_one_step, max_turns=max_turns),
        patient=patient,
        patient_base_url=patient_base_url,
        max_turns=max_turns,
        in_one_step=in_one_step,
        seed=seed,
    )


@scorer(metrics=averaged(METRICS))
def conversation(*, cases: str = "shipped", layout: str | None = None, seed: int = 0) -> Scorer:
    """Scores how the doctor led its visit: `metrics.conversation.METRICS`.

    A doctor whose answer cannot be used has a wrong diagnosis. A visit that failed otherwise, or that a limit ended,
    has no score: it is outside every mean and counted as unscored. So is a metric that cannot be computed. Arguments
    as `aie`.
    """
    known = cases_of(cases, layout=layout, options=seed)
    for language in {case.presentation.language for case in known.values()}:
        # What is missing is told before the first question to a model, not after the last.
        rouge_1("words", "words", language)

    async def score(id: str, visit: Visit) -> Score:
        case = known[id]
        scored = await evaluation.score_dialogue(case, visit)
        found = _score(visit, scored, METRICS, case.question.options if case.question is not None else {})
        if isinstance(scored, Values) and unusable_answer(visit.trace) is None:
            found.metadata = {
                "states": " ".join(turn.state for turn in from_trace(visit.trace).turns),
                "left out": [problem.problem for problem in scored.left_out],
            }
        return found

    return visit_scoring(score)


@scorer(metrics=averaged([MCQE]))
def choice() -> Scorer:
    """Scores the doctor's choice alone. A visit that failed has no score."""

    async def score(id: str, visit: Visit) -> Score:
        return _score(visit, evaluation.score_choice(visit), (MCQE,), {})

    return visit_scoring(score)


def _score(visit: Visit, scored: Values | LeftOut, names: Sequence[str], options: Mapping[str, str]) -> Score:
    if isinstance(scored, LeftOut):
        return unscored(scored.problem, visit.trace)
    values = {name: scored.values.get(name, math.nan) for name in names}
    unusable, failure, chosen = unusable_answer(visit.trace), visit.trace.last(Failed), visit.answer
    if unusable is not None and failure is not None:
        told = f"{unusable}: {failure.problem}"
        return Score(value=values, answer=None, explanation=told, metadata={"unusable": unusable})
    named = f"{chosen}. {options[chosen]}" if chosen and chosen in options else chosen or "none of the options"
    told = f"The doctor chose {named}; right: {', '.join(visit.truth.answers)}."
    return Score(value=values, answer=chosen, explanation=told)


@task
def aie(
    *,
    cases: str = "shipped",
    layout: str | None = None,
    patient: str = "rules",
    patient_base_url: str | None = None,
    max_turns: int | None = None,
    seed: int = 0,
) -> Task:
    """The model under test questions a patient in turns, then chooses a diagnosis among options.

    Args:
        cases: a case file in any layout; `shipped` and `shipped-zh` come with the package.
        layout: of the file; by default its first record tells.
        patient: `rules`, or `saps:MODEL` with a model of Inspect's, in the role `patient`.
        patient_base_url: the address of the patient's model.
        max_turns: the doctor's turns behind the opening; 9 in Chinese and 14 in English by default.
        seed: of the patient's choices, and of options that are made where the source gives none.

    Raises:
        UserError: the file or the patient's mind cannot be used, or a part is not installed.
    """
    return task_of(
        map(question_sample, cases_of(cases, layout=layout, options=seed).values()),
        cases,
        solver=consultation(
            cases=cases,
            layout=layout,
            patient=patient,
            patient_base_url=patient_base_url,
            max_turns=max_turns,
            seed=seed,
        ),
        scorer=conversation(cases=cases, layout=layout, seed=seed),
    )


@task
def aie_mcqe(*, cases: str = "shipped", layout: str | None = None, seed: int = 0) -> Task:
    """The model under test reads all that is known of a patient and answers the same question, without a dialogue.

    Arguments as `aie`.
    """
    return task_of(
        map(question_sample, cases_of(cases, layout=layout, options=seed).values()),
        cases,
        solver=consultation(cases=cases, layout=layout, in_one_step=True, seed=seed),
        scorer=choice(),
    )
