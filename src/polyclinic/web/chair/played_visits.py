"""All visits that are played on a server, each a file of its own in one folder; begun, taken up and scored.

`VISIT.jsonl` holds the moves, `VISIT.trace.jsonl` the trace of a visit that is over, as any other, and
`VISIT.score.json` what it was worth.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from polyclinic.cases.record import Record, read_out
from polyclinic.errors import BadInput, UserError
from polyclinic.evaluations.visit_score import PlayScore, Scored, Scorer
from polyclinic.files import NO_JSON, json_lines, make_folder, write_text
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.models.tally import SharedAnswers
from polyclinic.opened_files import check_regular
from polyclinic.players.minds import order_names_of
from polyclinic.visits.visit import Visit, see
from polyclinic.web.chair.catalogue import Catalogue
from polyclinic.web.chair.sitting import KeptMove, NotNow, PlayedCase, Sitting
from polyclinic.web.chair.staff import Staff
from polyclinic.web.chair.view import view

MOST_VISITS = 20_000
"""Visits that a folder takes."""

_AT_ONCE = 200
"""Visits that are kept in memory; another that is taken up again is held once more from its moves."""

_LOOKED = 500
"""Visits that are looked through for a list, the latest first."""

_MOST_BYTES = 16 * 2**20  # of a score
_ID = re.compile(r"[\w-]{22}")
_score = msgspec.json.Decoder(Scored)


class NoSuchVisit(UserError):
    """There is no visit of that id."""

    status = 404


class PlayedVisits:
    """The visits of one folder.

    Args:
        folder: is made when the first visit begins.
    """

    def __init__(
        self,
        folder: Path,
        *,
        catalogue: Catalogue,
        knowledge: Knowledge,
        staff: Staff,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder, self.catalogue, self.staff, self.clock = folder, catalogue, staff, clock
        self.order_names = order_names_of(knowledge)
        self._knowledge = knowledge
        self._scorer: Scorer | None = None
        self._sittings: dict[str, Sitting] = {}
        self._answers: defaultdict[str, SharedAnswers] = defaultdict(SharedAnswers)
        self._comparing = asyncio.Lock()
        self._beside: dict[tuple[str, str, str], PlayScore] = {}

    def begin(self, played: PlayedCase) -> Sitting:
        """Begins a visit.

        Raises:
            UserError: no such case or patient is offered, or the folder is full or cannot be written to.
        """
        self.catalogue.case(played.case)
        self.staff.check_patient(played.patient)
        make_folder(self.folder)
        make_folder(self.folder / "visits")
        if sum(1 for _ in (self.folder / "visits").iterdir()) > 3 * MOST_VISITS:
            raise UserError(f"this folder holds {MOST_VISITS:,} visits, and takes no more")
        id = secrets.token_urlsafe(16)
        write_text(self._path(id), json_lines([KeptMove(at=round(self.clock(), 3), played=played)]))
        return self.sitting(id)

    def sitting(self, id: str) -> Sitting:
        """Returns a visit; one that is not in memory is read from its file.

        Raises:
            NoSuchVisit: there is none of that id.
            BadInput: its file cannot be read.
        """
        if id in self._sittings:
            self._sittings[id] = self._sittings.pop(id)
            return self._sittings[id]
        if not _ID.fullmatch(id) or not self._path(id).exists():
            raise NoSuchVisit("there is no such visit here")
        self._sittings[id] = Sitting(
            self._path(id), self.catalogue.case, self.staff.minds, answers=self._answers[id], clock=self.clock
        )
        return self._sittings[id]

    def of_nobodys_class(self, most: int) -> list[tuple[Sitting, Scored | None]]:
        """Returns the latest visits that no student plays, each with its score where it is over.

        What cannot be read, or whose case is not offered any more, is left out; a score that cannot be read, alone.
        """
        found_files = (self.folder / "visits").glob("*.jsonl")
        files = [path for path in found_files if _ID.fullmatch(path.stem) and path.is_file()]
        found: list[tuple[Sitting, Scored | None]] = []
        for path in sorted(files, key=lambda path: -path.stat().st_mtime)[:_LOOKED]:
            with suppress(UserError):
                sitting = Sitting(path, self.catalogue.case, self.staff.minds)
                if not sitting.played.student:
                    found.append((sitting, self._readable_score(path.stem)))
            if len(found) == most:
                break
        return found

    async def make_room(self) -> None:
        """Frees the memory of visits that were not asked for of late."""
        while len(self._sittings) > _AT_ONCE:
            await self._sittings.pop(next(iter(self._sittings))).close()

    async def close(self) -> None:
        """Ends whatever waits."""
        for sitting in self._sittings.values():
            await sitting.close()
        await self.staff.close()

    def stored_score(self, id: str) -> Scored | None:
        """Returns the score of a visit that was scored before; None of any other.

        Raises:
            BadInput: its file cannot be read.
        """
        file = self._path(id, ".score.json")
        if not file.exists():
            return None
        check_regular(file, most=_MOST_BYTES)
        try:
            return _score.decode(file.read_bytes())
        except msgspec.ValidationError:  # one of another version is made again
            return None
        except NO_JSON:
            raise BadInput(
                "this score is damaged; move the file away, and the visit is scored again", path=file
            ) from None
        except OSError as error:
            raise BadInput(f"cannot be read ({error.strerror})", path=file) from None

    def _readable_score(self, id: str) -> Scored | None:
        with suppress(BadInput):
            return self.stored_score(id)
        return None

    async def scored(self, sitting: Sitting) -> Scored:
        """Returns what a visit is worth, beside what is so and beside others; keeps it, and the trace.

        Raises:
            NotNow: it is not over.
            BadInput: the score that is kept cannot be read.
            UserError: a model that judges, or is compared with, cannot be reached.
        """
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
            notes=view(sitting).differential,
        )
        scored = Scored(
            truth=sitting.case.truth,
            record=_record_of(sitting.case.record),
            own=own,
            beside=tuple([await self._seen_by(doctor, sitting) for doctor in self.staff.players.beside]),
            taken_back=sitting.taken_back,
            seconds=sitting.seconds,
        )
        sitting.visit.trace.write(self._path(sitting.id, ".trace.jsonl"))
        write_text(self._path(sitting.id, ".score.json"), msgspec.json.encode(scored).decode() + "\n")
        return scored

    def trace(self, sitting: Sitting) -> str:
        """Returns the trace of a visit that is over, as JSON lines.

        Raises:
            NotNow: it is not over.
        """
        if not sitting.is_over or sitting.visit is None:
            raise NotNow("the visit is not over; its trace holds what is so")
        return sitting.visit.trace.sealed()

    async def _seen_by(self, doctor: str, sitting: Sitting) -> PlayScore:
        """Returns what another doctor's visit to the same patient is worth."""
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

    def _path(self, id: str, ending: str = ".jsonl") -> Path:
        return self.folder / "visits" / f"{id}{ending}"


def _record_of(record: Record) -> dict[str, tuple[str, ...]]:
    """Returns what a record has of what a report tells: symptoms, or the story of the illness, and examinations."""
    symptoms = record.history.symptoms or tuple(filter(None, (record.history.present,)))
    return {"symptoms": symptoms, "examinations": tuple(read_out(record.findings, record.presentation.language))}
