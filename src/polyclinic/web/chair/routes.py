"""The routes of the doctor's chair below `/api/chair`: for a player, for a teacher, and by link for a student."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec
from starlette.responses import Response
from starlette.routing import BaseRoute

from polyclinic.cases.pictures import bytes_of
from polyclinic.errors import BadInput
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.language import Language
from polyclinic.players.human.moves import Move, OrderMove, ReportMove
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.web.chair.catalogue import CaseAt
from polyclinic.web.chair.classes import Classes, KeptClass, NewClass
from polyclinic.web.chair.shift import nursing
from polyclinic.web.chair.staff import Staff
from polyclinic.web.chair.view import view
from polyclinic.web.chair.visits import PlayedCase, PlayedVisits, Sitting
from polyclinic.web.refused import NotFound, NotNow, RequestRefused, without_folders
from polyclinic.web.replies import download, get, post
from polyclinic.web.serving import Serving

_LISTED = 50
_COMPLETED = 12


class _Request(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _NewVisit(_Request):
    set: str
    key: str = ""  # any case of the set where it is empty
    patient: str = "rules"
    max_turns: Annotated[int, msgspec.Meta(ge=1, le=50)] = MAX_TURNS


class _AskedCases(msgspec.Struct):
    set: str = "shipped"
    words: str = ""
    start: Annotated[int, msgspec.Meta(ge=0)] = 0


class _NextMove(_Request):
    after: int
    move: Move


class _MoreStudents(_Request):
    students: Annotated[
        tuple[Annotated[str, msgspec.Meta(max_length=120)], ...], msgspec.Meta(min_length=1, max_length=300)
    ]


class _ScoresOut(_Request):
    out: bool


class _Comment(_Request):
    student: str
    case: int
    text: Annotated[str, msgspec.Meta(max_length=8000)]


def chair(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the doctor's chair."""
    knowledge, catalogue = read_knowledge(), serving.catalogue
    staff = Staff(serving.players, knowledge, serving.practice.folder)
    visits = PlayedVisits(serving.practice, catalogue=catalogue, knowledge=knowledge, staff=staff)
    serving.ending.append(visits.close)
    return [*_playing(visits), *nursing(serving.practice, catalogue, knowledge), *_teaching(visits, Classes(visits))]


def _playing(visits: PlayedVisits) -> list[BaseRoute]:
    catalogue, offered = visits.catalogue, visits.staff.players
    told = {"patients": offered.patients, "beside": offered.beside, "judge": offered.judge or "rules"}

    def listed() -> Any:
        rows = [
            {
                "id": sitting.id,
                "begun": sitting.kept.entries[0].at,
                "patient": sitting.case.presentation,
                "moves": len(sitting.moves),
                "points": None if scored is None else scored.own.points.total,
            }
            for sitting, scored in visits.of_nobodys_class(_LISTED)
        ]
        return {"visits": rows}

    async def begin(new: _NewVisit) -> Any:
        key = new.key or secrets.choice(catalogue.keys(new.set))
        played = PlayedCase(case=CaseAt(set=new.set, key=key), patient=new.patient, max_turns=new.max_turns)
        return view(await visits.settled(visits.begin(played)))

    def sitting_of(id: str) -> Sitting:
        sitting = visits.sitting(id)
        if sitting.played.student:
            raise NotFound("this visit is a student's; it is reached by the student's link")
        return sitting

    return [
        get("/settings", lambda: {"sets": catalogue.sets(), **told, "max_turns": MAX_TURNS}),
        get("/cases", lambda asked: catalogue.offered(asked.set, asked.words, asked.start), query=_AskedCases),
        _names("/names", visits),
        get("/visits", listed),
        post("/visits", _NewVisit, begin, status=201),
        *_visit_routes("/visits/{id}", visits, sitting_of),
    ]


def _teaching(visits: PlayedVisits, classes: Classes) -> list[BaseRoute]:
    """Returns the routes for teachers, and by link for students."""

    def listed() -> Any:
        told = [
            {"id": one.id, "title": one.set.title, "made": one.made, "students": len(one.students)}
            for one in classes.all()
        ]
        return {"classes": told, "damaged": [without_folders(one) for one in visits.practice.damaged("class")]}

    def told(kept: KeptClass) -> Any:
        cases = [visits.catalogue.at_the_door(at) for at in kept.set.cases]
        return {"class": kept, "cases": cases, "rows": classes.rows(kept)}

    async def visit(asked: dict[str, str], id: str, n: int) -> Any:
        played = classes.visit_of(id, asked.get("student", ""), n)
        return {"visit": view(await visits.settled(visits.sitting(played))), "score": visits.stored_score(played)}

    async def begin(key: str, n: int) -> Any:
        return view(await visits.settled(classes.sitting(key, n)))

    def sitting_of(key: str, n: int) -> Sitting:
        if n not in classes.guest(key)[1].visits:
            raise NotFound("this visit has not begun")
        return classes.sitting(key, n)

    def check(key: str, **_: int) -> None:
        if not classes.shows_scores(classes.guest(key)[0]):
            raise NotNow("your teacher has not let the scores out yet")

    one, theirs = "/classes/{id}", "/by-link/{key}/visits/{n:int}"
    return [
        get("/classes", listed),
        post("/classes", NewClass, lambda new: told(classes.make(new)), status=201),
        get(one, lambda id: told(classes.named(id))),
        get(f"{one}/results.csv", lambda id: download(classes.csv(id), "results.csv", "text/csv; charset=utf-8")),
        post(f"{one}/students", _MoreStudents, lambda more, id: told(classes.add(id, more.students))),
        post(f"{one}/scores", _ScoresOut, lambda scores, id: told(classes.let_out(id, out=scores.out))),
        post(
            f"{one}/comments", _Comment, lambda said, id: told(classes.comment(id, said.student, said.case, said.text))
        ),
        get(f"{one}/visits/{{n:int}}", visit, query=dict[str, str]),
        get("/by-link/{key}", classes.seen_by),
        _names("/by-link/{key}/names", visits),
        get(theirs, begin, method="POST"),
        *_visit_routes(theirs, visits, sitting_of, check),
    ]


def _visit_routes(
    base: str, visits: PlayedVisits, sitting_of: Callable[..., Sitting], check: Callable[..., None] = lambda **_: None
) -> list[BaseRoute]:
    """Returns the routes of one visit; `check` refuses score and trace where they are held back."""

    async def settled(**at: Any) -> Sitting:
        sitting = sitting_of(**at)
        await sitting.settle()
        return sitting

    async def seen(**at: Any) -> Any:
        return view(await settled(**at))

    async def moved(next_move: _NextMove, **at: Any) -> Any:
        sitting, move = sitting_of(**at), next_move.move
        if isinstance(move, OrderMove):
            names = []
            for name in move.names:
                meant = visits.order_names.meant(name, sitting.case.presentation.language)
                if len(meant) > 1:
                    among = ", ".join(meant[:_COMPLETED])
                    raise RequestRefused(f"{name[:80]!r} may mean several examinations: {among}; name one", 422)
                names.append((meant or [name.strip()])[0])
            move = OrderMove(names=tuple(names))
        await sitting.make(move, after=next_move.after)
        if isinstance(move, ReportMove):
            await visits.scored(sitting)
        return view(sitting)

    async def ended(**at: Any) -> Sitting:
        sitting = await settled(**at)
        if sitting.is_over:
            check(**at)
        return sitting

    async def scored(**at: Any) -> Any:
        return await visits.scored(await ended(**at))

    async def trace(**at: Any) -> Any:
        return download(visits.trace(await ended(**at)), "visit.trace.jsonl", "application/x-ndjson")

    def picture(picture: int, **at: Any) -> Any:
        try:
            kind, data = bytes_of(visits.catalogue.picture(sitting_of(**at).played.case, picture))
        except BadInput:  # it says the name of the file, which may be that of the disease
            raise RequestRefused(f"picture {picture} of this case cannot be shown", 422) from None
        return Response(data, media_type=kind, headers={"cache-control": "private, max-age=3600"})

    return [
        get(base, seen),
        get(f"{base}/pictures/{{picture:int}}", picture),
        post(f"{base}/moves", _NextMove, moved),
        get(f"{base}/score", scored),
        get(f"{base}/trace", trace),
    ]


def _names(path: str, visits: PlayedVisits) -> BaseRoute:
    def names(asked: dict[str, str], **_: str) -> Any:
        language: Language = "zh" if asked.get("language") == "zh" else "en"
        found = visits.order_names.titles(asked.get("words", "")[:200], language)
        return {"names": found[:_COMPLETED], "found": len(found)}

    return get(path, names, query=dict[str, str])
