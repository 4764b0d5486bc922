"""Visits that people play in a browser, move by move, in the same loop as any visit.

Each visit runs in its own task, which waits for the next move. After a restart or an undo it is replayed with the
remaining moves: rules answer as before, and models from a journal. All moves are kept. The trace of a completed visit
is a normal trace file.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import BadInput, PolyclinicError, UserError
from polyclinic.evaluations.visit_score import NotedDifferential, PlayScore, Scored, Scorer, record_told
from polyclinic.events import End, Failed, Trace
from polyclinic.files import make_folder
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.models.tally import SharedAnswers
from polyclinic.players.human.advice import Hint
from polyclinic.players.human.moves import (
    ConcludeMove,
    HintMove,
    Move,
    NoteMove,
    OrderMove,
    ReportMove,
    SayMove,
    Turn,
    UndoMove,
)
from polyclinic.players.human.people import MoveNow, order_names_of
from polyclinic.players.minds import Minds
from polyclinic.players.player import Purpose
from polyclinic.players.roles.doctor import Doctor
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.visit import Visit, attend, see
from polyclinic.web.chair.catalogue import CaseAt, Catalogue
from polyclinic.web.chair.staff import Staff
from polyclinic.web.practice import Entry, Moves, Practice
from polyclinic.web.refused import NotNow

MOST_MOVES = 400  # moves of a sitting, including those that were taken back
_AT_ONCE = 200  # visits in memory; another one is held once more from its moves
_LOOKED = 500  # visits that are searched for a list, the latest first

TRACES = "visits"  # the folder of traces, below that of practice


class PlayRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """With which patient a case is played, and what is allowed."""

    patient: str = "rules"
    max_turns: Annotated[int, msgspec.Meta(ge=1, le=50)] = MAX_TURNS
    hints: bool = True  # whether there are hints
    undo: bool = True  # whether turns can be taken back


class PlayedCase(PlayRules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which case is played, and by whom."""

    case: CaseAt
    student: str = ""


class VisitEntry(Entry[Move], frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An entry of a visit: first the case that is played, then the moves."""

    played: PlayedCase | None = None


class GivenHint(msgspec.Struct, frozen=True, kw_only=True):
    """A hint, and after how many turns of the doctor it was given."""

    turn: int
    hint: Hint


class Sitting:
    """One visit that is played, from the case and the moves that are kept; see the module.

    `minds` returns the players for a patient's name; `answers` are the earlier answers of models in this visit.
    """

    def __init__(
        self,
        kept: Moves[VisitEntry],
        case: Callable[[CaseAt], Case],
        minds: Callable[[str], Awaitable[Minds]],
        *,
        answers: SharedAnswers | None = None,
    ) -> None:
        self._answers = answers or SharedAnswers()
        self.id, self.kept = kept.id, kept
        first = kept.entries[0].played
        if first is None:
            raise UserError(f"the visit {kept.id} does not begin with what is played")
        self.played, self.case = first, case(first.case)
        self._minds_of = minds
        self.minds: Minds | None = None
        self._settled = asyncio.Event()  # the visit waits for a move, or is over
        self._one_at_a_time = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._restart()

    def _restart(self) -> None:
        """Forgets the results of the moves, but not the moves."""
        self._ahead = asyncio.Queue[Turn | HintMove | NoteMove]()  # moves that are to be made
        for move in standing(self.moves):
            self._ahead.put_nowait(move)
        self.purpose: Purpose | None = None
        self.trace = Trace()
        self.visit: Visit | None = None
        self.problem = ""  # why another player gave no usable answer; the last move can be taken back
        self.turns_left = self.played.max_turns
        self.hints: list[GivenHint] = []
        self.notes: list[NotedDifferential] = []
        self._settled.clear()

    @property
    def moves(self) -> list[Move]:
        """All moves that were made."""
        return self.kept.moves

    @property
    def taken_back(self) -> int:
        """How often a turn was taken back."""
        return sum(isinstance(move, UndoMove) for move in self.moves)

    @property
    def turn(self) -> int:
        """How many turns the doctor has had."""
        return self.played.max_turns - self.turns_left

    @property
    def is_over(self) -> bool:
        """Whether the report is handed in, and nothing can be taken back any more."""
        return self.visit is not None and self.visit.report is not None

    async def settle(self) -> None:
        """Holds the visit as far as the moves go."""
        if self._task is None:
            self._task = asyncio.create_task(self._hold())
        await self._settled.wait()

    async def make(self, move: Move, *, after: int) -> None:
        """Makes a move and waits for its result; the sender knows of so many moves. One sent twice is made once."""
        async with self._one_at_a_time:
            await self.settle()
            if not self.kept.is_next(move, after):
                return
            self._check(move)
            self.kept.keep(move)
            if isinstance(move, UndoMove):
                await self.close()
                self._restart()
            else:
                self._settled.clear()
                self._ahead.put_nowait(move)
            await self.settle()

    async def close(self) -> None:
        """Ends the task; the moves are kept."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def _check(self, move: Move) -> None:
        """Raises NotNow where a move cannot be made now."""
        undo, report = isinstance(move, UndoMove), isinstance(move, ReportMove)
        speaks = isinstance(move, SayMove | OrderMove | ConcludeMove)
        problems = {
            "the report is handed in, and the visit is over": self.is_over,
            f"a visit has at most {MOST_MOVES} moves; begin a new visit": len(self.moves) >= MOST_MOVES,
            "nothing can be taken back in this class": undo and not self.played.undo,
            "there is nothing to take back": undo
            and all(isinstance(one, HintMove | NoteMove) for one in standing(self.moves)),
            "take back the last step first, then try again": self.problem and not undo,
            "there are no hints in this class": isinstance(move, HintMove) and not self.played.hints,
            "end the talk first, then hand in the report": report and self.purpose is not Purpose.REPORT,
            "the talk is over; hand in the report": speaks and self.purpose is not Purpose.SPEAK,
        }
        for problem, is_so in problems.items():
            if is_so:
                raise NotNow(problem)

    async def next(self, purpose: Purpose, role: Doctor) -> MoveNow:
        """Waits for the next move; called from the doctor's chair."""
        self.purpose, self.turns_left = purpose, role.turns_left()
        if self._ahead.empty():
            self._settled.set()
        move = await self._ahead.get()
        if isinstance(move, NoteMove):
            self.notes.append(NotedDifferential(turn=self.turn, diagnoses=move.diagnoses))
        return move

    def show_hint(self, hint: Hint) -> None:
        """Keeps a hint for the player."""
        self.hints.append(GivenHint(turn=self.turn, hint=hint))

    async def _hold(self) -> None:
        """Holds the visit; an error becomes a problem that the player sees."""
        try:
            self.minds = await self._minds_of(self.played.patient)
            # A journal keeps the answers of a model by visit; by rules everybody meets the same patient.
            key = "" if self.played.patient == "rules" else f"{self.case.id} {self.id}"
            seated = self.minds.having(answers=self._answers, chair=self)
            turns = self.played.max_turns
            self.visit = (await attend(self.case, seated, max_turns=turns, key=key, watch=self.trace.append)).visit
            if self.visit.end is End.FAILED:
                failed = self.trace.last(Failed)
                self.problem = f"the {failed.who} gave no answer: {failed.error}" if failed else "no answer came"
        except PolyclinicError as error:
            self.problem = error.problem if isinstance(error, BadInput) else str(error)
        finally:
            self._settled.set()


def standing(moves: list[Move]) -> list[Turn | HintMove | NoteMove]:
    """Returns the moves that count: an undo takes away the last turn before it; hints and notes stay."""
    left: list[Turn | HintMove | NoteMove] = []
    for move in moves:
        if not isinstance(move, UndoMove):
            left.append(move)
            continue
        last = max((i for i, one in enumerate(left) if not isinstance(one, HintMove | NoteMove)), default=None)
        if last is not None:
            del left[last]
    return left


class PlayedVisits:
    """All visits that are played on a server: begun, taken up and scored."""

    def __init__(self, practice: Practice, *, catalogue: Catalogue, knowledge: Knowledge, staff: Staff) -> None:
        self.practice, self.catalogue, self.staff = practice, catalogue, staff
        self.order_names = order_names_of(knowledge)
        self._knowledge = knowledge
        self._scorer: Scorer | None = None
        self._sittings: dict[str, Sitting] = {}
        self._answers: defaultdict[str, SharedAnswers] = defaultdict(SharedAnswers)
        self._comparing = asyncio.Lock()
        self._beside: dict[tuple[str, str, str], PlayScore] = {}

    def begin(self, played: PlayedCase) -> Sitting:
        """Begins a visit."""
        self.catalogue.case(played.case)
        self.staff.check_patient(played.patient)
        return self.sitting(self.practice.begin("visit", VisitEntry, played=played).id)

    def sitting(self, id: str) -> Sitting:
        """Returns a visit; one that is not in memory is read."""
        if id in self._sittings:
            self._sittings[id] = self._sittings.pop(id)
            return self._sittings[id]
        kept = self.practice.moves("visit", id, VisitEntry)
        self._sittings[id] = Sitting(kept, self.catalogue.case, self.staff.minds, answers=self._answers[id])
        return self._sittings[id]

    def of_nobodys_class(self, most: int) -> list[tuple[Sitting, Scored | None]]:
        """Returns the latest visits that belong to no class, with their scores, if they can be read and are offered."""
        found: list[tuple[Sitting, Scored | None]] = []
        for id, entries in self.practice.latest("visit", list[VisitEntry], _LOOKED).items():
            with suppress(UserError, IndexError):
                sitting = Sitting(Moves(self.practice, "visit", id, entries), self.catalogue.case, self.staff.minds)
                if not sitting.played.student:
                    found.append((sitting, self.stored_score(id)))
            if len(found) == most:
                break
        return found

    async def settled(self, sitting: Sitting) -> Sitting:
        """Holds a visit as far as its moves go, and frees the memory of those that were not asked for of late."""
        while len(self._sittings) > _AT_ONCE:
            await self._sittings.pop(next(iter(self._sittings))).close()
        await sitting.settle()
        return sitting

    async def close(self) -> None:
        """Ends whatever waits."""
        for sitting in self._sittings.values():
            await sitting.close()
        await self.staff.close()

    def stored_score(self, id: str) -> Scored | None:
        """Returns the score of a visit; None if it was not scored, or by another version, whose scores differ."""
        with suppress(BadInput):
            return self.practice.get("score", id, Scored)
        return None

    async def scored(self, sitting: Sitting) -> Scored:
        """Returns the score of a visit with the truth and the scores of others; keeps it, and the trace."""
        if (stored := self.stored_score(sitting.id)) is not None:
            return stored
        await sitting.settle()
        if not sitting.is_over or sitting.visit is None or sitting.minds is None:
            raise NotNow("the visit is not over; its score comes with the report")
        scorer = await self._scorer_ready()
        own = await scorer.score(
            sitting.case,
            sitting.visit,
            sitting.minds,
            doctor="human",
            hints=[given.hint.rung for given in sitting.hints],
            notes=sitting.notes,
        )
        scored = Scored(
            truth=sitting.case.truth,
            record=record_told(sitting.case.record),
            own=own,
            beside=tuple([await self._seen_by(doctor, sitting) for doctor in self.staff.players.beside]),
            taken_back=sitting.taken_back,
            seconds=sitting.kept.entries[-1].at - sitting.kept.entries[0].at,
        )
        traces = self.practice.folder / TRACES
        make_folder(traces)
        sitting.visit.trace.write(traces / f"{sitting.id}.trace.jsonl")
        self.practice.put("score", sitting.id, scored)
        return scored

    def trace(self, sitting: Sitting) -> str:
        """Returns the trace of a visit that is over, as JSON lines."""
        if not sitting.is_over or sitting.visit is None:
            raise NotNow("the visit is not over; its trace would give the diagnosis away")
        return sitting.visit.trace.sealed()

    async def _seen_by(self, doctor: str, sitting: Sitting) -> PlayScore:
        played = sitting.played
        key = (doctor, played.patient, f"{played.case.set}/{played.case.key}/{played.max_turns}")
        async with self._comparing:
            if key not in self._beside:
                minds = await self.staff.minds(played.patient, doctor)
                visit: Visit = await see(sitting.case, minds, max_turns=played.max_turns)
                self._beside[key] = await (await self._scorer_ready()).score(sitting.case, visit, minds, doctor=doctor)
            return self._beside[key]

    async def _scorer_ready(self) -> Scorer:
        if self._scorer is None:
            names = (await self.staff.minds(self.staff.players.patients[0])).examination_names
            self._scorer = Scorer(self._knowledge, names, judge=await self.staff.judge())
        return self._scorer
