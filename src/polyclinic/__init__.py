"""polyclinic: language models practise medicine on simulated patients.

For research and teaching only; never for the care of real people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.cases.loaders import read_cases
    from polyclinic.generation.draw import generate
    from polyclinic.knowledge.knowledge import read_knowledge
    from polyclinic.models.open import open_model
    from polyclinic.models.session import ModelOptions
    from polyclinic.players.minds import Minds
    from polyclinic.visits.one_call import consult
    from polyclinic.visits.team import confer
    from polyclinic.visits.visit import see

__version__ = "0.1.0"

__all__ = [
    "Minds",
    "ModelOptions",
    "confer",
    "consult",
    "generate",
    "open_model",
    "read_cases",
    "read_knowledge",
    "see",
]

__getattr__ = lazily(
    __name__,
    {
        "cases.loaders": "read_cases",
        "generation.draw": "generate",
        "knowledge.knowledge": "read_knowledge",
        "models.open": "open_model",
        "models.session": "ModelOptions",
        "players.minds": "Minds",
        "visits.one_call": "consult",
        "visits.team": "confer",
        "visits.visit": "see",
    },
)
