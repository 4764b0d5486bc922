"""How well a simulated patient does on questions that people have labelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.benchmarks.patient_simulator.evaluation import (
        EFFECT as EFFECT,
        compare as compare,
        read_labelled as read_labelled,
        simulate as simulate,
    )

__getattr__, __all__ = lazily(__name__, __file__)
