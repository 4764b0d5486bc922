"""The doctor: knows the presentation and what was said and found in its hearing; in one step, the whole record."""

from __future__ import annotations

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Record
from polyclinic.events import Event, Said
from polyclinic.players.player import Ask, Mind, T


class Doctor:
    """The doctor of one visit.

    Args:
        mind: who answers.
        presentation: what is known before asking.
        max_turns: how often the doctor may speak.
        record: the whole record, for a diagnosis in one step without a dialogue.
    """

    def __init__(
        self, mind: Mind[Doctor], presentation: Presentation, *, max_turns: int, record: Record | None = None
    ) -> None:
        self.presentation = presentation
        self.record = record
        self.max_turns = max_turns
        self.seen: list[Event] = []
        self._mind = mind

    @property
    def name(self) -> str:
        """The mind that plays."""
        return self._mind.name

    def observe(self, event: Event) -> None:
        """Takes note of what happened in the doctor's hearing."""
        self.seen.append(event)

    def turns_left(self) -> int:
        """Returns how often the doctor may still speak."""
        spoken = sum(isinstance(e, Said) and e.who == "doctor" for e in self.seen)
        return self.max_turns - spoken

    async def act(self, ask: Ask[T]) -> T:
        """Answers; see `Player.act`."""
        return ask.check(await self._mind.answer(ask, self))
