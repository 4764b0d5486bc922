"""MVME as a task of Inspect: the model under test is the intern, and a director grades its report.

    inspect eval polyclinic/mvme -T cases=FILE -T judge=grader --model-role grader=openai/gpt-4o --model direct/NAME

The evaluation is that of `polyclinic.benchmarks.mvme.evaluation` (ai-hospital §3), one intern an evaluation.
"""

# Inspect is an extra: without it, its classes and decorators are Any to the type checker.
# mypy: allow-subclassing-any, allow-untyped-decorators

from __future__ import annotations

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample

from polyclinic.cases.shipped import shipped_path
from polyclinic.evals.director import GRADER, RULES, director, grader_is_there
from polyclinic.evals.interns import intern, patients_of
from polyclinic.evals.tasks import FAILURES
from polyclinic.players.language_model.mind import describe
from polyclinic.players.roles.examiner import Missing
from polyclinic.visits.consultation import MAX_TURNS

VERSION = 1
"""Results of one version can be compared; it changes with prompts, grades and what a patient says."""


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

    Args:
        cases: a case file in any layout; `shipped` and `shipped-zh` come with the package.
        layout: of the file; by default its first record tells.
        one_step: the intern reads the whole record: the paper's upper bound.
        judge: as in `director`.
        judge_base_url: as in `director`.
        patient: as in `intern`.
        patient_base_url: as in `intern`.
        table: as in `director`.
        max_turns: as in `intern`.
        missing: as in `intern`.
        seed: of the patient's choices.

    Raises:
        UserError: a file or an option cannot be used, or a part is not installed.
    """
    known = patients_of(cases, layout)
    samples = [
        Sample(
            id=case.id,
            input=describe(case.presentation),
            target=[diagnosis.name for diagnosis in case.truth.diagnoses],
            metadata={"language": case.presentation.language, "department": case.department, "source": case.source},
        )
        for case in known.values()
    ]
    return Task(
        dataset=MemoryDataset(samples, name=shipped_path(cases).stem, location=cases),
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
        fail_on_error=FAILURES,
        continue_on_fail=True,
        version=VERSION,
    )
