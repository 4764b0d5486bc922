"""The nurse: sees who comes through the door, and says which department and how soon (agent-hospital §3.4.2)."""

from __future__ import annotations

from collections.abc import Mapping

from polyclinic.cases.presentation import Presentation
from polyclinic.players.player import Ask, Mind, T


class Nurse:
    """The nurse of one visit.

    Args:
        mind: who answers.
        presentation: what is known before anybody has asked.
        departments: those of the hospital, id to name in the language of the visit.
    """

    def __init__(self, mind: Mind[Nurse], presentation: Presentation, departments: Mapping[str, str]) -> None:
        self.presentation = presentation
        self.departments = dict(departments)
        self._mind = mind

    @property
    def name(self) -> str:
        """The mind that plays."""
        return self._mind.name

    async def act(self, ask: Ask[T]) -> T:
        """Answers; see `Player.act`."""
        return ask.check(await self._mind.answer(ask, self))
