"""The pages, scripts and pictures that come with the package: read once, served from memory, compressed once."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

STATIC = files("polyclinic.web") / "static"

_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "woff2": "font/woff2",
}
_PACKED = frozenset({"html", "js", "css", "json", "svg"})


class _File(NamedTuple):
    content: bytes
    packed: bytes | None
    type: str
    tag: str


def page(request: Request) -> Response:
    """Answers with a file: `/` is the first page, `/town` the page `town.html`."""
    name = request.path_params.get("name", "") or "index.html"
    names = _names()
    name = name if name in names else f"{name}.html"
    if name not in names:
        return Response("There is no such page.\n", 404, media_type="text/plain")
    file = _read(name)
    headers = {"etag": file.tag, "cache-control": "no-cache", "vary": "accept-encoding"}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if file.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, headers={**headers, "content-encoding": "gzip"}, media_type=file.type)
    return Response(file.content, headers=headers, media_type=file.type)


@cache
def _names() -> dict[str, Traversable]:
    """Returns every file by the name under which it is asked for."""
    found: dict[str, Traversable] = {}

    def look(folder: Traversable, before: str) -> None:
        for one in folder.iterdir():
            if one.is_dir():
                look(one, f"{before}{one.name}/")
            elif one.name.rpartition(".")[2] in _TYPES:
                found[before + one.name] = one

    look(STATIC, "")
    return found


@cache
def _read(name: str) -> _File:
    content = _names()[name].read_bytes()
    end = name.rpartition(".")[2]
    packed = gzip.compress(content, 6, mtime=0) if end in _PACKED else None
    return _File(content, packed, _TYPES[end], f'"{hashlib.sha256(content).hexdigest()[:24]}"')
