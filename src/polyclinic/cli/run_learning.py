"""How doctors learn from their patients in a run of the hospital, as it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Group, Parameter

from polyclinic.errors import UserError
from polyclinic.hospital.care.remembering import about_memories, check_learns
from polyclinic.hospital.care.setup import Feedback, LearningSetup, MemoryHolder
from polyclinic.hospital.learning import read_whole
from polyclinic.hospital.record.memories import open_brought
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language
from polyclinic.memory.opening import version_of
from polyclinic.players.mind_names import model_of
from polyclinic.run import options
from polyclinic.settings import setting


@Parameter(name="*", group=Group("Learning", sort_key=8))
@dataclass(frozen=True, kw_only=True)
class LearningOptions:
    """How doctors learn from their patients; None where it was left out."""

    learn: Annotated[bool, Parameter(negative="")] = False
    """Let doctors learn from their patients; they remember it from the next day on."""
    memory: Annotated[Path | None, options.DIR, setting("learning")] = None
    """Memory that all doctors start with, such as the folder of 'polyclinic evolve --out'."""
    memory_of: Annotated[MemoryHolder | None, setting("learning")] = None
    """Whose a memory is: each doctor's (default), or one of all in its department."""
    feedback: Annotated[Feedback | None, setting("learning")] = None
    """What is learnt of a patient: what was right, after the visit (default), or only how it went on."""

    read: Annotated[str | None, Parameter(metavar="NAME"), setting("learning")] = None
    """Off their shifts doctors read this corpus (see polyclinic corpus search), or its folder; for models."""
    passages_a_day: Annotated[int | None, options.POSITIVE, Parameter(show_default="1"), setting("learning")] = None
    """So many passages of it each reads a day, or each department."""

    def setup(self, knowledge: Knowledge, language: Language, doctor: str, *, kept: bool) -> LearningSetup | None:
        """Returns how doctors learn in a run; None where they neither learn nor remember."""
        if not self.learn:
            idle = {"learning.feedback": self.feedback, "learning.read": self.read}
            if self.memory is None:
                idle["learning.memory-of"] = self.memory_of
            for option, value in idle.items():
                if value is not None:
                    raise UserError(f"{option} says how doctors learn; it needs --learn, or leave it out")
            if self.memory is None:
                return None
        if self.passages_a_day is not None and self.read is None:
            raise UserError("learning.passages-a-day has no effect without learning.read; leave it out")
        if self.read is not None:
            if model_of(doctor) is None:
                raise UserError(f"learning.read is for a doctor who reads, a language model, and not for {doctor}")
            if not kept:
                raise UserError("learning.read keeps what is read with the run; say where with --out DIR")
            read_whole(self.read, language)
        check_learns(doctor)
        setup = LearningSetup(
            learns=self.learn,
            holder=self.memory_of or "doctor",
            feedback=self.feedback or "truth",
            language=language,
            version=version_of(None),
            reads=self.read or "",
            passages=self.passages_a_day or 1,
        )
        if self.memory is None:
            return setup
        if doctor == "rules":
            raise UserError("learning.memory is for a doctor who reads: recall, a model, or a mind of your own")
        with open_brought(self.memory, about_memories(knowledge, setup), language) as brought:
            return msgspec.structs.replace(setup, version=version_of(brought))


FORGETFUL = LearningOptions()
