"""The model under test as MVME's intern: it sees a patient and hands in a report; a solver of Inspect."""

# Inspect is an extra: without it, its classes and decorators are Any to the type checker.
# mypy: allow-subclassing-any, allow-untyped-decorators

from __future__ import annotations

from collections import Counter
from typing import get_args

from inspect_ai.solver import Solver, solver

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import BadInput, UserError
from polyclinic.evals.solvers import visiting
from polyclinic.language.language import Language
from polyclinic.players.roles.examiner import Missing
from polyclinic.visits.consultation import MAX_TURNS


def patients_of(file: str, layout: str | None) -> dict[str, Case]:
    """Returns the cases of a file by id, as they are; see `datasets.cases_of` for cases with a question.

    Args:
        file: in any layout; `shipped` and `shipped-zh` come with the package.
        layout: of the file; by default the first record tells.

    Raises:
        BadInput: the file cannot be used, an id stands there twice, or a case has no diagnosis.
    """
    path = shipped_path(file)
    cases = list(read_cases(path, layout=layout))
    if not cases:
        raise BadInput("there is no case in it", path=path)
    if twice := [id for id, n in Counter(case.id for case in cases).items() if n > 1]:
        raise BadInput(f"{len(twice)} ids stand there more than once, such as {twice[0]!r}", path=path)
    if without := [case.id for case in cases if not case.truth.diagnoses]:
        raise BadInput(f"{len(without)} cases have no diagnosis to grade by, such as {without[0]!r}", path=path)
    return {case.id: case for case in cases}


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
    """Lets the model under test see the patient of each case and hand in a report; see `solvers.consultation`.

    Args:
        cases: the file that the samples are of.
        layout: of the file.
        one_step: the intern reads the whole record, without a dialogue.
        patient: the patient's mind; the model of `saps:MODEL` is one of Inspect's, in the role `patient`.
        patient_base_url: the address of the patient's model.
        max_turns: the intern's turns.
        missing: what the examiner says of what is not recorded; the paper says `normal`.
        seed: of the patient's choices.

    Raises:
        UserError: the file, the patient's mind or an option cannot be used.
    """
    if missing not in get_args(Missing):
        raise UserError(f"missing={missing}; allowed: {', '.join(get_args(Missing))}")
    turns: dict[Language, int] = dict.fromkeys(get_args(Language), max_turns)
    return visiting(
        patients_of(cases, layout),
        patient=patient,
        patient_base_url=patient_base_url,
        max_turns=turns,
        in_one_step=one_step,
        put_question=False,
        missing=missing,
        seed=seed,
    )
