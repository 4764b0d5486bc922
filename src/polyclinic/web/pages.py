"""The pages, scripts and pictures of the package, read once and served from memory.

All are of one build, which each answer names, so that a page can tell that it is older than its server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

STATIC = Path(__file__).with_name("static")

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}


class BuiltPages(NamedTuple):
    """The pages as first read."""

    build: str  # tells one build from another
    files: Mapping[str, bytes]  # by the name under which each is requested


def page(request: Request) -> Response:
    """Answers with a file: `/` is the first page, `/town` the page `town.html`."""
    asked = request.path_params.get("name", "") or "index.html"
    build, files = pages()
    name = next((name for name in (asked, f"{asked}.html") if name in files), None)
    if name is None:
        return Response("There is no such page.\n", 404, media_type="text/plain")
    headers = {"etag": f'"{build}"', "cache-control": "no-cache"}
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(files[name], headers=headers, media_type=_TYPES[Path(name).suffix])


@cache
def pages() -> BuiltPages:
    """Returns the pages that come with the package."""
    return read_pages(STATIC)


def read_pages(folder: Path) -> BuiltPages:
    """Returns the pages of a folder, each marked with its build."""
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix in _TYPES]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    build = hashlib.sha256(b"".join(name.encode() + content for name, content in files.items())).hexdigest()[:16]
    marked = f'<head><meta name="polyclinic-build" content="{build}">'.encode()
    for name, content in files.items():
        if name.endswith(".html"):
            files[name] = content.replace(b"<head>", marked, 1)
    return BuiltPages(build, files)
