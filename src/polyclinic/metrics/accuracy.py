"""Whether a diagnosis is right."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum

from polyclinic.cases.report import Report
from polyclinic.cases.truth import Truth
from polyclinic.knowledge.disease_names.relation import Relation, known_relation, relation
from polyclinic.knowledge.knowledge import Knowledge

RIGHT = frozenset((Relation.SAME, Relation.NARROWER))
"""What a diagnosis may be to the one that is so and count as right: the same, or a kind of it; not what is broader."""


class Verdict(StrEnum):
    """What a report is worth against the truth."""

    RIGHT = "right"
    WRONG = "wrong"
    NO_DIAGNOSIS = "no diagnosis"
    FAILED = "failed"


def verdict(report: Report | None, truth: Truth, knowledge: Knowledge) -> Verdict:
    """Compares the likeliest diagnosis of a report with the diagnoses that are so.

    Names are compared by what they say, and not ICD-10 codes: ICD-10 gives a cold and an acute rhinitis one code. The
    relations in `RIGHT` count. Where the visit failed there is no report.
    """
    if report is None:
        return Verdict.FAILED
    if not report.diagnoses:
        return Verdict.NO_DIAGNOSIS
    given = report.diagnoses[0].name
    right = any(known_relation(given, diagnosis.name, knowledge) in RIGHT for diagnosis in truth.diagnoses)
    return Verdict.RIGHT if right else Verdict.WRONG


def identity(name: str, knowledge: Knowledge) -> str:
    """Returns what a name of a disease means: the id of a known disease, or the name made plain."""
    disease = knowledge.disease_named(name)
    return disease.id if disease is not None else plain_name(name)


def chosen_by_name(name: str, options: Mapping[str, str]) -> str | None:
    """Returns the key of the option that a diagnosis names: word for word, or the only one that it is or is a kind of.

    None where it names no option, or two.
    """
    named = plain_name(name)
    for key, text in options.items():
        if plain_name(text) == named:
            return key
    for wanted in (Relation.SAME, Relation.NARROWER):
        found = [key for key, text in options.items() if relation(name, text) is wanted]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def plain_name(name: str) -> str:
    """Returns a name without case, width, punctuation and article."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(re.sub(r"[^\w]+", " ", folded).split()).removeprefix("the ")
