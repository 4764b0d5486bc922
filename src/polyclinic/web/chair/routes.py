"""What the doctor's chair answers: to whoever plays, to a teacher, and to a student with a link.

GET  /api/chair/settings                              cases, patients, who is compared with
GET  /api/chair/cases?set=&words=&start=              cases of a set, by what is known at the door
GET  /api/chair/names?words=&language=                examinations that may be meant
GET  /api/chair/visits                                visits of nobody's class, the latest first
POST /api/chair/visits                                begins one
GET  /api/chair/visits/ID                             as far as it has come; also /score and /trace when it is over
GET  /api/chair/visits/ID/pictures/N                  a picture that belongs to the case
POST /api/chair/visits/ID/moves                       makes a move
GET  /api/chair/classes                               classes; POST makes one
GET  /api/chair/classes/ID                            its results; also /results.csv
POST /api/chair/classes/ID/students|scores|comments   adds students, lets scores out, comments
GET  /api/chair/classes/ID/visits/N?student=NAME      a student's visit
GET  /api/chair/by-link/KEY                           what a student has to do
POST /api/chair/by-link/KEY/visits/N                  begins a visit, or goes on; its parts as above
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from polyclinic.cases.pictures import bytes_of
from polyclinic.errors import BadInput
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.language import Language
from polyclinic.players.human.moves import Move, OrderMove, ReportMove
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.web.chair.catalogue import CaseAt, Catalogue
from polyclinic.web.chair.classes import Classes, KeptClass, NewClass
from polyclinic.web.chair.shift import nursing
from polyclinic.web.chair.staff import Staff
from polyclinic.web.chair.view import view
from polyclinic.web.chair.visits import PlayedCase, PlayedVisits, Sitting
from polyclinic.web.replies import RequestRefused, body, number, reply, without_folders
from polyclinic.web.serving import Serving

_MOST_BODY = 256 * 1024
_LISTED = 50
_COMPLETED = 12

_Answer = Callable[[Request], Awaitable[Response]]


class _NewVisit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    set: str
    key: str = ""  # any case of the set where it is empty
    patient: str = "rules"
    max_turns: Annotated[int, msgspec.Meta(ge=1, le=50)] = MAX_TURNS


class _NextMove(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    after: int
    move: Move


class _MoreStudents(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    students: Annotated[
        tuple[Annotated[str, msgspec.Meta(max_length=120)], ...], msgspec.Meta(min_length=1, max_length=300)
    ]


class _ScoresOut(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    out: bool


class _Comment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    student: str
    case: int
    text: Annotated[str, msgspec.Meta(max_length=8000)]


def chair(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the doctor's chair."""
    knowledge = read_knowledge()
    staff, catalogue = Staff(serving.players, knowledge, serving.practice.folder), Catalogue(serving.cases)
    practice = PlayedVisits(serving.practice, catalogue=catalogue, knowledge=knowledge, staff=staff)
    serving.on_end(practice.close)
    players, classes = _Playing(practice), Classes(practice)
    return [
        *players.routes(),
        *nursing(serving.practice, catalogue, knowledge),
        *_Teaching(practice, classes).routes(),
        *_Linked(practice, classes).routes(),
    ]


class _Playing:
    """Visits of whoever reaches the server."""

    def __init__(self, practice: PlayedVisits) -> None:
        self._practice = practice

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/settings", self._settings),
            Route("/cases", self._cases),
            Route("/names", _names(self._practice)),
            Route("/visits", self._visits),
            Route("/visits", self._begin, methods=["POST"]),
            *_visit_routes("/visits/{id}", self._practice, self._sitting),
        ]

    async def _settings(self, _: Request) -> Response:
        offered = self._practice.staff.players
        return reply(
            {
                "sets": self._practice.catalogue.sets(),
                "patients": offered.patients,
                "beside": offered.beside,
                "judge": offered.judge or "rules",
                "max_turns": MAX_TURNS,
            }
        )

    async def _cases(self, request: Request) -> Response:
        asked = request.query_params
        cases, found = self._practice.catalogue.offered(
            asked.get("set", "shipped"), words=asked.get("words", ""), start=number(request, "start", 0)
        )
        return reply({"cases": cases, "found": found})

    async def _visits(self, _: Request) -> Response:
        rows = [
            {
                "id": sitting.id,
                "begun": sitting.begun,
                "patient": sitting.case.presentation,
                "moves": len(sitting.moves),
                "points": None if scored is None else scored.own.points.total,
            }
            for sitting, scored in self._practice.of_nobodys_class(_LISTED)
        ]
        return reply({"visits": rows})

    async def _begin(self, request: Request) -> Response:
        new = await body(request, _NewVisit, most=_MOST_BODY)
        key = new.key or secrets.choice(self._practice.catalogue.keys(new.set))
        played = PlayedCase(case=CaseAt(set=new.set, key=key), patient=new.patient, max_turns=new.max_turns)
        sitting = self._practice.begin(played)
        await self._practice.make_room()
        await sitting.settle()
        return reply(view(sitting), 201)

    async def _sitting(self, request: Request) -> Sitting:
        sitting = self._practice.sitting(request.path_params["id"])
        if sitting.played.student:
            raise RequestRefused("this visit is a student's; it is reached by the student's link", 404)
        return sitting


class _Linked:
    """A student's visits, by the student's link."""

    def __init__(self, practice: PlayedVisits, classes: Classes) -> None:
        self._practice, self._classes = practice, classes

    def routes(self) -> list[BaseRoute]:
        base = "/by-link/{key}"
        return [
            Route(base, self._seen),
            Route(f"{base}/names", _names(self._practice)),
            Route(f"{base}/visits/{{n:int}}", self._begin, methods=["POST"]),
            *_visit_routes(f"{base}/visits/{{n:int}}", self._practice, self._sitting, self._may_see),
        ]

    async def _seen(self, request: Request) -> Response:
        return reply(self._classes.seen_by(request.path_params["key"]))

    async def _begin(self, request: Request) -> Response:
        sitting = self._classes.sitting(request.path_params["key"], request.path_params["n"])
        await self._practice.make_room()
        await sitting.settle()
        return reply(view(sitting))

    async def _sitting(self, request: Request) -> Sitting:
        _, student = self._classes.student(request.path_params["key"])
        if request.path_params["n"] not in student.visits:
            raise RequestRefused("this visit has not begun", 404)
        return self._classes.sitting(request.path_params["key"], request.path_params["n"])

    def _may_see(self, request: Request) -> None:
        kept, _ = self._classes.student(request.path_params["key"])
        if not self._classes.shows_scores(kept):
            raise RequestRefused("your teacher has not let the scores out yet", 409)


class _Teaching:
    """Classes, for whoever reaches the server."""

    def __init__(self, practice: PlayedVisits, classes: Classes) -> None:
        self._practice, self._classes = practice, classes

    def routes(self) -> list[BaseRoute]:
        one = "/classes/{id}"
        return [
            Route("/classes", self._all),
            Route("/classes", self._make, methods=["POST"]),
            Route(one, self._one),
            Route(f"{one}/results.csv", self._csv),
            Route(f"{one}/students", self._add, methods=["POST"]),
            Route(f"{one}/scores", self._let_out, methods=["POST"]),
            Route(f"{one}/comments", self._comment, methods=["POST"]),
            Route(f"{one}/visits/{{n:int}}", self._visit),
        ]

    async def _all(self, _: Request) -> Response:
        told = [
            {"id": one.id, "title": one.set.title, "made": one.made, "students": len(one.students)}
            for one in self._classes.all()
        ]
        return reply({"classes": told, "damaged": [without_folders(one) for one in self._classes.damaged()]})

    async def _make(self, request: Request) -> Response:
        return self._told(self._classes.make(await body(request, NewClass, most=_MOST_BODY)), 201)

    async def _one(self, request: Request) -> Response:
        return self._told(self._classes.named(request.path_params["id"]))

    async def _add(self, request: Request) -> Response:
        more = await body(request, _MoreStudents, most=_MOST_BODY)
        return self._told(self._classes.add(request.path_params["id"], more.students))

    async def _let_out(self, request: Request) -> Response:
        told = await body(request, _ScoresOut, most=_MOST_BODY)
        return self._told(self._classes.let_out(request.path_params["id"], out=told.out))

    async def _comment(self, request: Request) -> Response:
        said = await body(request, _Comment, most=_MOST_BODY)
        return self._told(self._classes.comment(request.path_params["id"], said.student, said.case, said.text))

    async def _csv(self, request: Request) -> Response:
        written = self._classes.csv(request.path_params["id"])
        headers = {"content-disposition": 'attachment; filename="results.csv"', "cache-control": "no-store"}
        return Response(written, media_type="text/csv; charset=utf-8", headers=headers)

    async def _visit(self, request: Request) -> Response:
        student = request.query_params.get("student", "")
        id = self._classes.visit_of(request.path_params["id"], student, request.path_params["n"])
        sitting = self._practice.sitting(id)
        await sitting.settle()
        return reply({"visit": view(sitting), "score": self._practice.stored_score(id)})

    def _told(self, kept: KeptClass, status: int = 200) -> Response:
        cases = [self._practice.catalogue.at_the_door(at) for at in kept.set.cases]
        return reply({"class": kept, "cases": cases, "rows": self._classes.rows(kept.id)}, status)


def _visit_routes(
    base: str,
    practice: PlayedVisits,
    sitting_of: Callable[[Request], Awaitable[Sitting]],
    check: Callable[[Request], None] = lambda _: None,
) -> list[BaseRoute]:
    """Returns the routes of one visit; `check` refuses score and trace where they are held back."""

    async def seen(request: Request) -> Response:
        sitting = await sitting_of(request)
        await sitting.settle()
        return reply(view(sitting))

    async def moved(request: Request) -> Response:
        sitting = await sitting_of(request)
        next_move = await body(request, _NextMove, most=_MOST_BODY)
        move = next_move.move
        if isinstance(move, OrderMove):
            move = OrderMove(names=tuple(_ordered(practice, sitting, name) for name in move.names))
        await sitting.make(move, after=next_move.after)
        if isinstance(move, ReportMove):
            await practice.scored(sitting)
        return reply(view(sitting))

    async def scored(request: Request) -> Response:
        sitting = await sitting_of(request)
        await sitting.settle()
        if sitting.is_over:
            check(request)
        return reply(await practice.scored(sitting))

    async def trace(request: Request) -> Response:
        sitting = await sitting_of(request)
        await sitting.settle()
        if sitting.is_over:
            check(request)
        headers = {"content-disposition": 'attachment; filename="visit.trace.jsonl"', "cache-control": "no-store"}
        return Response(practice.trace(sitting), media_type="application/x-ndjson", headers=headers)

    async def picture(request: Request) -> Response:
        sitting = await sitting_of(request)
        number = request.path_params["picture"]
        try:
            kind, data = bytes_of(practice.catalogue.picture(sitting.played.case, number))
        except BadInput:  # it says the name of the file, which may be that of the disease
            raise RequestRefused(f"picture {number} of this case cannot be shown", 422) from None
        return Response(data, media_type=kind, headers={"cache-control": "private, max-age=3600"})

    return [
        Route(base, seen),
        Route(f"{base}/pictures/{{picture:int}}", picture),
        Route(f"{base}/moves", moved, methods=["POST"]),
        Route(f"{base}/score", scored),
        Route(f"{base}/trace", trace),
    ]


def _ordered(practice: PlayedVisits, sitting: Sitting, name: str) -> str:
    """Returns the name in full of what is ordered; as it was written where no examination is called so."""
    meant = practice.order_names.meant(name, sitting.case.presentation.language)
    if len(meant) > 1:
        among = ", ".join(meant[:_COMPLETED])
        raise RequestRefused(f"{name[:80]!r} may mean several examinations: {among}; name one", 422)
    return (meant or [name.strip()])[0]


def _names(practice: PlayedVisits) -> _Answer:
    async def names(request: Request) -> Response:
        language: Language = "zh" if request.query_params.get("language") == "zh" else "en"
        found = practice.order_names.titles(request.query_params.get("words", "")[:200], language)
        return reply({"names": found[:_COMPLETED], "found": len(found)})

    return names
