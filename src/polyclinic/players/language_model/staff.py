"""What a language model is told as nurse and as pharmacist, and the forms of what it answers."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.models.model import Message
from polyclinic.players.player import Purpose, Urgency
from polyclinic.players.roles.nurse import Nurse
from polyclinic.players.roles.pharmacist import Pharmacist
from polyclinic.prompts import read_prompts

PROMPTS = Path(__file__).with_suffix(".md")


@functools.lru_cache(maxsize=256)
def form(purpose: Purpose, among: tuple[str, ...]) -> Any:
    """Returns the type of an answer that names departments, or prescribed drugs: only those that there are."""
    name = Literal[among]  # type: ignore[valid-type]
    if purpose is Purpose.TRIAGE:
        return msgspec.defstruct("Sent", [("department", name), ("acuity", Urgency), ("reason", str)], frozen=True)
    withheld = msgspec.defstruct("Kept", [("drug", name), ("reason", str)], frozen=True)
    return msgspec.defstruct("Counter", [("withheld", tuple[withheld, ...])], frozen=True)  # type: ignore[valid-type]


def nurse_messages(nurse: Nurse, presentation: str) -> list[Message]:
    """Returns what a nurse is told: the departments, then who comes."""
    prompts = read_prompts(PROMPTS)[nurse.presentation.language]
    return [
        ("system", prompts("nurse", departments=_keyed(nurse.departments.items()))),
        ("user", prompts("nurse_patient", presentation=presentation)),
    ]


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
    return [("system", prompts("pharmacist")), ("user", told)]


def _keyed(things: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- {key}: {name}" for key, name in things)
