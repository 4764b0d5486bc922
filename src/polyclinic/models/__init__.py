"""Who answers: the providers to language models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.models.direct import Direct as Direct
    from polyclinic.models.journal import Journal as Journal
    from polyclinic.models.ledger import Ledger as Ledger
    from polyclinic.models.model import Model as Model, Price as Price, Reply as Reply, Usage as Usage
    from polyclinic.models.open import open_model as open_model
    from polyclinic.models.scripted import Scripted as Scripted
    from polyclinic.models.session import open_models as open_models
from polyclinic.models.settings import ModelSettings as ModelSettings

__getattr__ = lazily(__name__, __file__)
