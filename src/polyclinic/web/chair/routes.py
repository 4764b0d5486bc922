"""What the doctor's chair answers."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute

from polyclinic.web.serving import Serving


def chair(serving: Serving) -> Sequence[BaseRoute]:
    """Returns the routes of the doctor's chair."""
    del serving
    return []
