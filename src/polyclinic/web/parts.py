"""Which parts the server has, by name, and where the routes of each are made."""

from __future__ import annotations

from polyclinic.web.browse.routes import browse
from polyclinic.web.chair.routes import chair
from polyclinic.web.judging.routes import judging
from polyclinic.web.serving import Part
from polyclinic.web.town.routes import town

PARTS: dict[str, Part] = {"town": town, "chair": chair, "judging": judging, "browse": browse}
