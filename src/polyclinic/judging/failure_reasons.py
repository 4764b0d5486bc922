"""Why a diagnosis was wholly wrong: the three reasons of AI Hospital (ai-hospital §6.4, Table 5).

Only reports whose diagnosis is graded 1 have a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.record import read_out
from polyclinic.cases.report import Report
from polyclinic.judging.director_by_rules import HALF, RulesJudge
from polyclinic.judging.model_judging import Exhibit, Judging, answer_type
from polyclinic.judging.sorting import Counted, Sorted, Sorting, Words
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.names import Names, names_of
from polyclinic.language.content_words import coverage
from polyclinic.metrics.grades import Aspect, Grade, Judgement
from polyclinic.models.model import Model
from polyclinic.prompts import read_prompts

PROMPTS = Path(__file__).with_suffix(".md")

VERSION = 1  # grows when the prompt or the rules come to mean something else


class FailureReason(StrEnum):
    """Why a diagnosis missed."""

    OMISSION = "omission"  # an examination that the diagnosis needs was not done
    COMPLICATIONS = "complications"  # a complication, second illness or finding was named in place of the illness
    ERRONEOUS = "erroneous"  # what was needed was known, and was judged wrongly


class Missed(msgspec.Struct, frozen=True, kw_only=True):
    """A report whose diagnosis is wholly wrong."""

    case: Case
    doctor: str
    report: Report
    done: tuple[str, ...] | None = None  # names of the examinations done; None if the doctor read the whole record


class Reasoned(Sorted, frozen=True, kw_only=True, omit_defaults=True):
    """The reason of one miss, None if the judge gave none."""

    case: str
    doctor: str
    reason: FailureReason | None


class Reasons(Counted[FailureReason], frozen=True, kw_only=True):
    """How often each reason was found."""

    reasons: tuple[Reasoned, ...]
    version: int = VERSION


_ANSWER = answer_type("Reason", [("analysis", str), ("reason", FailureReason)])


def _shown(missed: Missed) -> Exhibit:
    case, report = missed.case, missed.report
    language = case.presentation.language
    texts = {
        "complaint": [case.presentation.complaint],
        "findings": read_out(case.record.findings, language),
        "diagnoses": [diagnosis.name for diagnosis in case.truth.diagnoses],
        "rationale": case.truth.rationale,
        "done": [read_prompts(PROMPTS)[language]("whole_record")] if missed.done is None else missed.done,
        "report_diagnoses": [diagnosis.name for diagnosis in report.diagnoses],
        "report_rationale": report.rationale,
    }
    # Two doctors may have handed in the same report.
    purpose = f"failure reason, {case.id}, {missed.doctor}"
    return Exhibit(language, "reason", ("shown",), texts, _ANSWER, purpose)


SORTING = Sorting(
    judging=Judging(PROMPTS, _shown),
    names=("case", "doctor"),
    named=lambda missed: (missed.case.id, missed.doctor),
    field="reason",
    categories=FailureReason,
    found=Reasoned,
)


def is_missed(judgement: Judgement) -> bool:
    """Returns whether a judgement says that the diagnosis is wholly wrong; one without a grade says nothing."""
    return judgement.grades.get(Aspect.DIAGNOSIS) is Grade.D


async def find_reasons(
    misses: Sequence[Missed], *, judge: Model | None, knowledge: Knowledge, words: Words[FailureReason] | None = None
) -> Reasons:
    """Returns why diagnoses missed: according to people, the judge or, without a judge, rules; see `is_missed`."""
    rules, names = RulesJudge(knowledge), names_of(knowledge)

    def by_rules(missed: Missed) -> dict[str, Any]:
        reason, analysis = reason_by_rules(missed, rules, names)
        return {"reason": reason, "source": "rules", "who": "rules", "analysis": analysis}

    reasons, counted = await SORTING.sort(misses, model=judge, words=words or {}, otherwise=by_rules)
    return Reasons(**counted, reasons=reasons)


def reason_by_rules(missed: Missed, rules: RulesJudge, names: Names) -> tuple[FailureReason, str]:
    """Finds by rules why a diagnosis missed, and the evidence.

    1. Omission: an examination that the rationale of the reference mentions has a result, and was not done.
    2. Complications: a diagnosis of the report resembles a further one of the reference, a finding or a complaint.
    3. Erroneous otherwise.
    """
    case = missed.case
    if missed.done is not None:
        recorded = names.of(case.record.findings)
        done = {finding.examination for name in missed.done for finding in recorded.mentioned(name)}
        needed = dict.fromkeys(f.examination for f in recorded.mentioned("\n".join(case.truth.rationale)))
        if omitted := [name for name in needed if name not in done]:
            return FailureReason.OMISSION, "; ".join(omitted)
    others = [diagnosis.name for diagnosis in case.truth.diagnoses[1:]]
    told = [case.presentation.complaint, *(text for _, text in case.record.history.sections())]
    told += [finding.value_text for finding in case.record.findings]
    for name in (diagnosis.name for diagnosis in missed.report.diagnoses):
        if any(rules.likeness(name, other) >= HALF for other in others) or any(coverage(name, t) >= 1 for t in told):
            return FailureReason.COMPLICATIONS, name
    return FailureReason.ERRONEOUS, ""
