"""How well a simulated patient does on questions that people have labelled."""

from polyclinic.benchmarks.patient_simulator.evaluation import EFFECT, compare, read_labelled, simulate

__all__ = ["EFFECT", "compare", "read_labelled", "simulate"]
