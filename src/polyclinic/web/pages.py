"""The pages, scripts and pictures that come with the package, read once and served from memory.

All are read together, so that pages built anew under a running server never mix with the earlier ones. Each answer
names the build; a page that is older than its server shows that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
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


class _File(NamedTuple):
    content: bytes
    type: str
    tag: str


class BuiltPages(NamedTuple):
    """The pages as first read."""

    build: str  # tells one build from another
    files: Mapping[str, _File]  # by the name under which each is requested


def page(request: Request) -> Response:
    """Answers with a file: `/` is the first page, `/town` the page `town.html`."""
    name = request.path_params.get("name", "") or "index.html"
    built = pages()
    file = built.files.get(name) or built.files.get(f"{name}.html")
    if file is None:
        return Response("There is no such page.\n", 404, media_type="text/plain")
    headers = {"etag": file.tag, "cache-control": "no-cache"}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.type)


@cache
def pages() -> BuiltPages:
    """Returns the pages that come with the package."""
    return read_pages(STATIC)


def read_pages(folder: Traversable) -> BuiltPages:
    """Returns the pages of a folder, each marked with its build."""
    found = {name: path.read_bytes() for name, path in _names(folder, "")}
    whole = hashlib.sha256(b"".join(name.encode() + content for name, content in sorted(found.items())))
    build = whole.hexdigest()[:16]
    marked = f'<head><meta name="polyclinic-build" content="{build}">'.encode()
    files = {}
    for name, content in found.items():
        ending = name.rpartition(".")[2]
        shown = content.replace(b"<head>", marked, 1) if ending == "html" else content
        files[name] = _File(shown, _TYPES[ending], f'"{hashlib.sha256(shown).hexdigest()[:24]}"')
    return BuiltPages(build, files)


def _names(folder: Traversable, before: str) -> Iterator[tuple[str, Traversable]]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _names(one, f"{before}{one.name}/")
        elif one.name.rpartition(".")[2] in _TYPES:
            yield before + one.name, one
