"""A visit that somebody plays in a browser: move after move, kept on disk, and held by the same loop as any visit.

The visit goes on in a task of its own, and waits in the doctor's chair for the next move. After a restart, or where a
move was taken back, it is held once more with the moves that stand; rules do the same again, and models answer from a
journal. The file of a sitting says first what is played, and then move after move, also those that were taken back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import BadInput, PolyclinicError, UserError
from polyclinic.events import End, Event, Failed, Trace
from polyclinic.models.tally import SharedAnswers
from polyclinic.players.human.advice import Adviser, Hint
from polyclinic.players.human.moves import HintMove, Kept, Move, NoteMove, ReportMove, Turn, UndoMove
from polyclinic.players.human.seated import MoveNow
from polyclinic.players.minds import Minds
from polyclinic.players.player import Purpose
from polyclinic.players.roles.doctor import Doctor
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.visit import Visit, attend
from polyclinic.web.chair.catalogue import CaseAt

MOST_MOVES = 400
"""Moves of a sitting, those that were taken back among them."""


class PlayedCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is played: by whom, which case, with which patient, and what is allowed."""

    case: CaseAt
    patient: str = "rules"
    max_turns: int = MAX_TURNS
    hints: bool = True
    undo: bool = True
    student: str = ""


class KeptMove(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A line of a sitting's file: what is played, in the first one, or a move, and when it was (seconds since 1970)."""

    at: float
    played: PlayedCase | None = None
    move: Move | None = None


class GivenHint(msgspec.Struct, frozen=True, kw_only=True):
    """A hint, and behind how many turns of the doctor it was given."""

    turn: int
    hint: Hint


class NotNow(UserError):
    """A move that cannot be made as things stand; the text says what can."""

    status = 409


class Sitting:
    """One visit that is played; see the module.

    Args:
        path: its file, which holds at least its first line.
        case: the case of a place.
        minds: whoever plays with a patient of that name.
        answers: what models answered in this visit before, so that what is held once more comes out the same.
        clock: what time it is.
    """

    def __init__(
        self,
        path: Path,
        case: Callable[[CaseAt], Case],
        minds: Callable[[str], Awaitable[Minds]],
        *,
        answers: SharedAnswers | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._answers = answers or SharedAnswers()
        self.id = path.stem
        self._kept = Kept(path, KeptMove, "a move of a visit")
        first = self._kept.all[0].played
        if first is None:
            raise UserError(f"{path} does not begin with what is played")
        self.played, self.case = first, case(first.case)
        self._minds_of, self._clock = minds, clock
        self.minds: Minds | None = None
        self._turns: list[Turn | HintMove | NoteMove] = []
        self._ahead = asyncio.Event()  # a move is there that was not made yet
        self._settled = asyncio.Event()  # the visit waits for a move, or is over
        self._one_at_a_time = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._restart()

    def _restart(self) -> None:
        """Forgets what came of the moves; they stand."""
        self._at = 0
        self._turns = standing(self.moves)
        self.purpose: Purpose | None = None
        self.trace = Trace()
        self.visit: Visit | None = None
        self.problem = ""
        self.turns_left = self.played.max_turns
        self.hints: list[GivenHint] = []
        self.notes: list[tuple[int, NoteMove]] = []
        self._ahead.clear()
        self._settled.clear()

    @property
    def moves(self) -> list[Move]:
        """All moves that were made."""
        return [one.move for one in self._kept.all if one.move is not None]

    @property
    def taken_back(self) -> int:
        """How often a turn was taken back."""
        return sum(isinstance(move, UndoMove) for move in self.moves)

    @property
    def seconds(self) -> float:
        """From the beginning to the last move."""
        return self._kept.all[-1].at - self._kept.all[0].at

    @property
    def begun(self) -> float:
        """When it began, in seconds since 1970."""
        return self._kept.all[0].at

    @property
    def is_over(self) -> bool:
        """Whether the report is handed in, and nothing can be taken back any more."""
        return self.visit is not None and self.visit.report is not None

    @property
    def has_failed(self) -> bool:
        """Whether somebody else gave no usable answer; the last move can be taken back."""
        return bool(self.problem)

    async def settle(self) -> None:
        """Holds the visit as far as the moves go; at once where it is there already."""
        if self._task is None:
            self._task = asyncio.create_task(self._hold())
        await self._settled.wait()

    async def make(self, move: Move, *, after: int) -> None:
        """Makes a move, and waits for what comes of it.

        Args:
            move: the move.
            after: how many moves its maker knows of. A move that stands there already, sent twice, is made once.

        Raises:
            NotNow: it cannot be made now, or its maker does not know of all moves.
            BadInput: it could not be kept.
        """
        async with self._one_at_a_time:
            await self.settle()
            made = self.moves
            if after < len(made) and made[after] == move and after == len(made) - 1:
                return
            if after != len(made):
                raise NotNow("the visit has gone on elsewhere, in another window perhaps; load it again")
            self._check(move)
            self._kept.keep(KeptMove(at=round(self._clock(), 3), move=move))
            if isinstance(move, UndoMove):
                await self._stop()
                self._restart()
            else:
                self._turns.append(move)
                self._settled.clear()
                self._ahead.set()
            await self.settle()

    async def close(self) -> None:
        """Ends the task; the moves are kept."""
        await self._stop()

    def _check(self, move: Move) -> None:
        """Raises a NotNow where a move cannot be made."""
        if self.is_over:
            raise NotNow("the report is handed in, and the visit is over")
        if len(self.moves) >= MOST_MOVES:
            raise NotNow(f"a visit has at most {MOST_MOVES} moves; hand in the report by a new visit")
        if isinstance(move, UndoMove):
            if not self.played.undo:
                raise NotNow("nothing can be taken back in this class")
            if not any(not isinstance(one, HintMove | NoteMove) for one in self._turns):
                raise NotNow("there is nothing to take back")
            return
        if self.has_failed:
            raise NotNow("take back the last step first, and try it again")
        if isinstance(move, HintMove) and not self.played.hints:
            raise NotNow("there are no hints in this class")
        if isinstance(move, ReportMove) and self.purpose is not Purpose.REPORT:
            raise NotNow("end the talk first; then comes the report")
        if not isinstance(move, ReportMove | HintMove | NoteMove) and self.purpose is not Purpose.SPEAK:
            raise NotNow("the talk is over; now comes the report")

    async def next(self, purpose: Purpose, role: Doctor) -> MoveNow:
        """Waits for the next move; called from the doctor's chair."""
        self.purpose, self.turns_left = purpose, role.turns_left()
        while self._at >= len(self._turns):
            self._settled.set()
            self._ahead.clear()
            await self._ahead.wait()
        move = self._turns[self._at]
        self._at += 1
        if isinstance(move, NoteMove):
            self.notes.append((self._turn, move))
        return move

    async def advise(self, adviser: Adviser, move: HintMove, role: Doctor) -> None:
        """Keeps a hint for who looks."""
        self.hints.append(GivenHint(turn=self._turn, hint=await adviser.hint(move.rung, role)))

    @property
    def _turn(self) -> int:
        return self.played.max_turns - self.turns_left

    async def _hold(self) -> None:
        """Holds the visit; whatever keeps it from its end becomes a problem that the player is told of."""
        try:
            self.minds = await self._minds_of(self.played.patient)
            # A journal keeps the answers of a model by visit; by rules everybody meets the same patient.
            key = "" if self.played.patient == "rules" else f"{self.case.id} {self.id}"
            seated = self.minds.sharing(self._answers).seated(self)
            attended = await attend(self.case, seated, max_turns=self.played.max_turns, key=key, watch=self._watch)
            self.visit = attended.visit
            if self.visit.end is End.FAILED:
                failed = self.trace.last(Failed)
                self.problem = (
                    "no answer came" if failed is None else f"the {failed.who} gave no answer: {failed.error}"
                )
        except PolyclinicError as error:
            self.problem = error.problem if isinstance(error, BadInput) else str(error)
        finally:
            self._settled.set()

    def _watch(self, event: Event) -> None:
        self.trace.append(event)

    async def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None


def standing(moves: list[Move]) -> list[Turn | HintMove | NoteMove]:
    """Returns the moves that stand: an undo takes away the last turn before it; hints and notes stay."""
    left: list[Turn | HintMove | NoteMove] = []
    for move in moves:
        if not isinstance(move, UndoMove):
            left.append(move)
            continue
        last = max((i for i, one in enumerate(left) if not isinstance(one, HintMove | NoteMove)), default=None)
        if last is not None:
            del left[last]
    return left
