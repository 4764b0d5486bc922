"""The routes of the town's page below `/api/town`: runs, a hospital, its state at a time, and what happens next."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, Any

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from polyclinic.errors import BadInput
from polyclinic.hospital.record.story import stories_of
from polyclinic.hospital.record.world import World
from polyclinic.hospital.town.residents import Residents
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.web.refused import NotFound
from polyclinic.web.replies import ALIVE, event, get, last_id, streamed
from polyclinic.web.serving import Serving
from polyclinic.web.town.runs import EVERY, ROWS, Block, Runs, ShownRun, without_truth

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
    counts = msgspec.to_builtins(world.counts)
    counts.pop("diagnosed_right", None)
    fields = ("t", "seq", "people", "duty", "staff_walks", "queues")
    return {**{name: getattr(world, name) for name in fields}, "ill": len(world.ill), "counts": counts}


_LOOK_AGAIN = 0.25  # seconds between two looks at a live run
_LOCK_AGAIN = 1.0  # seconds of quiet between two looks at whether the run is still held
_STILL_THERE = 15.0  # seconds after which an idle stream sends a sign of life


_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A query about a run."""

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
    runs = Runs(serving.shelf)
    serving.on_close(runs.close)

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
        get("/runs", lambda: {"runs": serving.shelf.listed()}, threaded=True),
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
