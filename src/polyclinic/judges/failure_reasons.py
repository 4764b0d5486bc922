"""Why a diagnosis was wholly wrong: the three reasons of AI Hospital (ai-hospital §6.4, Table 5).

A reason comes from a person, a model or rules, and is counted with where it comes from; a person's word goes before
the others'. Only reports whose diagnosis is graded 1 have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.record import read_out
from polyclinic.cases.report import Report
from polyclinic.judges.categories import Sorted, Source, all_at_once, ask_judge, read_people, tally
from polyclinic.judges.director import points, prompts_hash
from polyclinic.judges.director_by_rules import HALF, RulesJudge
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.names import Names
from polyclinic.language.overlap import coverage
from polyclinic.metrics.grades import Aspect, Grade, Judgement
from polyclinic.models.model import Message, Model
from polyclinic.prompts import read_prompts

PROMPTS = Path(__file__).with_suffix(".md")

VERSION = 1
"""Grows when the prompt or the rules come to mean something else."""


class FailureReason(StrEnum):
    """Why a diagnosis missed."""

    OMISSION = "omission"
    """An examination that the diagnosis needs was not done."""
    COMPLICATIONS = "complications"
    """A complication, a second illness or a finding was named, and the illness itself was not."""
    ERRONEOUS = "erroneous"
    """What was needed was known, and was judged wrongly."""


class Missed(msgspec.Struct, frozen=True, kw_only=True):
    """A report whose diagnosis is wholly wrong.

    Attributes:
        case: what is so.
        doctor: whose report it is.
        report: the report.
        done: the names of the examinations that were done; None where the doctor read the whole record.
    """

    case: Case
    doctor: str
    report: Report
    done: tuple[str, ...] | None = None


class Reasoned(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reason of one miss.

    Attributes:
        case: the case's id.
        doctor: whose report it is.
        reason: None where the judge gave none.
        source: who says so.
        who: the person, the model's name, or "rules".
        analysis: why.
        error: the name of the failure where there is no reason.
        failed: no answer came at all; otherwise one came that cannot be used.
    """

    case: str
    doctor: str
    reason: FailureReason | None
    source: Source
    who: str
    analysis: str = ""
    error: str = ""
    failed: bool = False


class Reasons(msgspec.Struct, frozen=True, kw_only=True):
    """How often each reason was found.

    Attributes:
        counts: by reason, whoever says so.
        sources: the same by who says so.
        unreadable: answers of a judge that cannot be used, by the name of the failure.
        failed: questions that got no answer, likewise.
        unused: words of people on reports that did not miss, as (case, doctor).
        reasons: all of them, in the order of the misses.
        version: of prompts and rules.
        prompts: hash of the prompts.
    """

    counts: dict[FailureReason, int]
    sources: dict[Source, dict[FailureReason, int]]
    unreadable: dict[str, int]
    failed: dict[str, int]
    unused: tuple[tuple[str, str], ...]
    reasons: tuple[Reasoned, ...]
    version: int = VERSION
    prompts: str = ""


class Word(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person says of a miss; one line of the file of people's words."""

    case: str
    doctor: str
    reason: FailureReason
    who: str


Words = Mapping[tuple[str, str], Word]
"""By case and doctor."""


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    analysis: str
    reason: FailureReason


def is_missed(judgement: Judgement) -> bool:
    """Returns whether a judgement says that the diagnosis is wholly wrong; one without a grade says nothing."""
    return judgement.grades.get(Aspect.DIAGNOSIS) is Grade.D


async def find_reasons(
    misses: Sequence[Missed], *, judge: Model | None, knowledge: Knowledge, words: Words | None = None
) -> Reasons:
    """Returns why diagnoses missed: as people say, else as the judge does, else, without a judge, by rules.

    Args:
        misses: reports whose diagnosis is graded 1 (`is_missed`), each case and doctor once.
        judge: a model; asked all questions at once. None takes the rules.
        knowledge: for the rules.
        words: of people (`read_words`); what they have said is not asked for.

    Raises:
        WrongKey: the judge's endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
    """
    words = words or {}
    rules = RulesJudge(knowledge)
    names = Names(knowledge)

    async def reason(missed: Missed) -> Reasoned:
        case, doctor = missed.case.id, missed.doctor
        if (word := words.get((case, doctor))) is not None:
            return Reasoned(case=case, doctor=doctor, reason=word.reason, source="human", who=word.who)
        return reason_by_rules(missed, rules, names) if judge is None else await reason_by_model(missed, judge)

    reasons = await all_at_once(reason, misses)
    known = {(one.case, one.doctor) for one in reasons}
    found = tally(FailureReason, [Sorted(one.reason, one.source, one.error, one.failed) for one in reasons])
    return Reasons(
        counts=found.counts,
        sources=found.sources,
        unreadable=found.unreadable,
        failed=found.failed,
        unused=tuple(key for key in words if key not in known),
        reasons=reasons,
        prompts="" if judge is None else prompts_hash(PROMPTS),
    )


async def reason_by_model(missed: Missed, judge: Model) -> Reasoned:
    """Asks a model why a diagnosis missed; a failure of the model is in the result."""
    # Two doctors may have handed in the same report.
    purpose = f"failure reason, {missed.case.id}, {missed.doctor}"
    said = await ask_judge(judge, messages_for(missed), answer=_Answer, purpose=purpose)
    return Reasoned(
        case=missed.case.id,
        doctor=missed.doctor,
        reason=said.value.reason if said.value else None,
        source="judge",
        who=judge.name,
        analysis=said.value.analysis if said.value else "",
        error=said.error,
        failed=said.failed,
    )


def messages_for(missed: Missed) -> list[Message]:
    """Returns what the judge is told of a miss."""
    case, report = missed.case, missed.report
    language = case.presentation.language
    prompts = read_prompts(PROMPTS)[language]
    nothing = prompts("nothing")
    shown: dict[str, Any] = {
        "complaint": [case.presentation.complaint],
        "findings": read_out(case.record.findings, language),
        "diagnoses": [diagnosis.name for diagnosis in case.truth.diagnoses],
        "rationale": case.truth.rationale,
        "done": [prompts("whole_record")] if missed.done is None else missed.done,
        "report_diagnoses": [diagnosis.name for diagnosis in report.diagnoses],
        "report_rationale": report.rationale,
    }
    blanks = {name: points(items, nothing) for name, items in shown.items()}
    return [("system", prompts("reason")), ("user", prompts("shown", **blanks))]


def reason_by_rules(missed: Missed, rules: RulesJudge, names: Names) -> Reasoned:
    """Finds by rules why a diagnosis missed.

    1. Omission: an examination that the rationale of the reference speaks of has a result, and was never done.
    2. Complications: a diagnosis of the report is like one of the reference's further diagnoses, or stands in a finding
       or in what the patient tells.
    3. Erroneous otherwise.

    Args:
        missed: the miss.
        rules: say which names are alike.
        names: of examinations.
    """
    case, report = missed.case, missed.report
    recorded = names.of(case.record.findings)
    came = Reasoned(case=case.id, doctor=missed.doctor, reason=FailureReason.ERRONEOUS, source="rules", who="rules")
    if missed.done is not None:
        done = {finding.examination for name in missed.done for finding in recorded.look_up(name)[0]}
        needed = dict.fromkeys(f.examination for f in recorded.look_up("\n".join(case.truth.rationale))[0])
        if omitted := [name for name in needed if name not in done]:
            return msgspec.structs.replace(came, reason=FailureReason.OMISSION, analysis="; ".join(omitted))
    others = [diagnosis.name for diagnosis in case.truth.diagnoses[1:]]
    told = [text for _, text in case.record.history.sections()]
    told += [finding.value_text for finding in case.record.findings]
    for diagnosis in report.diagnoses:
        if any(rules.likeness(diagnosis.name, other) >= HALF for other in others) or any(
            coverage(diagnosis.name, text) >= 1 for text in (case.presentation.complaint, *told)
        ):
            return msgspec.structs.replace(came, reason=FailureReason.COMPLICATIONS, analysis=diagnosis.name)
    return came


def read_words(path: Path) -> dict[tuple[str, str], Word]:
    """Reads what people say of misses: JSON lines with `case`, `doctor`, `reason` and `who`.

    Raises:
        BadInput: the file cannot be read, a line is something else, or a case and doctor stand in it twice.
    """
    return read_people(
        path,
        Word,
        field="reason",
        kinds=FailureReason,
        names=lambda word: (word.case, word.doctor),
        of="case {} of doctor {}",
    )
