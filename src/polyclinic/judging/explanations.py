"""How good an explanation of several diagnoses is: relevance and completeness, from 0 to 5 (Tree-of-Reasoning §4.1.4).

The judge sees the record, the true diagnoses and the text of a method, but not its name. People's marks (three raters
in the paper) are read from a file and take precedence; the mean of several people counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.evidence_tree.sources import texts_of
from polyclinic.judging.model_judging import Exhibit, Judging, answer_type
from polyclinic.models.model import Model

VERSION = 1  # grows when the prompts come to mean something else

Mark = Annotated[float, msgspec.Meta(ge=0, le=5)]

_ANSWER = answer_type("ExplanationMarks", [("analysis", str), ("relevance", Mark), ("completeness", Mark)])


class Explained(NamedTuple):
    """What a method wrote on a case."""

    case: Case
    method: str
    text: str


class Rating(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an explanation is worth, each from 0 to 5; None where nobody could say."""

    relevance: float | None = None
    completeness: float | None = None
    raters: tuple[str, ...] = ()  # who says so: "judge"
    analysis: str = ""
    error: str = ""  # why the judge's answer cannot be used
    failed: bool = False  # the judge gave no answer at all


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


async def rate(explained: Sequence[Explained], judge: Model) -> list[Rating]:
    """Returns the judge's ratings, in order; an answer that cannot be used, and one that did not come, say so."""
    rulings = await JUDGING.judge(explained, judge)
    marked: list[dict[str, Any]] = [
        {name: round(one, 1) if isinstance(one, float) else one for name, one in ruling.said.items()}
        for ruling in rulings
    ]
    return [Rating(raters=("judge",), **said) for said in marked]
