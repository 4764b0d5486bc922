"""How well a simulated patient does on questions that people have labelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.lazy import lazily

if TYPE_CHECKING:
    from polyclinic.benchmarks.patient_simulator.evaluation import EFFECT, compare, read_labelled, simulate

__all__ = [
    "EFFECT",
    "compare",
    "read_labelled",
    "simulate",
]

__getattr__ = lazily(
    __name__,
    {
        "evaluation": "EFFECT compare read_labelled simulate",
    },
)
