"""Whether a diagnosis is right."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum

from polyclinic.cases.report import Report
from polyclinic.cases.truth import Truth
from polyclinic.knowledge.knowledge import Knowledge


class Verdict(StrEnum):
    """What a report is worth against the truth."""

    RIGHT = "right"
    WRONG = "wrong"
    NO_DIAGNOSIS = "no diagnosis"
    FAILED = "failed"


def verdict(report: Report | None, truth: Truth, knowledge: Knowledge) -> Verdict:
    """Compares the likeliest diagnosis of a report with the diagnoses that are so.

    Names are compared, with the knowledge's synonyms, and not ICD-10 codes: ICD-10 gives a cold and an acute rhinitis
    one code. A name in other words is taken for wrong. Where the visit failed there is no report.
    """
    if report is None:
        return Verdict.FAILED
    if not report.diagnoses:
        return Verdict.NO_DIAGNOSIS
    given = identity(report.diagnoses[0].name, knowledge)
    return Verdict.RIGHT if given in {identity(d.name, knowledge) for d in truth.diagnoses} else Verdict.WRONG


def identity(name: str, knowledge: Knowledge) -> str:
    """Returns what a name of a disease means: the id of a known disease, or the name made plain."""
    disease = knowledge.disease_named(name)
    return disease.id if disease is not None else plain_name(name)


def plain_name(name: str) -> str:
    """Returns a name without case, width, punctuation and article."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(re.sub(r"[^\w]+", " ", folded).split()).removeprefix("the ")
