"""The doctor: knows the presentation and what was said and found in its hearing; in one step, the whole record.

In a team a doctor has a number. It then hears the discussion too: the facts, every report, the points of dispute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar

from polyclinic.cases.patient_record import PatientRecord
from polyclinic.cases.presentation import Presentation, ShownPassage
from polyclinic.cases.record import Record, read_out
from polyclinic.events import Examined, Role, Said
from polyclinic.players.player import Ask, Mind, PlayedRole, Purpose
from polyclinic.players.roles.post import Post
from polyclinic.retrieval.looking_up import LookingUp

T = TypeVar("T")

_LOOKS_UP = (Purpose.SPEAK, Purpose.REPORT, Purpose.CHOOSE)
"""What a doctor looks things up for. In a discussion it keeps what it found last."""


@dataclass(eq=False)
class Doctor(PlayedRole):
    """The doctor of one visit.

    Attributes:
        max_turns: how often the doctor may speak.
        record: the whole record, for a diagnosis in one step without a dialogue.
        number: which doctor of a team it is, from 1; 0 where it works alone.
        max_examinations: how many examinations may be done; None for any number.
        free: names of examinations that do not count among them.
        post: who it is in a hospital, and what it may do there; None of a doctor without one.
        past: what the hospital noted of the patient before; None where it notes nothing.
        looking_up: what it may look things up in before it speaks, reports or chooses; nothing where None.
        told: called with what it found, where that is not what it found before.
        references: what it found last.
    """

    mind: Mind[Doctor]
    presentation: Presentation
    _: KW_ONLY
    max_turns: int
    record: Record | None = None
    number: int = 0
    max_examinations: int | None = None
    free: frozenset[str] = frozenset()
    post: Post | None = None
    past: PatientRecord | None = None
    looking_up: LookingUp | None = None
    told: Callable[[tuple[ShownPassage, ...]], None] = lambda _: None
    references: tuple[ShownPassage, ...] = ()

    async def act(self, ask: Ask[T]) -> T:
        """Looks up what fits what is known so far, and answers; see `Player.act`."""
        if self.looking_up is not None and ask.purpose in _LOOKS_UP:
            found = await self.looking_up.references(self._known(ask))
            if found != self.references:
                self.references = found
                self.told(found)
        return await super().act(ask)

    def _known(self, ask: Ask[Any]) -> str:
        """Returns what is known, the latest last."""
        language = self.presentation.language
        parts = [self.presentation.complaint, self.presentation.about]
        if self.record is not None:
            parts += [text for _, text in self.record.history.sections()]
            parts += read_out(self.record.findings, language)
        heard = (event for event in self.seen if isinstance(event, Said | Examined))
        parts += [event.text for event in heard if isinstance(event, Examined) or event.who is Role.PATIENT]
        parts += [ask.question.stem] if ask.question is not None else []
        return "\n".join(part for part in parts if part)

    def turns_left(self) -> int:
        """Returns how often the doctor may still speak."""
        spoken = sum(isinstance(e, Said) and e.who == "doctor" for e in self.seen)
        return self.max_turns - spoken

    def may_order(self) -> bool:
        """Returns whether another examination may be done."""
        if self.max_examinations is None:
            return True
        done = {f.examination for e in self.seen if isinstance(e, Examined) for f in e.findings}
        return len(done - self.free) < self.max_examinations
