"""The language-model mind: one for every role and every provider.

What a role is told depends on what the role knows, and on nothing else: the prompts of a doctor are made from
`Doctor`, which holds no truth; those of a patient from `Patient`, which has been told what not to say.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from polyclinic.cases.patient_record import NotedConsultation, NotedLine, NotedVisit, PatientRecord
from polyclinic.cases.presentation import Presentation, Sex
from polyclinic.cases.record import Finding, History, read_out
from polyclinic.cases.report import Probability, Report
from polyclinic.events import Disputed, Established, Event, Examined, Reported, Revised, Role, Said, Shared, State
from polyclinic.language.ages import say_age
from polyclinic.language.language import MARKS, Language
from polyclinic.memory.entries import Experience
from polyclinic.memory.remembering import Situation, helpful, remembered_text, situation_text
from polyclinic.models.model import Image, Message, Model, Part, Text
from polyclinic.players.language_model.speaking import dialogue, prompts_for, said_in_form, turn_form
from polyclinic.players.player import MOST_POINTS, Ask, Choice, Disputes, NextStep, PatientTurn, Purpose, Triage
from polyclinic.players.roles.doctor import DECIDES, Doctor
from polyclinic.players.roles.examiner import Examiner
from polyclinic.players.roles.patient import Patient
from polyclinic.players.roles.staff import Director, Nurse, Pharmacist
from polyclinic.prompts import Prompts, read_prompts
from polyclinic.questions.shown import show_references
from polyclinic.yaml_files import read_yaml

PROMPTS = Path(__file__).with_suffix(".md")

Asked = Doctor | Patient | Examiner | Director | Nurse | Pharmacist


class WrittenDiagnosis(msgspec.Struct, frozen=True, omit_defaults=True):
    """A diagnosis as a model writes it; the code and the probability where it knows them."""

    name: str
    icd10: str | None = None
    probability: Probability | None = None


class WrittenReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A report as a model writes it: from left to right, and so the reasons before what they are for."""

    symptoms: tuple[str, ...]
    examinations: tuple[str, ...]
    rationale: tuple[str, ...]
    diagnoses: tuple[WrittenDiagnosis, ...]
    differential: tuple[WrittenDiagnosis, ...] = ()
    treatment: tuple[str, ...]


class PickedLines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The lines of the examiner's list that a request asks for; none where it is vague."""

    numbers: tuple[int, ...]


class NamedDisputes(msgspec.Struct, frozen=True, kw_only=True):
    """Points of dispute, after what the reports have in common and where they differ."""

    # A model that answers without a schema may leave it out.
    analysis: str = ""
    points: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_POINTS)]


_SPOKEN = (Purpose.SPEAK, Purpose.OPEN, Purpose.REPLY)
_FORMS: dict[Purpose, Any] = {
    Purpose.READ_REQUEST: PickedLines,
    Purpose.REPORT: WrittenReport,
    Purpose.REVISE: WrittenReport,
    Purpose.CONCLUDE: WrittenReport,
    Purpose.DISPUTE: NamedDisputes,
}
"""What a model answers in another form than other minds."""


class ModelMind:
    """A mind for every role that asks a language model."""

    def __init__(self, model: Model, *, name: str, temperature: float | None = None, sees: bool = False) -> None:
        self.name, self.sees = name, sees
        self._model, self._temperature = model, temperature

    async def answer(self, ask: Ask[Any], role: Asked) -> object:
        """Asks the model for an answer of the type that is wanted; fails as `Model.ask`."""
        language = role.language if isinstance(role, Examiner) else role.presentation.language
        if isinstance(role, Patient) and ask.purpose is Purpose.OPEN and (said := role.first_words()):
            # It opens the visit for every model alike, and so is the example of how this patient speaks.
            return PatientTurn(say=said, state=State.OPENING)
        prompts = read_prompts(PROMPTS)[language]
        messages = joined(messages_for(ask, role, prompts))
        if isinstance(role, Doctor) and role.pictures:
            # They follow the first thing that the user says: what does not change comes first.
            first = next(number for number, (who, _) in enumerate(messages) if who == "user")
            told = f"{messages[first][1]}\n\n{prompts('doctor_pictures')}"
            parts: tuple[Part, ...] = (Text(told), *(Image(url=picture.url) for picture in role.pictures))
            messages[first] = ("user", parts)
        if ask.question is not None:
            wanted: Any = tuple(ask.question.options)
        elif isinstance(role, Doctor | Patient) and ask.purpose in _SPOKEN:
            wanted = turn_form(role)
        elif ask.among or ask.purpose is Purpose.NEXT_STEP:
            wanted = form(ask.purpose, ask.among)
        else:
            wanted = _FORMS.get(ask.purpose, ask.answer)
        reply = await self._model.ask(messages, answer=wanted, temperature=self._temperature, purpose=ask.purpose)
        if ask.question is not None:
            return Choice(reply.value)
        if ask.purpose is Purpose.TRIAGE:
            return sent(reply.value)
        if isinstance(reply.value, NamedDisputes):
            return Disputes(reply.value.points)
        if ask.purpose in _SPOKEN:
            return said_in_form(reply.value)
        return reply.value if isinstance(reply.value, ask.answer) else msgspec.to_builtins(reply.value)

    async def helpful(self, experience: Sequence[Experience], situation: Situation) -> Sequence[Experience]:
        """Returns the experience that the model calls helpful; fails as `Model.ask` where no answer comes."""
        told, language = situation_text(situation), situation.language
        return await helpful(experience, told, language, self._model, temperature=self._temperature)


def messages_for(ask: Ask[Any], role: Asked, prompts: Prompts) -> list[Message]:
    """Returns what a role is told when it is asked for something."""
    match role:
        case Doctor():
            return doctor_messages(ask, role, prompts)
        case Patient():
            return patient_messages(ask, role, prompts)
        case Examiner():
            # The numbered names of what is recorded, without a result, then the request (table 11).
            listed = "\n".join(f"{number}. {name}" for number, name in enumerate(role.listed, start=1))
            recorded = prompts("examiner_recorded", listed=listed or "-")
            asked = prompts("examiner_request", request=role.request())
            return [("system", prompts("examiner")), ("user", recorded), ("user", asked)]
        case Director():
            if role.staging.ai_hospital and ask.purpose is not Purpose.MERGE:
                return chair_messages(ask.purpose, role)
            return director_messages(ask.purpose, role, describe(role.presentation))
        case Nurse():
            return nurse_messages(role, describe(role.presentation))
        case Pharmacist():
            return pharmacist_messages(role, describe(role.presentation))


def doctor_messages(ask: Ask[Any], doctor: Doctor, prompts: Prompts) -> list[Message]:
    """Returns what a doctor is told: the case, then the dialogue so far, then what is wanted."""
    if doctor.staging.ai_hospital and ask.purpose is Purpose.REVISE:
        return colleague_messages(doctor)
    language, messages = doctor.presentation.language, _case(doctor, prompts)
    # What the patient says to the examiner comes back as results.
    heard = (e for e in doctor.seen if not (isinstance(e, Said) and e.to is Role.EXAMINER and e.who is not Role.DOCTOR))
    messages += dialogue(heard, doctor)
    if ask.purpose is Purpose.REVISE:
        return [*messages, *discussion_messages(doctor, _report_wanted(doctor))]
    if doctor.references:
        # As late as can be: what stands before it stays the same from turn to turn.
        messages.append(("user", show_references(doctor.references, language)))
    for recalled in doctor.came_to_mind if ask.purpose in DECIDES else ():
        messages += [("user", text)] if (text := remembered_text(recalled, language)) else []
    if doctor.staging.dialogue_alone and ask.purpose is Purpose.SPEAK:
        return messages
    return [*messages, ("user", _last(ask, doctor, prompts))]


def _case(doctor: Doctor, prompts: Prompts) -> list[Message]:
    """Returns what a doctor is told before the dialogue."""
    language, presentation = doctor.presentation.language, describe(doctor.presentation)
    interns, online = prompts_for("ai_hospital", language), prompts_for("online", language)
    if doctor.record is not None:
        record = "\n".join(known_lines(doctor.record.history, doctor.record.findings, language))
        if doctor.staging.ai_hospital:
            return [("system", interns("intern_record", record=f"- {presentation}\n{record}"))]
        return [("system", prompts("doctor_record", presentation=presentation, record=record))]
    if doctor.staging.ai_hospital:
        return [("system", interns("intern")), ("user", prompts("doctor_first"))]
    thought = [online("thought")] if doctor.staging.thinks else []
    if doctor.setting == "online":
        if doctor.staging.dialogue_alone:
            told = online("doctor paper", rounds=doctor.max_turns + 1)
        else:
            told = online("doctor", max_turns=doctor.max_turns, presentation=presentation)
        parts = [told, online("answer concludes" if doctor.staging.concludes else "answer"), *thought]
        return [("system", "\n\n".join(parts)), ("user", online("first"))]
    parts = [post_text(doctor), prompts("doctor", presentation=presentation, max_turns=doctor.max_turns)]
    if (most := doctor.max_examinations) is not None:
        parts.append(prompts("doctor_examinations", most=most) if most else prompts("doctor_no_examination"))
    parts += [*thought, free_text(doctor), record_text(doctor.past, language)]
    return [("system", "\n\n".join(filter(None, parts))), ("user", prompts("doctor_first"))]


def _last(ask: Ask[Any], doctor: Doctor, prompts: Prompts) -> str:
    """Returns what is wanted of a doctor now."""
    if ask.purpose is Purpose.NEXT_STEP:
        return next_step_text(ask, doctor)
    if ask.purpose is Purpose.REPORT:
        return _report_wanted(doctor)
    if ask.question is None:
        return prompts("doctor_turns_left", left=doctor.turns_left())
    stem, options = ask.question.stem, ask.question.options.items()
    if ask.purpose is Purpose.PLAN:
        return prompts("doctor_plan", disease=stem, options="\n".join(f"{key}: {text}" for key, text in options))
    blanks = {"question": stem, "options": "\n".join(f"{key}. {text}" for key, text in options)}
    online = prompts_for("online", doctor.presentation.language)
    if doctor.record is not None:  # AIE's MCQE
        return online("choose record", **blanks)
    return online("choose paper", **blanks) if doctor.staging.dialogue_alone else prompts("doctor_choose", **blanks)


def _report_wanted(doctor: Doctor) -> str:
    """Returns how a doctor is asked for its report, after a visit or from a record."""
    of = "visit" if doctor.record is None else "record"
    return asked_for_report(doctor.presentation.language, of=of)


def patient_messages(ask: Ask[Any], patient: Patient, prompts: Prompts) -> list[Message]:
    """Returns what a patient is told: who it is and what it knows, then the dialogue so far."""
    language = patient.presentation.language
    known = known_lines(patient.history, patient.findings, language)
    blanks = {
        "presentation": describe(patient.presentation),
        "history": "\n".join((*known, *remembered_lines(patient.remembered, language))),
        "persona": _persona(patient, prompts),
    }
    theirs, of_theirs = prompts_for("ai_hospital", language), patient.staging.ai_hospital
    told = theirs("patient", **blanks) if of_theirs else prompts(f"patient_{patient.setting}", **blanks)
    messages = [("system", told), ("user", prompts("patient_open")), *dialogue(patient.seen, patient)]
    if of_theirs and patient.seen and isinstance(patient.seen[-1], Examined):
        messages.append(("user", theirs("patient_retells")))
    return messages


def _persona(patient: Patient, prompts: Prompts) -> str:
    """Returns who a patient is beside its illness; nobody in particular where it has no persona."""
    persona = patient.persona
    if persona is None:
        return prompts("persona_none")
    texts = [persona.life, persona.events, persona.character, persona.speech]
    questions = "\n".join(f"- {question}" for question in persona.questions)
    return prompts(
        "persona",
        person="\n".join(text for text in texts if text),
        manner=prompts(f"manner {persona.manner}"),
        questions=questions or prompts("persona_no_questions"),
    )


def joined(messages: list[Message]) -> list[Message]:
    """Returns the messages with neighbours of the same role made one; many servers take only alternating roles."""
    merged: list[Message] = []
    for role, text in messages:
        if merged and merged[-1][0] == role:
            merged[-1] = (role, f"{merged[-1][1]}\n\n{text}")
        else:
            merged.append((role, text))
    return merged


def describe(presentation: Presentation) -> str:
    """Returns a presentation in one line."""
    words = _words()[presentation.language]
    parts = [presentation.complaint]
    if presentation.age is not None:
        of_infant = presentation.age < 1
        parts.append(
            words["months"].format(months=round(12 * presentation.age))
            if of_infant
            else words["age"].format(age=presentation.age)
        )
    if presentation.sex is not None:
        parts.append(words[presentation.sex])
    if presentation.about:
        parts.append(presentation.about)
    return MARKS[presentation.language].semicolon.join(parts)


def history_lines(history: History, language: Language) -> list[str]:
    """Returns a history line by line, each with the name of its section."""
    words = _words()[language]
    return [f"- {words[section]}{MARKS[language].colon}{text}" for section, text in history.sections()]


def known_lines(history: History, findings: tuple[Finding, ...], language: Language) -> list[str]:
    """Returns a history and findings line by line."""
    return [*history_lines(history, language), *(f"- {text}" for text in read_out(findings, language))]


@functools.cache
def _words() -> dict[Language, dict[str, str]]:
    return read_yaml(Path(__file__).with_suffix(".yaml"), dict[Language, dict[str, str]])


_WHO: dict[Language, dict[Role, str]] = {
    "en": {Role.PATIENT: "patient", Role.EXAMINER: "examiner"},
    "zh": {Role.PATIENT: "病人", Role.EXAMINER: "检查科"},
}


def asked_for_report(language: Language, *, of: str = "") -> str:
    """Returns how a report is asked for: "visit" or "record", what it is written from; "" only says the form."""
    prompts = prompts_for("reports", language)
    return "\n\n".join([*([prompts(of)] if of else []), prompts("form")])


def as_written(report: Report) -> str:
    """Returns a report in the form in which a model is asked for one."""
    return msgspec.json.encode(msgspec.convert(report, WrittenReport, from_attributes=True)).decode()


def discussion_messages(doctor: Doctor, asked_to_report: str) -> list[Message]:
    """Returns what a doctor is told of the discussion, after its consultation and how it was asked for its report."""
    language = doctor.presentation.language
    prompts = prompts_for("discussion", language)
    messages: list[Message] = []
    for event in doctor.seen:
        if isinstance(event, Reported):
            messages += [("user", asked_to_report), ("assistant", as_written(event.report))]
            messages.append(("user", prompts("doctor_team", doctor=doctor.number)))
        elif isinstance(event, Revised) and event.doctor == doctor.number:
            messages.append(("assistant", as_written(event.report)))
        elif isinstance(event, Established | Revised | Disputed):
            messages.append(("user", _told_of(event, prompts, language)))
    wanted = "doctor_revise_facts"
    if any(isinstance(event, Revised) for event in doctor.seen):
        # Who was never told of a dispute (the ablation) is not asked to take a stand on one.
        disputes = any(isinstance(event, Disputed) for event in doctor.seen)
        wanted = "doctor_revise" if disputes else "doctor_revise_without"
    return [*messages, ("user", prompts(wanted))]


def director_messages(purpose: Purpose, director: Director, presentation: str) -> list[Message]:
    """Returns what a director is told: the case, the discussion so far, then what is wanted."""
    language = director.presentation.language
    prompts = prompts_for("discussion", language)
    doctors = len(director.shared())
    known = [prompts("known before", presentation=presentation)] if presentation.strip() else []
    told = (_told_of(event, prompts, language) for event in director.seen)
    asked_again = any(isinstance(event, Said) for event in director.seen)
    final = purpose is Purpose.MERGE and (asked_again or not director.may_ask)
    wanted = prompts(f"director_{purpose}{'_final' if final else ''}")
    if purpose is Purpose.CONCLUDE:
        wanted += f"\n\n{asked_for_report(language)}"
    instructions = "\n\n".join([prompts("director", doctors=doctors), *known])
    return [("system", instructions), *(("user", text) for text in told), ("user", wanted)]


def _told_of(event: Event, prompts: Prompts, language: Language) -> str:
    """Returns an event of the discussion as somebody is told of it who did not bring it about."""
    who = _WHO[language]
    match event:
        case Shared() | Established():
            results = read_out(event.findings, language)
            blanks = {
                "symptoms": _lines(event.symptoms),
                # What stands below word for word need not stand twice.
                "examinations": _lines(item for item in event.examinations if item not in results),
                "findings": _lines(results),
            }
            if isinstance(event, Shared):
                return prompts("shared", doctor=event.doctor, **blanks)
            return prompts("facts", **blanks)
        case Revised(report=report):
            diagnoses = (
                d.name
                + (f" ({d.icd10})" if d.icd10 else "")
                + (f", {100 * d.probability:.0f} %" if d.probability is not None else "")
                for d in report.diagnoses
            )
            blanks = _report(report, diagnoses) | {"doctor": str(event.doctor)}
            return (
                prompts("report_before", **blanks)
                if event.round == 0
                else prompts("report", round=event.round, **blanks)
            )
        case Disputed():
            return prompts("disputed", points=_lines(event.points)) if event.points else prompts("undisputed")
        case Said() if event.who is Role.DIRECTOR:
            return prompts("asked", whom=who[event.to], text=event.text)
        case Said():
            return prompts("answered", who=who[event.who], text=event.text)
        case Examined():
            return prompts("answered", who=who[Role.EXAMINER], text=event.text)
        case _:
            raise TypeError(f"no part of a discussion that is told: {type(event).__name__}")


def _report(report: Report, diagnoses: Iterable[str]) -> dict[str, str]:
    """Returns the blanks of a report."""
    return {
        "diagnoses": _lines(diagnoses),
        "rationale": _lines(report.rationale),
        "treatment": _lines(report.treatment),
    }


def _lines(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "-"


def colleague_messages(doctor: Doctor) -> list[Message]:
    """Returns what a doctor of a conference is told (Table 15): the facts of all, its report, then the others'.

    Its own consultation is not told again: what counts of it stands among the facts.
    """
    language = doctor.presentation.language
    prompts = prompts_for("ai_hospital", language)
    latest = {event.doctor: event.report for event in doctor.seen if isinstance(event, Revised)}
    own = next(event.report for event in doctor.seen if isinstance(event, Reported))
    facts = next(event for event in reversed(doctor.seen) if isinstance(event, Established))
    told = prompts(
        "colleague",
        doctor=_letter(doctor.number),
        report=_unsigned(latest.get(doctor.number, own), prompts),
        **_facts(facts, language),
    )
    form = asked_for_report(language)
    if not latest:
        return [("system", told), ("user", f"{prompts('colleague_facts')}\n\n{form}")]
    disputed = next((event for event in reversed(doctor.seen) if isinstance(event, Disputed)), None)
    rules = prompts("colleague_revises_without" if disputed is None else "colleague_revises")
    others = [
        _lettered_report(number, report, prompts)
        for number, report in sorted(latest.items())
        if number != doctor.number
    ]
    points = [prompts("points", points=_lines(disputed.points))] if disputed is not None else []
    return [("system", f"{told}\n\n{rules}\n\n{form}"), ("user", "\n\n".join([*others, *points]))]


def chair_messages(purpose: Purpose, director: Director) -> list[Message]:
    """Returns what a director is told who names what is in dispute, or concludes (Table 16): facts and last reports."""
    language, standing, facts = director.presentation.language, director.standing(), director.established()
    assert facts is not None  # noqa: S101
    prompts = prompts_for("ai_hospital", language)
    told = prompts("chair", doctors=len(standing), **_facts(facts, language))
    reports = [_lettered_report(event.doctor, event.report, prompts) for event in standing]
    if purpose is Purpose.CONCLUDE:
        wanted = f"{prompts('chair_concludes')}\n\n{asked_for_report(language)}"
    else:
        wanted = prompts("chair_disputes")
    return [("system", told), ("user", "\n\n".join([*reports, wanted]))]


def _facts(facts: Established, language: Language) -> dict[str, str]:
    results = read_out(facts.findings, language)
    examinations = [*results, *(item for item in facts.examinations if item not in results)]
    return {"symptoms": _lines(facts.symptoms), "examinations": _lines(examinations)}


def _lettered_report(number: int, report: Report, prompts: Prompts) -> str:
    return prompts("reports", doctor=_letter(number), report=_unsigned(report, prompts))


def _unsigned(report: Report, prompts: Prompts) -> str:
    return prompts("report", **_report(report, (diagnosis.name for diagnosis in report.diagnoses)))


def _letter(number: int) -> str:
    """Returns A of doctor 1, B of doctor 2; of the 27th, who has no letter, the number."""
    return chr(ord("A") + number - 1) if 1 <= number <= 26 else str(number)


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
