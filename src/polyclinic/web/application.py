"""The application of the server: the API below `/api/`, the pages below `/`, and the guard in front of both.

The guard refuses requests to other names, from other sites, or without the token, and sets the security headers.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from polyclinic import __version__
from polyclinic.errors import UserError
from polyclinic.web.browse.documents import Documents
from polyclinic.web.chair.routes import chair
from polyclinic.web.pages import page, pages
from polyclinic.web.refused import without_folders
from polyclinic.web.replies import complaint, get, reply
from polyclinic.web.serving import LOOPBACK, Part, Serving
from polyclinic.web.studies import judging
from polyclinic.web.town.routes import town

POLICY = (
    "default-src 'self'; script-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
"""A browser lets our pages do nothing from elsewhere, and runs no script within a page.

The map is drawn from pictures that the page makes itself.
"""

_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_COOKIE = "polyclinic"
_LARGE = 16_384  # bytes of an answer that is worth compressing
_LONGEST = 4_096  # letters of a request's path and query
_BY_LINK = re.compile(r"/api/[a-z-]+/by-link/")


class Guard:
    """Lets requests through to an application, or refuses them."""

    def __init__(self, application: ASGIApp, serving: Serving) -> None:
        self._application = application
        self._token = serving.token
        self._headers = {**_HEADERS, "x-polyclinic-build": pages().build}
        self._names = {*LOOPBACK, serving.host.lower()}
        if serving.token:
            self._names.add(socket.gethostname().lower())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await (self._instead(Request(scope)) or self._application)(scope, receive, guarded)

    def _instead(self, request: Request) -> Response | None:
        """Returns what answers a request in place of the application; None for one that may pass."""
        path, headers = request.scope["path"], request.headers
        host, origin = headers.get("host", ""), headers.get("origin")
        if len(path) + len(request.scope["query_string"]) > _LONGEST:
            return complaint("the address is too long", 414)
        if not self._ours(host):
            return complaint("this server does not answer to that name", 421)
        is_api = path.startswith("/api/")
        from_elsewhere = is_api and headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        if from_elsewhere or (origin is not None and urlsplit(origin).netloc != host):
            return complaint("requests from other pages are refused", 403)
        if not self._token:
            return None
        if "token" in request.query_params:
            return self._enter(request)
        told = (headers.get("authorization", "").removeprefix("Bearer "), request.cookies.get(_COOKIE, ""))
        # The pages themselves hold nothing of anybody's.
        if is_api and not _BY_LINK.match(path) and not any(map(self._is_token, told)):
            return complaint("this server needs its token: open the address that it printed at its start", 401)
        return None

    def _ours(self, host: str) -> bool:
        """Whether a `Host` names us: a page of elsewhere may have a name that leads to this machine."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
            if name not in self._names:
                ipaddress.ip_address(name)
        except ValueError:
            return False
        # With a token, any numeric address is accepted: no page of another site has such a name.
        return name in self._names or bool(self._token)

    def _is_token(self, told: str) -> bool:
        return secrets.compare_digest(told.encode(errors="replace"), self._token.encode())

    def _enter(self, request: Request) -> Response:
        """Takes the token out of the address, so that no history keeps it, and has the browser keep it."""
        asked = dict(request.query_params)
        if not self._is_token(asked.pop("token")):
            return complaint("that is not the token of this server", 401)
        # An address that begins with two slashes would lead elsewhere.
        there = "/" + request.scope["path"].lstrip("/\\") + (f"?{urlencode(asked)}" if asked else "")
        answer = RedirectResponse(there, 303)
        answer.set_cookie(_COOKIE, self._token, httponly=True, samesite="strict")
        return answer


def browse(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the page of results: documents, and the key of a visit to a hospital."""
    documents = Documents(serving.holdings)

    def visit(asked: dict[str, str]) -> Any:
        return {"key": documents.visit_of(serving.run(asked.get("run", "")), asked.get("visit", ""))}

    return [
        get("/of/{key:path}", documents, threaded=True),
        get("/visit", visit, query=dict[str, str], threaded=True),
    ]


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

    routes = [
        Route("/api/about", about),
        *(Mount(f"/api/{name}", routes=list(part(serving))) for name, part in PARTS.items()),
        Route("/", page),
        Route("/{name:path}", page),
    ]
    errors: dict[Any, Any] = {
        UserError: lambda _, error: complaint(without_folders(error), getattr(error, "status", 422)),
        HTTPException: lambda _, error: complaint(error.detail, error.status_code),
        # The details are for the terminal, not for the client.
        Exception: lambda _, error: complaint(
            f"internal error ({type(error).__name__}); see the terminal of the server", 500
        ),
    }
    # Between two programs of one machine compression must cost less than it saves.
    packed = [Middleware(GZipMiddleware, minimum_size=_LARGE, compresslevel=1)]
    served = Starlette(routes=routes, middleware=packed, exception_handlers=errors, lifespan=life)
    return Guard(served, serving)
