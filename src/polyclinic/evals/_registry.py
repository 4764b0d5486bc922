"""What Inspect finds by the entry point group `inspect_ai`: our provider, tasks and scorers, and a solver a method."""

from polyclinic.evals.methods import SOLVERS
from polyclinic.evals.tasks import TASKS
from polyclinic.models.inspect_provider import DirectAPI

__all__ = ["SOLVERS", "TASKS", "DirectAPI"]
