"""Prompts of a hospital's staff: the nurse, the pharmacist, and a doctor with its post and the patient's record."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.cases.patient_record import NotedConsultation, NotedLine, NotedVisit, PatientRecord
from polyclinic.cases.presentation import Sex
from polyclinic.cases.record import read_out
from polyclinic.language.ages import say_age
from polyclinic.language.language import MARKS, Language
from polyclinic.models.model import Message
from polyclinic.players.language_model.speaking import prompts_for
from polyclinic.players.player import Ask, NextStep, Purpose, Triage
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.staff import Nurse, Pharmacist
from polyclinic.prompts import Prompts

PROMPTS = Path(__file__).with_suffix(".md")


def post_text(doctor: Doctor) -> str:
    """Returns what a doctor is told of its post; "" of one who has none."""
    post, language = doctor.post, doctor.presentation.language
    if post is None:
        return ""
    prompts, marks = prompts_for("hospital", language), MARKS[language]
    whole = prompts(
        "post",
        name=prompts("named", name=post.name) if post.name else prompts("unnamed"),
        hospital=_spaced(prompts("of_hospital", hospital=post.hospital), language) if post.hospital else "",
        department=post.department_name,
        about=f"{post.about}{marks.blank}" if post.about else "",
        skill=prompts(f"skill {post.skill}"),
        departments=_keyed(post.departments.items()),
    )
    limits = _filled(prompts, orders=marks.item.join(post.orders), candidates=marks.item.join(post.candidates))
    return "\n\n".join([whole, *limits, prompts("may")])


def free_text(doctor: Doctor) -> str:
    """Returns which examinations are not limited, where some are; "" else."""
    if not doctor.free or doctor.max_examinations is None:
        return ""
    language = doctor.presentation.language
    return prompts_for("hospital", language)("free", free=MARKS[language].item.join(sorted(doctor.free)))


def next_step_text(ask: Ask[NextStep], doctor: Doctor) -> str:
    """Returns what a doctor is asked after its report: with the departments that it may refer to."""
    prompts = prompts_for("hospital", doctor.presentation.language)
    if not ask.among:
        return prompts("next_step_here")
    names = {} if doctor.post is None else doctor.post.departments
    return prompts("next_step", departments=_keyed((key, names.get(key, key)) for key in ask.among))


def record_text(past: PatientRecord | None, language: Language) -> str:
    """Returns the record of a patient as colleagues read it; "" where it holds nothing."""
    if past is None or past.is_empty:
        return ""
    prompts = prompts_for("hospital", language)
    visits = [
        prompts(
            "earlier_visit",
            day=visit.day,
            illness=_spaced(prompts("same_illness"), language) if visit.illness == past.today.illness else "",
            noted="\n".join(_noted(visit, prompts, language)),
        )
        for visit in past.earlier
    ]
    if today := _noted(past.today, prompts, language):
        visits.append(prompts("today", noted="\n".join(today)))
    return prompts("record", visits="\n".join(visits))


def remembered_lines(visits: Iterable[str], language: Language) -> list[str]:
    """Returns what a patient remembers of its visits, as lines of its history."""
    text = MARKS[language].blank.join(visits)
    return [prompts_for("hospital", language)("remembered", visits=text)] if text else []


def _noted(visit: NotedVisit, prompts: Prompts, language: Language) -> list[str]:
    item = MARKS[language].item
    lines: list[str] = []
    if (triage := visit.triage) is not None and (triage.findings or triage.reason or triage.said):
        noted = (*read_out(triage.findings, language), *filter(None, [triage.reason]))
        lines.append(prompts("triage", noted=MARKS[language].semicolon.join(noted) or prompts("not_known")))
        lines += [_said(line, prompts) for line in triage.said]
    for held in visit.consultations:
        lines += _consultation(held, prompts, language)
    return lines + _filled(
        prompts,
        done=item.join(visit.treatment),
        handed_out=item.join(visit.handed_out),
        withheld=item.join(visit.withheld),
        outcome=visit.outcome and prompts(visit.outcome),
    )


def _filled(prompts: Prompts, **texts: str) -> list[str]:
    """Returns prompts of one blank each, those whose text is not empty."""
    return [prompts(name, **dict.fromkeys(prompts.blanks[name], text)) for name, text in texts.items() if text]


def _consultation(held: NotedConsultation, prompts: Prompts, language: Language) -> list[str]:
    marks = MARKS[language]
    names = marks.item.join(diagnosis.name for diagnosis in held.diagnoses)
    results = marks.semicolon.join(read_out(held.findings, language))
    noted = _filled(prompts, symptoms=marks.item.join(held.symptoms), results=results, diagnoses=names)
    noted += [] if names else [prompts("no_diagnosis")]
    noted += _filled(prompts, reasons=marks.semicolon.join(held.rationale))
    if held.step == "refer":
        noted.append(prompts("referred", department=held.refer_to, reason=held.reason))
    elif held.step == "admit":
        noted.append(prompts("admitted", reason=held.reason))
    doctor = _spaced(prompts("by_doctor", doctor=held.doctor), language) if held.doctor else ""
    line = prompts("consultation", department=held.department, doctor=doctor, noted=marks.semicolon.join(noted))
    return [line, *(_said(one, prompts) for one in held.said)]


def _said(line: NotedLine, prompts: Prompts) -> str:
    return f"  {prompts('said', who=prompts(line.who), text=line.text)}"


def who(age: float | None, sex: Sex | None, language: Language) -> str:
    """Returns somebody's age and sex in words."""
    prompts = prompts_for("hospital", language)
    said = [say_age(age, language)] if age is not None else []
    return MARKS[language].comma.join([*said, *([prompts(sex)] if sex is not None else [])]) or prompts("not_known")


def _spaced(text: str, language: Language) -> str:
    """Returns what goes on in a sentence, behind a space where the language has them; the files hold none."""
    return f" {text}" if language == "en" else text


_Acuity = Literal[1, 2, 3, 4, 5, "emergency", "urgent", "routine"]
"""A level, as the prompt asks for it; some models say it in a word, and are understood."""


@functools.lru_cache(maxsize=256)
def form(purpose: Purpose, among: tuple[str, ...]) -> Any:
    """Returns the type of an answer that names departments, or prescribed drugs: only those that there are."""
    if purpose is Purpose.NEXT_STEP:
        step = Literal["conclude", "refer", "admit"] if among else Literal["conclude", "admit"]
        where = Literal["", *among]  # type: ignore[valid-type]
        fields: list[Any] = [("reason", str), ("step", step), ("department", where)]
        return msgspec.defstruct("Onward", fields, frozen=True)
    name = Literal[among]  # type: ignore[valid-type]
    if purpose is Purpose.TRIAGE:
        # The reason comes first: a model writes from left to right, and must not decide before it has reasoned.
        return msgspec.defstruct(
            "Sent", [("reason", str), ("department", name), ("acuity", _Acuity), ("ask", str, "")], frozen=True
        )
    withheld = msgspec.defstruct("Kept", [("drug", name), ("reason", str)], frozen=True)
    return msgspec.defstruct("Counter", [("withheld", tuple[withheld, ...])], frozen=True)  # type: ignore[valid-type]


def nurse_messages(nurse: Nurse, presentation: str) -> list[Message]:
    """Returns what a nurse is told: the departments, then who comes, what she measured, asked and was told."""
    language = nurse.presentation.language
    prompts = prompts_for("staff", language)
    left = nurse.questions_left()
    measured = "\n".join(f"- {text}" for text in read_out(nurse.vital_signs(), language))
    noted = record_text(nurse.past, language)
    return [
        ("system", prompts("nurse", departments=_keyed(nurse.departments.items()))),
        ("user", prompts("nurse_patient", presentation=presentation, measured=measured or prompts("not_known"))),
        *([("user", noted)] if noted else []),
        *(message for asked, told in nurse.exchanges() for message in (("assistant", asked), ("user", told))),
        ("user", prompts("nurse_may_ask", left=left) if left > 0 else prompts("nurse_last")),
    ]


def sent(form: Any) -> Triage:
    """Returns the judgement that a model put into a form."""
    acuity: _Acuity = form.acuity
    if isinstance(acuity, int):
        return Triage.at(acuity, form.department, form.reason, form.ask)
    return Triage(form.department, acuity, form.reason, ask=form.ask)


def pharmacist_messages(pharmacist: Pharmacist, presentation: str) -> list[Message]:
    """Returns what a pharmacist is told: the patient as it comes to the counter, and the prescription."""
    language = pharmacist.presentation.language
    prompts, known = prompts_for("staff", language), pharmacist.known
    unknown = prompts("not_known")
    told = prompts(
        "pharmacist_patient",
        presentation=presentation,
        allergies=known.allergies or unknown,
        medications=known.medications or unknown,
        past=known.past or unknown,
        pregnant=prompts("yes") if known.pregnant else unknown,
        kidneys=unknown if known.egfr is None else prompts("kidneys", egfr=f"{known.egfr:.0f}"),
        drugs=_keyed((drug.id, drug.name.get(language)) for drug in pharmacist.prescription),
    )
    noted = record_text(pharmacist.past, language)
    return [("system", prompts("pharmacist")), ("user", f"{told}\n\n{noted}" if noted else told)]


def _keyed(things: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- {key}: {name}" for key, name in things)
