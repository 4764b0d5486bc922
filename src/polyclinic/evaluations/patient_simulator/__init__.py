"""How well a simulated patient understands what doctors say: questions that people labelled, recorded turns."""

from polyclinic.evaluations.patient_simulator.evaluation import EFFECT, compare, read_labelled, simulate
from polyclinic.evaluations.patient_simulator.recorded import compare_turns, read_recorded, recorded_turns

__all__ = ["EFFECT", "compare", "compare_turns", "read_labelled", "read_recorded", "recorded_turns", "simulate"]
