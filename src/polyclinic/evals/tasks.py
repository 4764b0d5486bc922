"""AIE as tasks of Inspect: `inspect eval polyclinic/aie -T cases=FILE --model direct/NAME --model-base-url URL`.

The evaluation is that of `polyclinic.benchmarks.aie.evaluation` (Liao et al., arXiv:2403.08495, §4),
one doctor an evaluation.
"""

# Inspect is an extra: without it, its classes and decorators are Any to the type checker.
# mypy: allow-subclassing-any, allow-untyped-decorators

from __future__ import annotations

from inspect_ai import Task, task

from polyclinic.evals.datasets import dataset
from polyclinic.evals.scorers import choice, conversation
from polyclinic.evals.solvers import consultation

VERSION = 1
"""Results of one version can be compared; it changes with prompts, scores and what a patient says."""

FAILURES = 0.05
"""Share of samples without an endpoint's answer above which the evaluation has failed; all are run all the same."""


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
        max_turns: the doctor's turns; by default the paper's, 10 in Chinese and 15 in English.
        seed: of the patient's choices, and of options that are made where the source gives none.

    Raises:
        UserError: the file or the patient's mind cannot be used, or a part is not installed.
    """
    return Task(
        dataset=dataset(cases, layout=layout, seed=seed),
        solver=consultation(
            cases=cases,
            layout=layout,
            patient=patient,
            patient_base_url=patient_base_url,
            max_turns=max_turns,
            seed=seed,
        ),
        scorer=conversation(cases=cases, layout=layout, seed=seed),
        fail_on_error=FAILURES,
        continue_on_fail=True,
        version=VERSION,
    )


@task
def aie_mcqe(*, cases: str = "shipped", layout: str | None = None, seed: int = 0) -> Task:
    """The model under test reads all that is known of a patient and answers the same question, without a dialogue.

    Args:
        cases: as in `aie`.
        layout: as in `aie`.
        seed: as in `aie`.

    Raises:
        UserError: the file cannot be used.
    """
    return Task(
        dataset=dataset(cases, layout=layout, seed=seed),
        solver=consultation(cases=cases, layout=layout, in_one_step=True, seed=seed),
        scorer=choice(),
        fail_on_error=FAILURES,
        continue_on_fail=True,
        version=VERSION,
    )
