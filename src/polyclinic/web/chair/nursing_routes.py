"""What the nurse's place at the door answers.

POST /api/chair/shifts               begins a shift
GET  /api/chair/shifts/ID            as far as it has come
POST /api/chair/shifts/ID/moves      asks, or judges
"""

from __future__ import annotations

import re
import secrets
import time

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from polyclinic.files import json_lines, make_folder, write_text
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.web.chair.played_visits import NoSuchVisit, PlayedVisits
from polyclinic.web.chair.shift import KeptShift, NewShift, NurseShift, NursesMove, who_comes
from polyclinic.web.replies import body, reply

_ID = re.compile(r"[\w-]{22}")
_MOST_BODY = 16 * 1024


class _NextNursesMove(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    after: int
    move: NursesMove


def nursing(practice: PlayedVisits, knowledge: Knowledge) -> list[BaseRoute]:
    """Returns the routes."""
    folder = practice.folder / "shifts"

    def shift(request: Request) -> NurseShift:
        id = request.path_params["id"]
        path = folder / f"{id}.jsonl"
        if not _ID.fullmatch(id) or not path.exists():
            raise NoSuchVisit("there is no such shift here")
        return NurseShift(path, practice.catalogue, knowledge)

    async def begin(request: Request) -> Response:
        patients = who_comes(await body(request, NewShift, most=_MOST_BODY), practice.catalogue)
        make_folder(practice.folder)
        make_folder(folder)
        path = folder / f"{secrets.token_urlsafe(16)}.jsonl"
        write_text(path, json_lines([KeptShift(at=round(time.time(), 3), patients=patients)]))
        return reply(await NurseShift(path, practice.catalogue, knowledge).view(), 201)

    async def seen(request: Request) -> Response:
        return reply(await shift(request).view())

    async def moved(request: Request) -> Response:
        told = await body(request, _NextNursesMove, most=_MOST_BODY)
        theirs = shift(request)
        await theirs.make(told.move, after=told.after)
        return reply(await theirs.view())

    return [
        Route("/shifts", begin, methods=["POST"]),
        Route("/shifts/{id}", seen),
        Route("/shifts/{id}/moves", moved, methods=["POST"]),
    ]
