"""How those who speak in a visit are asked, and how the dialogue so far is told to them.

What a model said before stands in the form in which it is asked now; what it hears has the speaker's name before it. A
form has no field that would stay empty: who cannot turn to an examiner is not asked whom it speaks to.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.events import Event, Examined, Role, Said
from polyclinic.language.language import MARKS, Language
from polyclinic.models.model import Message
from polyclinic.players.player import Ask, Purpose
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.patient import Patient
from polyclinic.prompts import read_prompts
from polyclinic.yaml_files import read_yaml

ONLINE = Path(__file__).with_name("online.md")

_Form = type[msgspec.Struct]


@functools.cache
def _form(name: str, *fields: tuple[str, Any] | tuple[str, Any, Any]) -> _Form:
    # Whoever answers without a schema may leave out what is as usual; what is not asked for counts for nothing.
    return msgspec.defstruct(name, fields, frozen=True, kw_only=True)


def turn_form(role: Doctor | Patient) -> _Form:
    """Returns the form of what is said in a turn: a private thought first, where the doctor has one."""
    if isinstance(role, Patient):
        to = [("to", Literal["doctor", "examiner"], "doctor")] if role.setting == "ward" else []
        return _form("PatientSays", ("say", str), *to, ("leave", bool, False))
    thought = [("thought", str, "")] if role.thinks else []
    concludes = [("conclude", bool, False)] if role.concludes else []
    return _form("DoctorSays", *thought, ("say", str), *concludes)


def said_in_form(value: object) -> dict[str, Any]:
    """Returns what was said in a turn as everybody may know it, without the thought."""
    built: dict[str, Any] = msgspec.to_builtins(value)
    built.pop("thought", None)
    return built


def online_messages(doctor: Doctor, presentation: str) -> list[Message]:
    """Returns what a doctor of an online visit is told before the dialogue."""
    prompts = read_prompts(ONLINE)[doctor.presentation.language]
    if doctor.dialogue_alone:
        told = prompts("doctor paper", rounds=doctor.max_turns + 1)
    else:
        told = prompts("doctor", max_turns=doctor.max_turns, presentation=presentation)
    answer = prompts("answer concludes" if doctor.concludes else "answer")
    parts = [told, answer, *([prompts("thought")] if doctor.thinks else [])]
    return [("system", "\n\n".join(parts)), ("user", prompts("first"))]


def choose_text(ask: Ask[Any], doctor: Doctor) -> str:
    """Returns how AIE's diagnosis is asked for: from the conversation (aie-saps §4.3), or the whole record (MCQE)."""
    prompts = read_prompts(ONLINE)[doctor.presentation.language]
    assert ask.question is not None and ask.purpose is Purpose.CHOOSE  # noqa: S101
    options = "\n".join(f"{key}. {text}" for key, text in ask.question.options.items())
    return prompts(
        "choose paper" if doctor.record is None else "choose record", question=ask.question.stem, options=options
    )


def dialogue(seen: Iterable[Event], role: Doctor | Patient, form: _Form | None = None) -> list[Message]:
    """Returns what was said and found as it is told to one of those who speak: its own words in the form it answers in.

    That is by default the form of its turns.
    """
    speaker = Role.DOCTOR if isinstance(role, Doctor) else Role.PATIENT
    fields = (form or turn_form(role)).__struct_fields__
    language = role.presentation.language
    return [
        ("assistant", _as_answer(event, fields))
        if isinstance(event, Said) and event.who is speaker
        else ("user", named(event, language))
        for event in seen
        if isinstance(event, Said | Examined)
    ]


def named(event: Said | Examined, language: Language) -> str:
    """Returns what is said or read out with the name of who speaks before it."""
    who = event.who if isinstance(event, Said) else Role.EXAMINER
    return f"{_speakers()[language][who]}{MARKS[language].colon}{event.text}"


def _as_answer(said: Said, fields: tuple[str, ...]) -> str:
    answer = {"say": said.text, "to": said.to, "conclude": False, "leave": False}
    return msgspec.json.encode({name: answer[name] for name in fields if name in answer}).decode()


@functools.cache
def _speakers() -> dict[Language, dict[Role, str]]:
    return read_yaml(Path(__file__).with_suffix(".yaml"), dict[Language, dict[Role, str]])
