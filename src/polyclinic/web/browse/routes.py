"""What the page of results asks for.

GET  /api/browse/of/KEY            a document; `documents` says which there are
GET  /api/browse/visit?run=ID&visit=ID    the key of a visit to a hospital; the run by its id on the map
GET  /api/browse/search?q=WORDS    where something was said; `&begin=N` continues
"""

from __future__ import annotations

from collections.abc import Sequence

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from polyclinic.web.browse.documents import LONGEST, Documents, search
from polyclinic.web.browse.holdings import Holdings
from polyclinic.web.refused import RequestRefused
from polyclinic.web.replies import number, reply
from polyclinic.web.serving import Serving


def browse(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the page of results."""
    documents = Documents(Holdings(serving.folders, without=[serving.practice.folder]))

    async def document(request: Request) -> Response:
        return reply(await run_sync(documents, request.path_params["key"]))

    async def found(request: Request) -> Response:
        question = request.query_params.get("q", "")
        if len(question) > LONGEST:
            raise RequestRefused(f"at most {LONGEST} letters are searched for")
        return reply(await run_sync(search, documents, question, number(request, "begin", 0)))

    async def visit(request: Request) -> Response:
        run = await run_sync(serving.shelf.folder, request.query_params.get("run", ""))
        return reply({"key": await run_sync(documents.visit_of, run, request.query_params.get("visit", ""))})

    return [Route("/of/{key:path}", document), Route("/search", found), Route("/visit", visit)]
