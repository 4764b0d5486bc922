"""The routes of the page of results below `/api/browse`: documents, and the visits of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.routing import BaseRoute

from polyclinic.web.browse.documents import Documents
from polyclinic.web.replies import get
from polyclinic.web.serving import Serving


def browse(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the page of results."""
    documents = Documents(serving.holdings)

    def visit(asked: dict[str, str]) -> Any:
        return {"key": documents.visit_of(serving.run(asked.get("run", "")), asked.get("visit", ""))}

    return [
        get("/of/{key:path}", documents, threaded=True),
        get("/visit", visit, query=dict[str, str], threaded=True),
    ]
