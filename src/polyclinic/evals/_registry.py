"""What Inspect finds by the entry point group `inspect_ai`: our provider, tasks and scorers, and a solver a method."""

from polyclinic.evals import tasks
from polyclinic.evals.methods import SOLVERS
from polyclinic.models.inspect_provider import DirectAPI

__all__ = ["SOLVERS", "DirectAPI", "tasks"]
