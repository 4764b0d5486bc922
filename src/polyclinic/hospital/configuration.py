"""Everything that a run of the hospital comes from."""

from __future__ import annotations

import msgspec

from polyclinic.hospital.care.compute import Setup
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.simulation import LOOKAHEAD
from polyclinic.language.language import Language


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run comes from; what is stored of it is enough to take it up again.

    Attributes:
        hospital: the hospital, as its file describes it.
        residents: how many live in the town.
        days: nobody falls ill after so many.
        visits: nobody sets out after so many; None for no limit.
        seed: of everything.
        language: of the town.
        lookahead: minutes by which an episode is launched ahead.
        profiles: a model that writes those who fall ill; "" for templates.
        course: a model that says how illnesses go on; "" for the knowledge's courses.
        setup: who plays and how models are asked; its journal is the run's own.
    """

    hospital: Hospital
    residents: int
    days: int
    visits: int | None = None
    seed: int = 0
    language: Language = "en"
    lookahead: int = LOOKAHEAD
    profiles: str = ""
    course: str = ""
    setup: Setup
