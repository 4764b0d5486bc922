"""polyclinic: language models practise medicine on simulated patients.

For research and teaching only; never for the care of real people.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyclinic.cases.loaders import read_cases
    from polyclinic.generation.draw import generate
    from polyclinic.knowledge.knowledge import read_knowledge
    from polyclinic.models.open import open_model
    from polyclinic.players.minds import Minds
    from polyclinic.visits.visit import see

__version__ = "0.1.0"

__all__ = ["Minds", "generate", "open_model", "read_cases", "read_knowledge", "see"]

_HOMES = {
    "Minds": "players.minds",
    "generate": "generation.draw",
    "open_model": "models.open",
    "read_cases": "cases.loaders",
    "read_knowledge": "knowledge.knowledge",
    "see": "visits.visit",
}


def __getattr__(name: str) -> object:
    # Imported when asked for: the command line's --help must not wait for what it does not need.
    if name not in _HOMES:
        raise AttributeError(f"module 'polyclinic' has no attribute {name!r}")
    return getattr(importlib.import_module(f"polyclinic.{_HOMES[name]}"), name)
