"""The nurse: sees who comes through the door, and says which department and how soon (agent-hospital §3.4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyclinic.cases.presentation import Presentation
from polyclinic.players.player import Mind, PlayedRole


@dataclass(eq=False)
class Nurse(PlayedRole):
    """The nurse of one visit; the hospital's departments are id to name in the language of the visit."""

    mind: Mind[Nurse]
    presentation: Presentation
    departments: Mapping[str, str]
