"""The doctor: knows the presentation and what was said and found in its hearing; in one step, the whole record.

It may look things up, and may remember patients of its own: what fits comes before it decides.

In a team a doctor has a number. It then hears the discussion too: the facts, every report, the points of dispute.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import msgspec

from polyclinic.cases.patient_record import PatientRecord
from polyclinic.cases.pictures import SeenPicture
from polyclinic.cases.presentation import Presentation, Setting, ShownPassage
from polyclinic.cases.record import History, Record, read_out
from polyclinic.events import Examined, Role, Said
from polyclinic.memory.entries import ClinicalTask, Experience, picture_of
from polyclinic.players.player import Ask, Mind, PlayedRole, Purpose
from polyclinic.players.staging import OURS, Staging
from polyclinic.retrieval.retriever import LookingUp

if TYPE_CHECKING:
    from polyclinic.memory.remembering import Recollection, Remembered, Situation

Skill = Literal["junior", "specialist", "senior"]
"""How practised a doctor is. By rules a junior is content with less certainty, and a senior with more."""


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """A doctor's post; texts are in the language of the visit."""

    name: str = ""
    hospital: str = ""
    department: str  # its id; what the rules doctor knows goes by it
    departments: Mapping[str, str]  # all that see patients here, id to name
    skill: Skill = "specialist"
    about: str = ""
    orders: tuple[str, ...] = ()  # names of what it may order; not said where empty
    candidates: tuple[str, ...] = ()  # names of the diseases that the diagnosis is one of; not said where empty

    @property
    def department_name(self) -> str:
        """The name of its department."""
        return self.departments.get(self.department, self.department)


T = TypeVar("T")

_LOOKS_UP = (Purpose.SPEAK, Purpose.REPORT, Purpose.CHOOSE)
"""What a doctor looks things up for. In a discussion it keeps what it found last."""

DECIDES: dict[Purpose, tuple[ClinicalTask, ...]] = {
    Purpose.SPEAK: (ClinicalTask.EXAMINATION,),
    Purpose.REPORT: (ClinicalTask.DIAGNOSIS, ClinicalTask.TREATMENT),
    Purpose.CHOOSE: (ClinicalTask.DIAGNOSIS,),
    Purpose.PLAN: (ClinicalTask.TREATMENT,),
}
"""What a doctor remembers other patients for: while it may order examinations, and before it concludes."""

Judge: TypeAlias = "Callable[[Sequence[Experience], Situation], Awaitable[Sequence[Experience]]]"
"""Says which experience helps with a patient."""


@dataclass(eq=False)
class Doctor(PlayedRole):
    """The doctor of one visit."""

    mind: Mind[Doctor]
    presentation: Presentation
    _: KW_ONLY
    max_turns: int  # how often the doctor may speak
    record: Record | None = None  # the whole record, for a diagnosis in one step without a dialogue
    number: int = 0  # which doctor of a team it is, from 1; 0 where it works alone
    max_examinations: int | None = None  # how many examinations may be done; None for any number
    free: frozenset[str] = frozenset()  # names of examinations that do not count among them
    post: Post | None = None  # who it is in a hospital, and what it may do there
    past: PatientRecord | None = None  # what the hospital noted of the patient before
    looking_up: LookingUp | None = None  # what it may look things up in before it speaks, reports or chooses
    # Called with what it found or remembered, where that is not what it was before.
    told: Callable[[tuple[ShownPassage, ...]], None] = lambda _: None
    references: tuple[ShownPassage, ...] = ()  # what it found last
    case: str = ""  # who the patient is, so that what was learnt from this very one stays out
    remembering: Recollection | None = None  # what it remembers of patients of its own
    reminded: bool = True  # whether what it remembers comes to its mind before it decides; else its mind asks for it
    judges: Judge | None = None  # says which experience helps here, and leaves the rest out; None lets all of it in
    came_to_mind: tuple[Remembered, ...] = ()  # what of its memory it thinks of for what it is asked
    _judged: dict[tuple[Experience, ...], tuple[Experience, ...]] = field(init=False, default_factory=dict)
    setting: Setting = "ward"  # `online` where it meets the patient in words alone, without an examiner
    staging: Staging = OURS
    pictures: tuple[SeenPicture, ...] = ()  # what it sees of the patient

    async def act(self, ask: Ask[T]) -> T:
        """Looks up what fits what is known so far, and answers; see `Player.act`."""
        if self.looking_up is not None and ask.purpose in _LOOKS_UP:
            found = await self.looking_up.references(self._known(ask))
            if found != self.references:
                self.references = found
                self.told(found)
        if self.remembering is not None and self.reminded and ask.purpose in DECIDES:
            from polyclinic.memory.remembering import read_once  # noqa: PLC0415 - only of a doctor with a memory

            came = read_once([await self._remember(task, ask) for task in DECIDES[ask.purpose]])
            if came != self.came_to_mind:
                self.came_to_mind = came
                self.told(tuple(passage for recalled in came for passage in recalled.passages()))
        return await super().act(ask)

    async def _remember(self, task: ClinicalTask, ask: Ask[Any]) -> Remembered:
        """Returns what comes to mind for a task, with the experience that helps."""
        from polyclinic.memory.remembering import Situation  # noqa: PLC0415 - only of a doctor with a memory

        assert self.remembering is not None  # noqa: S101
        diagnosis = "" if ask.purpose is not Purpose.PLAN or ask.question is None else ask.question.stem
        picture = self.picture(task, diagnosis=diagnosis)
        situation = Situation(task, picture, self._known(ask), self.presentation.language, self.case)
        recalled = await self.remembering.bring(situation)
        experience = recalled.principles
        if not experience or self.judges is None:
            return recalled
        if experience not in self._judged:
            self._judged[experience] = tuple(await self.judges(experience, situation))
        kept = self._judged[experience]
        return msgspec.structs.replace(
            recalled, experience=tuple(pair for pair in recalled.experience if pair[0] in kept)
        )

    def picture(self, task: ClinicalTask, *, diagnosis: str = "", until: int | None = None) -> str:
        """Returns by what a patient like this one is found again for a task.

        An examination is decided by what the patient says alone (§4.3.1). `diagnosis` is what the doctor takes it for,
        if that is decided; with `until`, only so many events in its hearing count.
        """
        if self.record is not None:
            record = self.record
            return picture_of(self.presentation, record.history, record.findings, diagnosis=diagnosis)
        seen = self.seen[:until]
        told = (e for e in seen if isinstance(e, Said) and e.who is Role.PATIENT and e.to is Role.DOCTOR)
        said = [event.text for event in told]
        found = [finding for event in seen if isinstance(event, Examined) for finding in event.findings]
        if self.past is not None:
            # What colleagues were told and found today.
            noted = self.past.today
            before = [held.said for held in noted.consultations]
            said = [line.text for lines in before for line in lines if line.who == "patient"] + said
            found = [*noted.findings, *found]
        return picture_of(
            self.presentation,
            History(),
            None if task is ClinicalTask.EXAMINATION else found,
            diagnosis=diagnosis,
            said=said or (self.presentation.complaint,),
        )

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
        # A greeting stands in turn 0, and is no turn of the doctor's own.
        spoken = sum(isinstance(e, Said) and e.who == "doctor" and e.turn > 0 for e in self.seen)
        return self.max_turns - spoken

    def may_order(self) -> bool:
        """Returns whether another examination may be done."""
        if self.max_examinations is None:
            return True
        done = {f.examination for e in self.seen if isinstance(e, Examined) for f in e.findings}
        return len(done - self.free) < self.max_examinations
