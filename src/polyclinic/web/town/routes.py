"""What the town's page asks for: which runs there are, one's hospital, its state at a time, and what happens next.

GET /api/town/runs                                    all runs
GET /api/town/about?run=ID                            its hospital, staff, minds, and how far it has come
GET /api/town/state?run=ID&t=SECONDS                  who is where at a time; without `t` at its end
GET /api/town/ill?run=ID&t=SECONDS                    who is ill then: names and houses
GET /api/town/happenings?run=ID&begin=SEQ&n=N         what happened from a number on
GET /api/town/live?run=ID&after=SEQ                   the same as a stream that follows the run
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from polyclinic.errors import BadInput
from polyclinic.hospital.record.story import stories_of
from polyclinic.hospital.record.world import Duty, Place, StaffWalk, Visitor, World
from polyclinic.hospital.town.residents import Residents
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.web.refused import NotFound
from polyclinic.web.replies import ALIVE, event, last_id, number, packed, reply, streamed
from polyclinic.web.serving import Serving
from polyclinic.web.town.runs import EVERY, ROWS, Block, Runs, ShownRun, without_truth

_LONGEST_ID = 40


def person(run: ShownRun, who: str, *, truth: bool) -> dict[str, Any]:
    """Returns everything that the log knows about a person.

    Args:
        run: the run.
        who: a resident's id.
        truth: whether to include the disease, and what would have been right.
    """
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
    """Returns the names of what a log names by ids, in both languages."""
    knowledge = read_knowledge()
    tables: dict[str, Any] = {
        "diseases": knowledge.diseases,
        "examinations": knowledge.examinations,
        "drugs": knowledge.drugs,
        "departments": knowledge.departments,
    }
    return {
        name: {id: {"en": one.name.en, "zh": one.name.zh} for id, one in table.items()}
        for name, table in tables.items()
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
    history = one.history
    return {
        "name": one.name,
        "age": one.age,
        "sex": str(one.sex),
        "occupation": one.occupation,
        "about": one.about,
        "past": history.past,
        "medications": history.medications,
        "allergies": history.allergies,
        "personal": history.personal,
    }


Neighbour = tuple[str, tuple[int, ...]]
"""Who is ill: the name, and the place of the home in metres from the entrance."""


class SentWorld(msgspec.Struct, frozen=True, kw_only=True):
    """A state; what the page can tell from the rest is left out."""

    t: int
    seq: int
    people: dict[str, Visitor]
    ill: int  # how many
    duty: dict[str, Duty]
    staff_walks: dict[str, StaffWalk]
    queues: dict[str, list[Place]]
    counts: dict[str, Any]


def sent(world: World) -> SentWorld:
    """Returns what is sent of a state."""
    counts = msgspec.to_builtins(world.counts)
    counts.pop("diagnosed_right", None)
    return SentWorld(
        t=world.t,
        seq=world.seq,
        people=world.people,
        ill=len(world.ill),
        duty=world.duty,
        staff_walks=world.staff_walks,
        queues=world.queues,
        counts=counts,
    )


def neighbours(world: World) -> dict[str, Neighbour]:
    """Returns those who are ill, by id."""
    return {who: (one.name, one.home) for who, one in world.ill.items()}


_LOOK_AGAIN = 0.25  # seconds between two looks at a live run
_LOCK_AGAIN = 1.0  # seconds of quiet between two looks at whether the run is still held
_STILL_THERE = 15.0  # seconds after which an idle stream sends a sign of life
_MOST_ROWS = 20 * ROWS


def town(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the town."""
    runs = Runs(serving.shelf)
    serving.on_close(runs.close)

    def shown(request: Request) -> ShownRun:
        return runs(request.query_params.get("run", ""))

    def listed(_: Request) -> Response:
        return reply({"runs": serving.shelf.listed()})

    def about(request: Request) -> Response:
        return reply(_about(shown(request)))

    def state(request: Request) -> Response:
        run = shown(request)
        t = number(request, "t", -1)
        world = run.recorded.seek(t if t >= 0 else run.end()[1])
        return packed(request, {"world": sent(world), "over": run.over, "stopped": run.stopped})

    def ill(request: Request) -> Response:
        run = shown(request)
        return packed(request, neighbours(run.recorded.seek(number(request, "t", 0))))

    def tiled(request: Request) -> Response:
        return packed(request, shown(request).map())

    def course(request: Request) -> Response:
        run = shown(request)
        points, notes, more = run.course.read(run.recorded, number(request, "points", 0), number(request, "notes", 0))
        return packed(request, {"every": EVERY, "points": points, "notes": notes, "more": more, "over": run.over})

    def somebody(request: Request) -> Response:
        truth = request.query_params.get("truth") == "1"
        return reply(person(shown(request), request.query_params.get("who", ""), truth=truth))

    def named(_: Request) -> Response:
        return reply(words())

    def happenings(request: Request) -> Response:
        run = shown(request)
        begin, n = number(request, "begin", 0), number(request, "n", ROWS, least=1, most=_MOST_ROWS)
        blocks, last = [], begin
        while n > 0:
            block = run.block(last, n)
            if block.end == last:
                break
            blocks.append(block.rows)
            n, last = n - (block.end - last), block.end
        return packed(request, {"rows": _joined(blocks), "end": last})

    async def live(request: Request) -> Response:
        run = await run_sync(shown, request)
        after = last_id(request, number(request, "after", 0, least=0, most=2**40) - 1)
        return streamed(request, serving, _live(lambda: runs(run.id), after + 1))

    return [
        Route("/runs", listed),
        Route("/about", about),
        Route("/state", state),
        Route("/ill", ill),
        Route("/map.tmj", tiled),
        Route("/course", course),
        Route("/person", somebody),
        Route("/words", named),
        Route("/happenings", happenings),
        Route("/live", live),
    ]


def _joined(blocks: Sequence[bytes]) -> msgspec.Raw:
    return msgspec.Raw(b"[%s]" % b",".join(rows[1:-1] for rows in blocks))


def _about(run: ShownRun) -> dict[str, Any]:
    configuration = run.recorded.configuration
    setup = configuration.get("setup") or {}
    n, t = run.end()
    return {
        "id": run.id,
        "hospital": configuration.get("hospital"),
        "language": configuration.get("language", "en"),
        "residents": configuration.get("residents"),
        "seed": configuration.get("seed"),
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
