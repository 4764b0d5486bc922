"""A triage shift: a person plays the nurse, patient after patient, and decides how soon each must be seen.

The nurse sees each patient and the vital signs, may ask a few questions, and gives one of five levels. The right levels
are shown at the end. For each view, the patient is received again with the questions that were asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import msgspec
from starlette.routing import BaseRoute

from polyclinic.cases.case import Case
from polyclinic.errors import PersonLeft, UserError
from polyclinic.events import Examined
from polyclinic.hospital.care.triage import EpisodeStopped, TriageStation
from polyclinic.knowledge.acuity import Level
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.players.minds import Minds
from polyclinic.players.player import Ask, Triage
from polyclinic.players.roles.staff import MAX_QUESTIONS, Nurse
from polyclinic.seeds import derive
from polyclinic.web.chair.catalogue import CaseAt, Catalogue
from polyclinic.web.chair.view import shown_results
from polyclinic.web.practice import Entry, Moves, Practice
from polyclinic.web.refused import NotNow
from polyclinic.web.replies import get, post

_CLINIC = "clinic"
_REASON = {"en": "as a person judged it", "zh": "由人判断"}


class NewShift(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Some patients of a set, drawn by the seed among those with a triage level."""

    set: str = "shipped"
    patients: Annotated[int, msgspec.Meta(ge=1, le=40)] = 8
    seed: int = 0


class NursesMove(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the nurse does: asks, or judges with a level from 1 (at once) to 5."""

    ask: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    level: Annotated[int, msgspec.Meta(ge=1, le=5)] | None = None


class ShiftEntry(Entry[NursesMove], frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An entry of a shift: first its patients, then the moves."""

    patients: tuple[CaseAt, ...] = ()


class NurseShift:
    """One shift; see the module. Patients answer by rules."""

    def __init__(self, kept: Moves[ShiftEntry], catalogue: Catalogue, knowledge: Knowledge) -> None:
        self._kept, self._knowledge = kept, knowledge
        self._cases = [catalogue.case(at) for at in kept.entries[0].patients]

    def _at(self) -> tuple[int, list[NursesMove]]:
        """Returns how many were judged, and what was asked of the patient at the door."""
        moves: list[NursesMove] = self._kept.moves
        judged = [place for place, move in enumerate(moves) if move.level is not None]
        return len(judged), moves[judged[-1] + 1 if judged else 0 :]

    async def view(self) -> dict[str, Any]:
        """Returns the shift as far as it has come; `number` is that of the current patient, from 1."""
        number, asked = self._at()
        shown = {"id": self._kept.id, "moves": len(self._kept.moves), "number": number + 1, "of": len(self._cases)}
        if number == len(self._cases):
            over: dict[str, Any] = {"patient": None, "signs": [], "exchanges": [], "questions_left": 0}
            return shown | over | {"received": await self._received()}
        nurse = await self._receive(self._cases[number], asked)
        return shown | {
            "patient": self._cases[number].presentation,
            "signs": shown_results(event for event in nurse.seen if isinstance(event, Examined)),
            "exchanges": nurse.exchanges(),
            "questions_left": nurse.questions_left(),
            "received": [],
        }

    async def make(self, move: NursesMove, *, after: int) -> None:
        """Makes a move; one that is sent twice is made once."""
        if not self._kept.is_next(move, after):
            return
        number, asked = self._at()
        if number == len(self._cases):
            raise NotNow("the shift is over")
        if bool(move.ask.strip()) == (move.level is not None):
            raise UserError("either ask a question, or give a level from 1 to 5")
        if move.level is None and len(asked) >= MAX_QUESTIONS:
            raise NotNow(f"at most {MAX_QUESTIONS} questions per patient; now give a level")
        self._kept.keep(move)

    async def _receive(self, case: Case, asked: Sequence[NursesMove]) -> Nurse:
        """Receives a patient as far as was asked, and returns what the nurse knows then."""
        left, seen = list(asked), list[Nurse]()

        def nurse(_: Ask[Any], role: Nurse) -> Triage:
            seen[:] = [role]
            if not left:
                raise PersonLeft("the nurse thinks")
            reason = _REASON[case.presentation.language]
            return Triage(_CLINIC, "emergency", reason, ask=left.pop(0).ask)

        with suppress(PersonLeft, EpisodeStopped):
            await self._station(case, Minds(nurse=nurse, knowledge=self._knowledge, seed=0))
        return seen[0]

    async def _station(self, case: Case, minds: Minds) -> Level:
        _, at_door = await TriageStation(self._knowledge).receive(
            case, minds, key=case.id, departments={_CLINIC: _CLINIC}, max_questions=MAX_QUESTIONS
        )
        return at_door.level

    async def _received(self) -> list[dict[str, Any]]:
        given = [move.level for move in self._kept.moves if move.level is not None]
        rules = Minds(knowledge=self._knowledge, seed=0)
        return [
            {
                "patient": case.presentation,
                "diagnosis": "; ".join(one.name for one in case.truth.diagnoses),
                "given": level,
                "so": case.truth.acuity,
                "rules": await self._station(case, rules),
            }
            for case, level in zip(self._cases, given, strict=True)
        ]


class _NextNursesMove(msgspec.Struct, forbid_unknown_fields=True):
    after: int
    move: NursesMove


def nursing(practice: Practice, catalogue: Catalogue, knowledge: Knowledge) -> list[BaseRoute]:
    """Returns the routes."""

    def shift(id: str) -> NurseShift:
        return NurseShift(practice.moves("shift", id, ShiftEntry), catalogue, knowledge)

    async def begin(new: NewShift) -> dict[str, Any]:
        places = (CaseAt(set=new.set, key=key) for key in catalogue.keys(new.set))
        known = [at for at in places if catalogue.case(at).truth.acuity is not None]
        if not known:
            raise UserError("none of these cases has a triage level; choose another set")
        patients = derive(new.seed, "shift", new.set).sample(known, min(new.patients, len(known)))
        kept = practice.begin("shift", ShiftEntry, patients=tuple(patients))
        return await NurseShift(kept, catalogue, knowledge).view()

    async def moved(next_move: _NextNursesMove, id: str) -> dict[str, Any]:
        theirs = shift(id)
        await theirs.make(next_move.move, after=next_move.after)
        return await theirs.view()

    return [
        post("/shifts", NewShift, begin, status=201),
        get("/shifts/{id}", lambda id: shift(id).view()),
        post("/shifts/{id}/moves", _NextNursesMove, moved),
    ]
