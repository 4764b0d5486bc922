"""polyclinic: language models practise medicine on simulated patients.

For research and teaching only; never for the care of real people.
"""

from __future__ import annotations

from polyclinic.lazy import lazily

TYPE_CHECKING = False  # without `typing`: nothing of ours can answer Ctrl-C while this file is imported

if TYPE_CHECKING:
    from polyclinic.cases.loaders import read_cases as read_cases
    from polyclinic.generation.draw import generate as generate
    from polyclinic.knowledge.knowledge import read_knowledge as read_knowledge
    from polyclinic.models.open import open_model as open_model
    from polyclinic.models.settings import ModelSettings as ModelSettings
    from polyclinic.players.minds import Minds as Minds
    from polyclinic.visits.visit import consult as consult
    from polyclinic.visits.team import confer as confer
    from polyclinic.visits.visit import see as see

__version__ = "0.1.0"

__getattr__ = lazily(__name__, __file__)
