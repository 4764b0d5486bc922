"""How far a simulated patient is to be trusted: said wherever a doctor who is a language model meets one who is not.

What a doctor is found to be depends on what the patient understands, and a model asks in words that no rule has seen. A
doctor by rules asks in words that the rules know, and a script is nobody who is measured: of them nothing is said.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.players.mind_names import Playing, model_of, name_of
from polyclinic.yaml_files import read_yaml


class PatientTrust(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often a patient takes a doctor's turn for what it is."""

    agreement: float  # percent of turns whose state is that of the published tracker
    constant: float  # the same of always the commonest state
    turns: int  # how many turns it was measured on
    of: str  # whose turns they are
    command: str  # what measures it
    reference: str = ""  # with whom it agrees, and how far that one is to be trusted
    seen: bool = True  # whether the rules were made on these cases
    # The same as `agreement` of turns in another language than their case's; None where not measured.
    other_language: float | None = None

    @property
    def line(self) -> str:
        """The same in one line, for people."""
        return (
            f"the patient is played by rules: of {self.turns:,} {self.of} it took {self.agreement:g} % "
            f"as AIE's tracker did (always the commonest: {self.constant:g} %); figures: docs/patients.md"
        )


@functools.cache
def _figures() -> dict[str, PatientTrust]:
    return read_yaml(Path(__file__).with_suffix(".yaml"), dict[str, PatientTrust])


def trust_in(patient: Playing, doctors: Iterable[Playing]) -> PatientTrust | None:
    """Returns how far a patient is to be trusted with these doctors; None where nothing is to be said."""
    if not any(model_of(doctor) is not None for doctor in doctors):
        return None
    return _figures().get(name_of(patient))


def trust_fields(trust: PatientTrust | None) -> dict[str, Any]:
    """Returns what results hold of it under a name of its own; nothing where nothing is to be said."""
    return {} if trust is None else {"patient_trust": msgspec.to_builtins(trust)}
