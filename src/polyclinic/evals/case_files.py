"""Case files as Inspect's datasets."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from inspect_ai.dataset import Sample

from polyclinic.cases.case import Case
from polyclinic.cases.check import unanswerable
from polyclinic.cases.loaders import left_out_lines, read_usable
from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import BadInput
from polyclinic.evals.questions import choices_of
from polyclinic.evaluations.aie.distractors import with_questions
from polyclinic.files import check_file
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.language_model.mind import describe

_FILES = 8

_log = logging.getLogger(__name__)


def cases_of(file: str, *, layout: str | None = None, options: int | None = None) -> dict[str, Case]:
    """Returns the cases of a file by their ids.

    Dataset, solver and scorer each ask for them by the file's name: what is an argument of theirs stands in the log,
    and the cases hold the truth. Every case needs a diagnosis; with a seed for `options`, a question: the seed gives
    the options, and their order, where the source has none. A record that is no case, or has a question that cannot be
    answered, is left out, which the log says.

    Raises:
        BadInput: the file cannot be used, or a case lacks what it needs.
    """
    path = shipped_path(file)
    check_file(path)
    about = path.stat()
    return _read(path, layout, options, (about.st_mtime_ns, about.st_size))


@lru_cache(maxsize=_FILES)
def _read(path: Path, layout: str | None, options: int | None, _version: tuple[int, int]) -> dict[str, Case]:
    cases, share = read_usable(path, layout=layout, needs=None if options is None else unanswerable)
    for line in left_out_lines(share.left_out):
        _log.warning("left out: %s", line)
    if not cases:
        raise BadInput("there is no case in it", path=path)
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
    return _sample(case, case.truth.answers, choices_of(case.question), setting=case.setting)


def diagnosis_sample(case: Case) -> Sample:
    """Returns a case as a sample: the input is what is known at the door, the target the diagnoses."""
    return _sample(case, [diagnosis.name for diagnosis in case.truth.diagnoses], department=case.department)


def _sample(case: Case, target: Sequence[str], choices: list[str] | None = None, **about: str) -> Sample:
    metadata = {"language": case.presentation.language, **about, "source": case.source}
    asked = describe(case.presentation)
    return Sample(id=case.id, input=asked, choices=choices, target=list(target), metadata=metadata)
