"""Case files as Inspect's datasets."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from pathlib import Path

from inspect_ai.dataset import Sample

from polyclinic.benchmarks.aie.distractors import with_questions
from polyclinic.cases.case import Case
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import BadInput
from polyclinic.evals.questions import choices_of
from polyclinic.files import check_file
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.language_model.mind import describe

_FILES = 8


def cases_of(file: str, *, layout: str | None = None, options: int | None = None) -> dict[str, Case]:
    """Returns the cases of a file by their ids.

    Dataset, solver and scorer each ask for them by the file's name: what is an argument of theirs stands in the log,
    and the cases hold the truth. Every case needs a diagnosis; with a seed for `options`, a question: the seed gives
    the options, and their order, where the source has none.

    Raises:
        BadInput: the file cannot be used, an id stands there twice, or a case lacks what it needs.
    """
    path = shipped_path(file)
    check_file(path)
    about = path.stat()
    return _read(path, layout, options, (about.st_mtime_ns, about.st_size))


@lru_cache(maxsize=_FILES)
def _read(path: Path, layout: str | None, options: int | None, _version: tuple[int, int]) -> dict[str, Case]:
    cases = list(read_cases(path, layout=layout))
    if not cases:
        raise BadInput("there is no case in it", path=path)
    twice = [id for id, n in Counter(case.id for case in cases).items() if n > 1]
    if twice:
        raise BadInput(f"{len(twice)} ids stand there more than once, such as {twice[0]!r}", path=path)
    if options is None:
        without, what = [case.id for case in cases if not case.truth.diagnoses], "diagnosis to grade by"
    else:
        cases = with_questions(cases, read_knowledge(), seed=options)
        without, what = [case.id for case in cases if case.question is None], "question and no diagnosis"
    if without:
        raise BadInput(f"{len(without)} cases have no {what}, such as {without[0]!r}", path=path)
    return {case.id: case for case in cases}


def question_sample(case: Case) -> Sample:
    """Returns a case as a sample: the input is what is known at the door, the target the right keys."""
    return Sample(
        id=case.id,
        input=describe(case.presentation),
        choices=choices_of(case.question),
        target=list(case.truth.answers),
        metadata={"language": case.presentation.language, "setting": case.setting, "source": case.source},
    )


def diagnosis_sample(case: Case) -> Sample:
    """Returns a case as a sample: the input is what is known at the door, the target the diagnoses."""
    return Sample(
        id=case.id,
        input=describe(case.presentation),
        target=[diagnosis.name for diagnosis in case.truth.diagnoses],
        metadata={"language": case.presentation.language, "department": case.department, "source": case.source},
    )
