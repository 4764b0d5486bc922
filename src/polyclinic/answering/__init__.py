"""What a method that answers questions gets to work with, and what came of it."""

from polyclinic.answering.outcome import Outcome, OutcomeEnd

__all__ = ["Outcome", "OutcomeEnd"]
