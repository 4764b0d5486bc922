"""What the rules doctor does with a patient after its report: it treats, refers or admits; what is so plays no part.

1. A likeliest diagnosis that another department sees is a referral to that department.
2. Without a diagnosis the patient goes on to the department that is the likeliest of those that have not seen the
   patient, in the light of the complaint, the symptoms that the report names and all results so far; nowhere, where
   none of them has anything that it may be.
3. A plan that is followed in a bed admits the patient.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding
from polyclinic.cases.report import Report
from polyclinic.knowledge.bayes import Reader, normalise
from polyclinic.knowledge.disease_names.known import disease_meant
from polyclinic.knowledge.plans import Disposition
from polyclinic.language.language import Language
from polyclinic.players.onward import NextStep
from polyclinic.players.roles.post import Post
from polyclinic.players.rules.nurse import at_the_door, by_department, symptoms_told
from polyclinic.players.rules.words import WORDS

_WORTH_SENDING = 0.01
"""A department is not asked for what is less likely than this to be its."""


class NextStepSayings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why the rules doctor concludes, refers or admits; blanks are named."""

    treated: str
    nobody: str
    theirs: str
    likeliest: str
    admitted: str
    places: dict[Disposition, str]


next_step_sayings = WORDS.section("next_step", NextStepSayings)


def step_after(
    report: Report,
    presentation: Presentation,
    findings: Iterable[Finding],
    *,
    post: Post,
    others: Collection[str],
    disposition: Disposition,
    reader: Reader,
) -> NextStep:
    """Returns what comes after a report.

    Args:
        report: the doctor's.
        presentation: what was known at the door.
        findings: all results so far.
        post: the doctor's.
        others: the departments that the patient may be sent on to.
        disposition: where the plan for the likeliest disease treats.
        reader: the whole knowledge.
    """
    language: Language = presentation.language
    say = next_step_sayings(language)
    if report.diagnoses:
        name = report.diagnoses[0].name
        disease = disease_meant(name, reader.knowledge)
        sees = post.department if disease is None else disease.department
        if sees in others:
            there = post.departments.get(sees, sees)
            return NextStep(say.theirs.format(disease=name, department=there), "refer", sees)
        if disposition != "home":
            return NextStep(say.admitted.format(disease=name, place=say.places[disposition]), "admit")
        return NextStep(say.treated)
    department, share = _likeliest(report, presentation, findings, others, reader)
    if not department:
        return NextStep(say.nobody)
    there = post.departments.get(department, department)
    return NextStep(say.likeliest.format(department=there, percent=100 * share), "refer", department)


def _likeliest(
    report: Report, presentation: Presentation, findings: Iterable[Finding], others: Collection[str], reader: Reader
) -> tuple[str, float]:
    """Returns the department whose it most likely is, and how likely; "" where it is hardly any's."""
    told = dict.fromkeys(symptoms_told(reader, presentation))
    for text in report.symptoms:
        read = reader.lexicons[presentation.language].read(text)
        told.update(dict.fromkeys(symptom for symptom, present in read.items() if present))
    log = at_the_door(reader, presentation, told)
    for finding in findings:
        known = reader.finding(finding)
        if known is not None:
            log = log + known[2]
    shares = by_department(reader, normalise(log))
    best = max(others, key=lambda d: shares.get(d, 0.0), default="")
    return (best, shares[best]) if shares.get(best, 0.0) >= _WORTH_SENDING else ("", 0.0)
