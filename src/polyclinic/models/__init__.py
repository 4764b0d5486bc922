"""Who answers: the doors to language models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.models.direct import Direct
    from polyclinic.models.journal import Journal
    from polyclinic.models.ledger import Ledger
    from polyclinic.models.model import Model, Price, Reply, Usage
    from polyclinic.models.open import open_model
    from polyclinic.models.scripted import Scripted
    from polyclinic.models.session import ModelOptions, open_session

__all__ = [
    "Direct",
    "Journal",
    "Ledger",
    "Model",
    "ModelOptions",
    "Price",
    "Reply",
    "Scripted",
    "Usage",
    "open_model",
    "open_session",
]

__getattr__ = lazily(
    __name__,
    {
        "direct": "Direct",
        "journal": "Journal",
        "ledger": "Ledger",
        "model": "Model Price Reply Usage",
        "open": "open_model",
        "scripted": "Scripted",
        "session": "ModelOptions open_session",
    },
)
