"""How good an explanation of several diagnoses is: relevance and completeness, from 0 to 5 (Tree-of-Reasoning §4.1.4).

The judge sees the record, what is so, and what a method wrote; it is told no method's name. Marks of people (three in
the paper) can be read from a file, and go before the judge's; of several people the mean counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import BadInput
from polyclinic.evidence_tree.sources import texts_of
from polyclinic.files import read_records
from polyclinic.judging.model_judging import Exhibit, Judging, answer_type
from polyclinic.models.model import Model

VERSION = 1
"""Grows when the prompts come to mean something else."""

Mark = Annotated[float, msgspec.Meta(ge=0, le=5)]

_ANSWER = answer_type("ExplanationMarks", [("analysis", str), ("relevance", Mark), ("completeness", Mark)])


class Explained(NamedTuple):
    """What a method wrote on a case."""

    case: Case
    method: str
    text: str


class Rating(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an explanation is worth, each from 0 to 5; None where nobody could say.

    Attributes:
        raters: who says so: people by name, or "judge".
        error: why the judge's answer cannot be used.
        failed: the judge gave no answer at all.
    """

    relevance: float | None = None
    completeness: float | None = None
    raters: tuple[str, ...] = ()
    analysis: str = ""
    error: str = ""
    failed: bool = False


class _MarksLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rater's marks, as a line of a file."""

    case: str
    method: str
    rater: str
    relevance: Mark
    completeness: Mark


def _shown(explained: Explained) -> Exhibit:
    case = explained.case
    language = case.presentation.language
    texts = {
        "record": [text.line(language) for text in texts_of(case.record)],
        "diagnoses": [diagnosis.name for diagnosis in case.truth.diagnoses],
        "explanation": explained.text.splitlines(),
    }
    purpose = f"explanation, {case.id}, {explained.method}"
    return Exhibit(language, "judge", ("shown",), texts, _ANSWER, purpose)


JUDGING = Judging(Path(__file__).with_suffix(".md"), _shown, bullet="")


async def rate(
    explained: Sequence[Explained], judge: Model, *, advance: Callable[[], None] = lambda: None
) -> list[Rating]:
    """Returns the judge's ratings, in order; an answer that cannot be used, and one that did not come, say so."""
    rulings = await JUDGING.judge(explained, judge, advance=advance)
    return [
        Rating(error=ruling.error, failed=ruling.failed, raters=("judge",))
        if ruling.error
        else Rating(
            relevance=round(ruling.value.relevance, 1),
            completeness=round(ruling.value.completeness, 1),
            raters=("judge",),
            analysis=ruling.value.analysis,
        )
        for ruling in rulings
    ]


def read_ratings(path: str | Path) -> dict[tuple[str, str], Rating]:
    """Reads people's marks, a line of JSON a rater, case and method: `{"case", "method", "rater", "relevance",
    "completeness"}`. Returns the means, by case and method.


    """  # noqa: D205
    marks: dict[tuple[str, str], dict[str, _MarksLine]] = defaultdict(dict)
    for number, line in read_records(Path(path), _MarksLine, "a rating (case, method, rater, relevance, completeness)"):
        given = marks[line.case, line.method]
        if line.rater in given:
            problem = f"{line.rater!r} has marked case {line.case!r} of {line.method!r} before"
            raise BadInput(problem, path=Path(path), line=number)
        given[line.rater] = line
    return {place: _mean(given) for place, given in marks.items()}


def _mean(given: Mapping[str, _MarksLine]) -> Rating:
    lines = given.values()
    return Rating(
        relevance=fmean(line.relevance for line in lines),
        completeness=fmean(line.completeness for line in lines),
        raters=tuple(given),
    )
