"""The nurse: sees who comes through the door, and says which department and how soon (agent-hospital §3.4.2)."""

from __future__ import annotations

from collections.abc import Mapping

from polyclinic.cases.presentation import Presentation
from polyclinic.players.player import Mind, PlayedRole


class Nurse(PlayedRole):
    """The nurse of one visit.

    Args:
        mind: who answers.
        presentation: what is known before anybody has asked.
        departments: those of the hospital, id to name in the language of the visit.
    """

    def __init__(self, mind: Mind[Nurse], presentation: Presentation, departments: Mapping[str, str]) -> None:
        super().__init__(mind)
        self.presentation = presentation
        self.departments = dict(departments)
