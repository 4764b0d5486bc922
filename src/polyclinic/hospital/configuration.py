"""Everything that a run of the hospital comes from."""

from __future__ import annotations

import msgspec

from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.simulation import LOOKAHEAD
from polyclinic.language.language import Language


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run comes from; what is stored of it is enough to take it up again."""

    hospital: Hospital  # the hospital, as its file describes it
    residents: int  # how many live in the town
    days: int  # nobody falls ill after so many
    visits: int | None = None  # nobody sets out after so many; None for no limit
    seed: int = 0  # of everything
    language: Language = "en"  # of the town
    lookahead: int = LOOKAHEAD  # minutes by which an episode is launched ahead
    profiles: str = ""  # a model that writes those who fall ill; "" for templates
    course: str = ""  # a model that says how illnesses go on; "" for the knowledge's courses
    setup: Setup  # who plays and how models are asked; its journal is the run's own
