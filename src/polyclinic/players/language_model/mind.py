"""The language-model mind: one for every role and every provider.

What a role is told depends on what the role knows, and on nothing else: the prompts of a doctor are made from
`Doctor`, which holds no truth; those of a patient from `Patient`, which has been told what not to say.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, read_out
from polyclinic.events import Examined, Role, Said, State
from polyclinic.language.language import MARKS, Language
from polyclinic.memory.entries import Experience
from polyclinic.memory.remembering import Situation, helpful, remembered_text, situation_text
from polyclinic.models.model import Image, Message, Model, Part, Text
from polyclinic.players.language_model.discussion import (
    WrittenReport,
    asked_for_report,
    chair_messages,
    colleague_messages,
    director_messages,
    discussion_messages,
)
from polyclinic.players.language_model.speaking import dialogue, prompts_for, said_in_form, turn_form
from polyclinic.players.language_model.staff import (
    form,
    free_text,
    next_step_text,
    nurse_messages,
    pharmacist_messages,
    post_text,
    record_text,
    remembered_lines,
    sent,
)
from polyclinic.players.player import MOST_POINTS, Ask, Choice, Disputes, PatientTurn, Purpose
from polyclinic.players.roles.doctor import DECIDES, Doctor
from polyclinic.players.roles.examiner import Examiner
from polyclinic.players.roles.patient import Patient
from polyclinic.players.roles.staff import Director, Nurse, Pharmacist
from polyclinic.prompts import Prompts, read_prompts
from polyclinic.questions.shown import show_references
from polyclinic.yaml_files import read_yaml

PROMPTS = Path(__file__).with_suffix(".md")

Asked = Doctor | Patient | Examiner | Director | Nurse | Pharmacist


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
            if role.ai_hospital and ask.purpose is not Purpose.MERGE:
                return chair_messages(ask.purpose, role)
            return director_messages(ask.purpose, role, describe(role.presentation))
        case Nurse():
            return nurse_messages(role, describe(role.presentation))
        case Pharmacist():
            return pharmacist_messages(role, describe(role.presentation))


def doctor_messages(ask: Ask[Any], doctor: Doctor, prompts: Prompts) -> list[Message]:
    """Returns what a doctor is told: the case, then the dialogue so far, then what is wanted."""
    if doctor.ai_hospital and ask.purpose is Purpose.REVISE:
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
    if doctor.dialogue_alone and ask.purpose is Purpose.SPEAK:
        return messages
    return [*messages, ("user", _last(ask, doctor, prompts))]


def _case(doctor: Doctor, prompts: Prompts) -> list[Message]:
    """Returns what a doctor is told before the dialogue."""
    language, presentation = doctor.presentation.language, describe(doctor.presentation)
    interns, online = prompts_for("ai_hospital", language), prompts_for("online", language)
    if doctor.record is not None:
        record = "\n".join(known_lines(doctor.record.history, doctor.record.findings, language))
        if doctor.ai_hospital:
            return [("system", interns("intern_record", record=f"- {presentation}\n{record}"))]
        return [("system", prompts("doctor_record", presentation=presentation, record=record))]
    if doctor.ai_hospital:
        return [("system", interns("intern")), ("user", prompts("doctor_first"))]
    thought = [online("thought")] if doctor.thinks else []
    if doctor.setting == "online":
        if doctor.dialogue_alone:
            told = online("doctor paper", rounds=doctor.max_turns + 1)
        else:
            told = online("doctor", max_turns=doctor.max_turns, presentation=presentation)
        parts = [told, online("answer concludes" if doctor.concludes else "answer"), *thought]
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
    return online("choose paper", **blanks) if doctor.dialogue_alone else prompts("doctor_choose", **blanks)


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
    theirs = prompts_for("ai_hospital", language)
    told = theirs("patient", **blanks) if patient.ai_hospital else prompts(f"patient_{patient.setting}", **blanks)
    messages = [("system", told), ("user", prompts("patient_open")), *dialogue(patient.seen, patient)]
    if patient.ai_hospital and patient.seen and isinstance(patient.seen[-1], Examined):
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
