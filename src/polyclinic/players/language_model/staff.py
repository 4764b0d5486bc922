"""What a language model is told as nurse and as pharmacist, and the forms of what it answers."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.cases.record import read_out
from polyclinic.models.model import Message
from polyclinic.players.language_model.hospital import record_text
from polyclinic.players.player import Purpose, Triage
from polyclinic.players.roles.nurse import Nurse
from polyclinic.players.roles.pharmacist import Pharmacist
from polyclinic.prompts import read_prompts

PROMPTS = Path(__file__).with_suffix(".md")

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
    prompts = read_prompts(PROMPTS)[language]
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
    prompts, known = read_prompts(PROMPTS)[language], pharmacist.known
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
