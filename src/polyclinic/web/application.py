"""The server as an application: its parts below `/api/`, the pages below `/`, and before all of them the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from polyclinic import __version__
from polyclinic.errors import UserError
from polyclinic.web.browse.documents import browse
from polyclinic.web.chair.routes import chair
from polyclinic.web.guard import Guard
from polyclinic.web.judging import judging
from polyclinic.web.pages import page
from polyclinic.web.replies import complaint, reply, without_folders
from polyclinic.web.serving import Part, Serving
from polyclinic.web.town.routes import town

PARTS: dict[str, Part] = {"town": town, "chair": chair, "judging": judging, "browse": browse}


def application(serving: Serving) -> ASGIApp:
    """Returns what answers requests."""

    def about(_: Request) -> Response:
        return reply({"version": __version__, "parts": list(PARTS)})

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await serving.end()

    kept = [Middleware(_Keeping, serving)]
    routes = [
        Route("/api/about", about),
        *(Mount(f"/api/{name}", routes=list(part(serving)), middleware=kept) for name, part in PARTS.items()),
        Route("/", page),
        Route("/{name:path}", page),
    ]
    errors = {UserError: _user_error, HTTPException: _http_error, Exception: _our_mistake}
    return Guard(Starlette(routes=routes, exception_handlers=errors, lifespan=life), serving)  # type: ignore[arg-type]


class _Keeping:
    """Takes the folder of practice before anything is written to it: whatever is sent to a part is kept there."""

    def __init__(self, application: ASGIApp, serving: Serving) -> None:
        self._application, self._serving = application, serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            self._serving.practice.hold()
        await self._application(scope, receive, send)


def _user_error(_: Request, error: UserError) -> Response:
    return complaint(without_folders(error), getattr(error, "status", 422))


def _http_error(_: Request, error: HTTPException) -> Response:
    return complaint(error.detail, error.status_code)


def _our_mistake(_: Request, error: Exception) -> Response:
    # What went wrong within is told on the terminal, and not to whoever asked.
    return complaint(f"the server made a mistake ({type(error).__name__}); its terminal says more", 500)
