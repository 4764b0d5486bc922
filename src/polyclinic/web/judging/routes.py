"""What the annotator's desk answers: to whoever holds a study, and to those who judge, by link.

GET  /api/judging/settings                  forms, what can be judged, sets of cases
GET  /api/judging/studies                   studies; POST makes one
GET  /api/judging/studies/ID                how it stands; also /verdicts.jsonl and /verdicts.csv
GET  /api/judging/by-link/KEY               what somebody has to do
GET  /api/judging/by-link/KEY/items/N       an item; POST keeps what is said of it
"""

from __future__ import annotations

from collections.abc import Sequence

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from polyclinic.judging.verdicts import form_named, write_verdicts
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.layouts import read_exam
from polyclinic.web.chair.catalogue import Catalogue
from polyclinic.web.judging.material import MaterialShelf
from polyclinic.web.judging.studies import JUDGED_HERE, Annotator, GivenAnswers, NewStudy, Studies, Study
from polyclinic.web.replies import body, reply
from polyclinic.web.serving import Serving

_MOST_BODY = 256 * 1024
_ENDINGS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


def judging(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the annotator's desk."""
    desk = _JudgingDesk(serving)
    one, link = "/studies/{id}", "/by-link/{key}"
    return [
        Route("/settings", desk.settings),
        Route("/studies", desk.all),
        Route("/studies", desk.make, methods=["POST"]),
        Route(one, desk.state),
        Route(f"{one}/verdicts.{{ending}}", desk.verdicts),
        Route(link, desk.work),
        Route(f"{link}/items/{{n:int}}", desk.item),
        Route(f"{link}/items/{{n:int}}", desk.judge, methods=["POST"]),
    ]


class _JudgingDesk:
    def __init__(self, serving: Serving) -> None:
        self._catalogue = Catalogue(serving.cases)
        self._shelf = MaterialShelf(serving.folders, serving.practice.folder)
        self._exams = serving.exams
        self._studies = Studies(serving.practice)

    async def settings(self, _: Request) -> Response:
        material = await run_sync(self._shelf.listed)
        told = [
            {"name": name, "source": form_named(name).source, "questions": form_named(name).questions}
            for name in JUDGED_HERE
            if name != "errors" or self._exams
        ]
        return reply({"forms": told, "material": material, "sets": self._catalogue.sets()})

    async def all(self, _: Request) -> Response:
        told = [
            {
                "id": one.kept.id,
                "title": one.kept.set.title,
                "items": len(one.kept.items),
                "people": len(one.kept.people),
            }
            for one in self._studies.all()
        ]
        return reply({"studies": told})

    async def make(self, request: Request) -> Response:
        new = await body(request, NewStudy, most=_MOST_BODY)
        files = await run_sync(self._shelf.paths, new.material)
        cases = {case.id: case for case in self._catalogue.cases(new.cases)}
        questions = await run_sync(self._questions) if "errors" in new.forms else {}
        study = await run_sync(self._studies.make, new, files, cases, questions)
        return reply(study.state(), 201)

    def _questions(self) -> dict[str, ExamQuestion]:
        """Returns the questions that were asked, by their ids."""
        return {one.question.id: one for path in self._exams for one in read_exam(path)}

    async def state(self, request: Request) -> Response:
        study = self._studies.named(request.path_params["id"])
        return reply(await run_sync(study.state))

    async def verdicts(self, request: Request) -> Response:
        study, ending = self._studies.named(request.path_params["id"]), request.path_params["ending"]
        if ending not in _ENDINGS:
            return Response("There are verdicts.jsonl and verdicts.csv.\n", 404, media_type="text/plain")
        written = write_verdicts(study.verdicts(), f".{ending}")
        headers = {"content-disposition": f'attachment; filename="verdicts.{ending}"', "cache-control": "no-store"}
        return Response(written, media_type=_ENDINGS[ending], headers=headers)

    async def work(self, request: Request) -> Response:
        study, person = self._whose(request)
        return reply(study.desk(person))

    async def item(self, request: Request) -> Response:
        study, person = self._whose(request)
        return reply(study.task(person, request.path_params["n"]))

    async def judge(self, request: Request) -> Response:
        study, person = self._whose(request)
        study.judge(person, request.path_params["n"], await body(request, GivenAnswers, most=_MOST_BODY))
        return reply(study.desk(person))

    def _whose(self, request: Request) -> tuple[Study, Annotator]:
        return self._studies.person(request.path_params["key"])
