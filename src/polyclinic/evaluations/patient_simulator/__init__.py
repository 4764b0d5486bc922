"""How well a simulated patient understands what doctors say: questions that people labelled, recorded turns."""

from polyclinic.evaluations.patient_simulator.evaluation import (
    EFFECT,
    compare,
    compare_turns,
    read_labelled,
    read_recorded,
    recorded_turns,
    simulate,
)

__all__ = ["EFFECT", "compare", "compare_turns", "read_labelled", "read_recorded", "recorded_turns", "simulate"]
