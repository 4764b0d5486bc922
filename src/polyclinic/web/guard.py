"""Who may ask what: looked at once, before any part of the server sees a request.

This machine alone is served without a token. A page of elsewhere must not reach the server through somebody's browser:
neither by a name that leads here (`Host`), nor by a request from its own place (`Origin`, `Sec-Fetch-Site`). What the
browser may do with our pages is said in `Content-Security-Policy`.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from polyclinic.web.pages import pages
from polyclinic.web.replies import complaint
from polyclinic.web.serving import LOOPBACK, Serving

POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "img-src 'self' data: blob:",  # the map is drawn from pictures that the page makes itself
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
"""What a browser lets our pages do: nothing from elsewhere, and no script that stands in a page."""

_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_COOKIE = "polyclinic"
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
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        problem = self._problem(scope, headers)
        if problem is not None:
            await complaint(*problem)(scope, receive, guarded)
        elif self._token and _asked(scope).get("token") is not None:
            await self._enter(scope, receive, guarded)
        elif self._token and not self._knows(scope, headers):
            why = "this server wants its token: open the address that it printed when it began"
            await complaint(why, 401)(scope, receive, guarded)
        else:
            await self._application(scope, receive, guarded)

    def _problem(self, scope: Scope, headers: Headers) -> tuple[str, int] | None:
        if len(scope["path"]) + len(scope["query_string"]) > _LONGEST:
            return "the address is too long", 414
        host = headers.get("host", "")
        if not self._ours(host):
            return "this server is not reached under that name", 421
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return "requests from other pages are refused", 403
        if scope["path"].startswith("/api/") and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return "requests from other pages are refused", 403
        return None

    def _ours(self, host: str) -> bool:
        """Whether a `Host` names us: a page of elsewhere may have a name that leads to this machine."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        if name in self._names:
            return True
        # Whoever must know the token may come by any address in numbers: no page of elsewhere is called so.
        return bool(self._token) and _is_address(name)

    def _knows(self, scope: Scope, headers: Headers) -> bool:
        if not scope["path"].startswith("/api/") or _BY_LINK.match(scope["path"]):
            return True  # the pages themselves hold nothing of anybody's
        told = headers.get("authorization", "").removeprefix("Bearer ")
        return self._is_token(told) or self._is_token(_cookie(headers))

    def _is_token(self, told: str) -> bool:
        return secrets.compare_digest(told.encode(errors="replace"), self._token.encode())

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes the token out of the address, so that it stands in no history, and has the browser keep it."""
        asked = _asked(scope)
        if not self._is_token(asked.pop("token")):
            await complaint("that is not the token of this server", 401)(scope, receive, send)
            return
        # An address that begins with two slashes would lead elsewhere.
        there = "/" + scope["path"].lstrip("/\\") + (f"?{urlencode(asked)}" if asked else "")
        answer = RedirectResponse(there, 303)
        answer.set_cookie(_COOKIE, self._token, httponly=True, samesite="strict")
        await answer(scope, receive, send)


def _asked(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(_COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
