"""The routes of the page of results below `/api/browse`: documents, the visits of a run, and a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from starlette.routing import BaseRoute

from polyclinic.web.browse.documents import LONGEST, Documents
from polyclinic.web.replies import get
from polyclinic.web.serving import Serving


class _Search(msgspec.Struct, frozen=True):
    q: Annotated[str, msgspec.Meta(max_length=LONGEST)] = ""
    begin: Annotated[int, msgspec.Meta(ge=0)] = 0


def browse(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the page of results."""
    documents = Documents(serving.holdings)

    def visit(asked: dict[str, str]) -> Any:
        return {"key": documents.visit_of(serving.shelf.folder(asked.get("run", "")), asked.get("visit", ""))}

    return [
        get("/of/{key:path}", documents, threaded=True),
        get("/search", lambda asked: documents.search(asked.q, asked.begin), query=_Search, threaded=True),
        get("/visit", visit, query=dict[str, str], threaded=True),
    ]
