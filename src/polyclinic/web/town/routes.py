"""The town's page, below `/api/town`: runs, a hospital, its state at a time, and what happens next.

Each run is opened once for all viewers, and again if another run takes its place. The charts next to the map have a
point for each half hour, read off the log once for all viewers. A long log takes seconds to read, so each request reads
a piece; the charts fill while the map is already shown.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, NamedTuple, TypeVar

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from polyclinic.errors import BadInput, UserError
from polyclinic.files import NO_JSON
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.record.happenings import (
    ORDER,
    CalledIn,
    Died,
    EventBegan,
    EventEnded,
    Happening,
    StaffCalledIn,
    VisitFailed,
    Worsened,
)
from polyclinic.hospital.record.recorded import RUN, RecordedRun, is_locked
from polyclinic.hospital.record.story import stories_of
from polyclinic.hospital.record.world import Doing, World
from polyclinic.hospital.town.residents import Residents
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.web.refused import NotFound
from polyclinic.web.replies import ALIVE, event, get, last_id, streamed
from polyclinic.web.serving import Serving
from polyclinic.web.town.map import map_of

EVERY = 1_800  # simulated seconds from one point to the next
_AT_ONCE = 0.05  # seconds of reading, for which other requests wait
_PIECE = 1_000  # happenings read between two looks at the clock
_MOST_NOTES = 4_000
_MOST_POINTS = 60_000
_NOTED = (Died, Worsened, VisitFailed, EventBegan, EventEnded, StaffCalledIn)


class RunCourse:
    """The points and notes of one run, as far as it has been read.

    A point: time, waiting patients by acuity (as the nurse judged it, those not judged yet among the last), served,
    lying, walking; and since the beginning calls to a doctor and seconds waited for them, both by acuity, diagnosed,
    diagnosed right, recovered, better, worse, died. A note, something to jump to: time, tag, patient, event or place.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._world = World()
        self._points: list[tuple[Any, ...]] = []
        self._notes: list[tuple[int, str, str, str]] = []
        self._seq = self._next = 0
        self._calls, self._waited = [0, 0, 0], [0, 0, 0]

    def read(self, run: RecordedRun, points: int, notes: int) -> tuple[list[Any], list[Any], bool]:
        """Reads on for a moment; returns the points and notes after those known, and whether there is more to read."""
        with self._lock:
            until, more = time.monotonic() + _AT_ONCE, True
            while more and time.monotonic() < until:
                begin = self._seq
                for happening in run.happenings(begin=begin, end=begin + _PIECE):
                    self._add(happening)
                more = self._seq - begin == _PIECE
            return self._points[points:], self._notes[notes:], more

    def _add(self, happening: Happening) -> None:
        if not self._seq:
            self._next = happening.t // EVERY * EVERY
        while self._next <= happening.t and len(self._points) < _MOST_POINTS:
            self._points.append(self._point(self._next))
            self._next += EVERY
        what, who = happening.what, happening.who
        if isinstance(what, CalledIn):
            person = self._world.people.get(who)
            if person is not None and person.acuity is not None and what.queue == person.department:
                self._calls[ORDER[person.acuity]] += 1
                self._waited[ORDER[person.acuity]] += what.waited
        elif isinstance(what, _NOTED) and len(self._notes) < _MOST_NOTES:
            about = next((getattr(what, name) for name in ("event", "queue", "error") if hasattr(what, name)), "")
            self._notes.append((happening.t, str(type(what).__struct_config__.tag), who, str(about)))
        self._world.apply(happening)
        self._seq = happening.seq + 1

    def _point(self, t: int) -> tuple[Any, ...]:
        world, waiting = self._world, [0, 0, 0]
        there = world.census(t)
        for person in world.people.values():
            if person.doing(t) is Doing.WAITING:
                waiting[min(ORDER[person.acuity], 2)] += 1
        names = ("diagnosed", "diagnosed_right", "recovered", "better", "worse", "died")
        counts = [world.counts.get(name, 0) for name in names]
        counted = there["served"], there["lying"], there["other"]
        return (t, waiting, *counted, [*self._calls], [*self._waited], *counts)


_HIDDEN = frozenset({"case", "disease", "severity", "cause", "right", "recognised"})
_ALSO = {"fell ill": frozenset({"department"}), "got worse waiting": frozenset({"level"})}

T = TypeVar("T")


def without_truth(fields: Mapping[str, T], what: str = "") -> dict[str, T]:
    """Returns the fields of an event, by its tag, or of a visit in one line, without those that reveal the truth."""
    also = _ALSO.get(what, frozenset())
    return {
        name: value
        for name, value in fields.items()
        if name not in _HIDDEN and name not in also and not name.startswith("right_")
    }


ROWS = 500  # happenings in a block
_OPEN = 12  # runs

_ROWS = msgspec.json.Decoder(list[tuple[int, int, str, dict[str, msgspec.Raw]]])
_encode = msgspec.json.Encoder().encode


class Block(NamedTuple):
    """Happenings that follow one another."""

    rows: bytes  # `[[number, time, to whom, what], ...]`, as JSON, without the truth
    end: int  # number of the one after the last


class ShownRun:
    """A run that is open, read by everybody who looks; the last argument tells it from another in its place."""

    def __init__(self, id: str, folder: Path, _: tuple[int, int]) -> None:
        self.id, self.folder = id, folder
        self.recorded = RecordedRun(folder)
        # A request may still read it after it has left the cache: it is closed when nothing refers to it.
        weakref.finalize(self, self.recorded.close)
        self.course = RunCourse()
        self._over = False
        self._map: dict[str, Any] | None = None

    @property
    def over(self) -> bool:
        """Whether the run has come to its end."""
        # What has ended stays so; its summary is not read for everybody who asks.
        self._over = self._over or self.recorded.summary is not None
        return self._over

    @property
    def stopped(self) -> bool:
        """Whether the run has neither ended nor a process that continues it."""
        # Asked in this order: a run that ends between the two is over.
        return not is_locked(self.folder) and not self.over

    def block(self, begin: int, n: int = ROWS) -> Block:
        """Returns the happenings from a number on, at most so many."""
        rows = self.recorded.rows(begin, min(n, ROWS))
        told = (b"[%d,%d,%s,%s]" % (seq, t, _encode(who), what) for seq, t, who, what in rows)
        try:
            # Checked here, so that a damaged row is reported and does not reach a browser.
            found = _ROWS.decode(b"[%s]" % b",".join(told))
        except NO_JSON as error:
            raise BadInput(f"one of the happenings {rows[0][0]} to {rows[-1][0]} is damaged ({error})") from None
        shown = []
        for seq, t, who, what in found:
            tag = bytes(what.get("what", b"")).decode(errors="replace").strip('"')
            shown.append((seq, t, who, without_truth(what, tag)))
        return Block(_encode(shown), begin + len(rows))

    def map(self) -> dict[str, Any]:
        """Returns the map of its hospital."""
        if self._map is None:
            try:
                hospital = msgspec.convert(self.recorded.configuration.get("hospital"), Hospital, strict=False)
            except msgspec.ValidationError as error:
                raise UserError(f"the run's hospital cannot be read by this version: {error}") from None
            self._map = map_of(hospital)
        return self._map

    def end(self) -> tuple[int, int]:
        """Returns how many happenings there are so far, and the time of the last, in seconds; 0 where there is none."""
        n = len(self.recorded)
        last = self.recorded.rows(n - 1, 1) if n else []
        return n, last[0][1] if last else 0


class Runs:
    """The runs that were looked at last, which stay open."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._opened = lru_cache(maxsize=_OPEN)(ShownRun)
        self._lock = Lock()

    def __call__(self, id: str) -> ShownRun:
        """Returns a run by its id."""
        with self._lock:
            folder = self._serving.run(id)
            try:
                found = (folder / RUN).stat()
            except OSError:
                raise NotFound("the run is not there any more") from None
            return self._opened(id, folder, (found.st_dev, found.st_ino))

    def close(self) -> None:
        """Lets all go."""
        self._opened.cache_clear()


_LONGEST_ID = 40


def person(run: ShownRun, who: str, *, truth: bool) -> dict[str, Any]:
    """Returns everything that the log knows about a person; with the `truth`, also the disease and right decisions."""
    visits = stories_of(run.recorded, who) if 0 < len(who) <= _LONGEST_ID else []
    resident = _resident(run, who)
    if resident is None and not visits:
        raise NotFound("the run knows nobody of that name")
    told = msgspec.to_builtins(visits)
    for visit in told if not truth else ():
        visit["visit"] = without_truth(visit["visit"])
        for moment in visit["moments"]:
            moment["about"] = without_truth(moment["about"], moment["what"])
    return {"who": who, "resident": resident, "visits": told}


def words() -> dict[str, dict[str, dict[str, str]]]:
    """Returns the names, in both languages, of everything that a log names by an id."""
    knowledge = read_knowledge()
    return {
        name: {id: {"en": one.name.en, "zh": one.name.zh} for id, one in getattr(knowledge, name).items()}
        for name in ("diseases", "examinations", "drugs", "departments")
    }


def _resident(run: ShownRun, who: str) -> dict[str, Any] | None:
    """Returns a resident's profile. The log has only the names of residents that a model wrote."""
    configuration = run.recorded.configuration
    n = configuration.get("residents")
    number = int(who[1:]) if who[:1] == "r" and who[1:].isascii() and who[1:].isdigit() else 0
    if not isinstance(n, int) or not number > 0 or configuration.get("profiles"):
        return None
    seed, language = configuration.get("seed", 0), configuration.get("language", "en")
    # Patients of a mass arrival follow the others.
    residents = Residents(max(n, number) if number <= n + 10_000 else n, seed, language=language)
    if number > len(residents):
        return None
    one = residents[number - 1]
    profile = {name: getattr(one, name) for name in ("name", "age", "occupation", "about")}
    history = {name: getattr(one.history, name) for name in ("past", "medications", "allergies", "personal")}
    return {**profile, "sex": str(one.sex), **history}


def sent(world: World) -> dict[str, Any]:
    """Returns the part of a state that is sent; the page can tell the rest from it."""
    counts = {name: n for name, n in world.counts.items() if name != "diagnosed_right"}
    fields = ("t", "seq", "people", "duty", "staff_walks", "queues")
    return {**{name: getattr(world, name) for name in fields}, "ill": len(world.ill), "counts": counts}


_LOOK_AGAIN = 0.25  # seconds between two looks at a live run
_LOCK_AGAIN = 1.0  # seconds of quiet between two looks at whether the run is still held
_STILL_THERE = 15.0  # seconds after which an idle stream sends a sign of life


_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    run: str = ""
    t: _Number | None = None
    begin: _Number = 0
    n: Annotated[int, msgspec.Meta(ge=1, le=20 * ROWS)] = ROWS
    points: _Number = 0
    notes: _Number = 0
    who: str = ""
    truth: str = ""


def town(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the town."""
    runs = Runs(serving)
    serving.closing.append(runs.close)

    def state(asked: _Asked) -> Any:
        run = runs(asked.run)
        world = run.recorded.seek(run.end()[1] if asked.t is None else asked.t)
        return {"world": sent(world), "over": run.over, "stopped": run.stopped}

    def ill(asked: _Asked) -> Any:
        world = runs(asked.run).recorded.seek(asked.t or 0)
        return {who: (one.name, one.home) for who, one in world.ill.items()}

    def course(asked: _Asked) -> Any:
        run = runs(asked.run)
        points, notes, more = run.course.read(run.recorded, asked.points, asked.notes)
        return {"every": EVERY, "points": points, "notes": notes, "more": more, "over": run.over}

    def happenings(asked: _Asked) -> Any:
        run, n, last = runs(asked.run), asked.n, asked.begin
        blocks = []
        while n > 0:
            block = run.block(last, n)
            if block.end == last:
                break
            blocks.append(block.rows[1:-1])
            n, last = n - (block.end - last), block.end
        return {"rows": msgspec.Raw(b"[%s]" % b",".join(blocks)), "end": last}

    async def live(request: Request) -> Response:
        run = await run_sync(runs, request.query_params.get("run", ""))
        after = request.query_params.get("after", "")
        known = int(after) if after.isascii() and after.isdigit() and len(after) < 13 else 0
        return streamed(request, serving, _live(lambda: runs(run.id), last_id(request, known - 1) + 1))

    def of_run(path: str, answer: Callable[[_Asked], Any]) -> Route:
        return get(path, answer, query=_Asked, threaded=True)

    return [
        get("/runs", lambda: {"runs": serving.listed()}, threaded=True),
        of_run("/about", lambda asked: _about(runs(asked.run))),
        of_run("/state", state),
        of_run("/ill", ill),
        of_run("/map.tmj", lambda asked: runs(asked.run).map()),
        of_run("/course", course),
        of_run("/person", lambda asked: person(runs(asked.run), asked.who, truth=asked.truth == "1")),
        get("/words", words, threaded=True),
        of_run("/happenings", happenings),
        Route("/live", live),
    ]


def _about(run: ShownRun) -> dict[str, Any]:
    configuration = run.recorded.configuration
    setup = configuration.get("setup") or {}
    n, t = run.end()
    return {
        **{name: configuration.get(name) for name in ("hospital", "residents", "seed")},
        "id": run.id,
        "language": configuration.get("language", "en"),
        "minds": {role: setup.get(role) for role in ("doctor", "patient", "nurse", "examiner", "pharmacist")},
        "traces": bool(setup.get("traces")),
        "happenings": n,
        "t": t,
        "over": run.over,
        "stopped": run.stopped,
    }


def _next(run: Callable[[], ShownRun], begin: int) -> tuple[Block, bool]:
    shown = run()
    # Asked first: what was added between would be missed otherwise.
    over = shown.over
    return shown.block(begin), over


async def _live(run: Callable[[], ShownRun], begin: int) -> AsyncIterator[bytes]:
    """Yields what happens from a number on, a block at a time, until the run is over and everything is sent."""
    quiet, stopped = 0.0, False
    try:
        while True:
            block, over = await run_sync(_next, run, begin)
            if block.end > begin:
                begin, quiet, stopped = block.end, 0.0, False
                yield event(block.rows, id=begin - 1)
            elif over:
                yield event(b"{}", id=begin - 1, name="over")
                return
            else:
                await anyio.sleep(_LOOK_AGAIN)
                quiet += _LOOK_AGAIN
                if quiet >= _STILL_THERE:
                    quiet = 0.0
                    yield ALIVE
                if quiet % _LOCK_AGAIN == 0.0 and await run_sync(lambda: run().stopped) != stopped:
                    stopped = not stopped
                    yield event(msgspec.json.encode(stopped), id=begin - 1, name="stopped")
    except BadInput as error:
        yield event(msgspec.json.encode({"error": str(error)}), name="broken")
