"""What symptoms and reports of a quantity are worth, cell by cell of what they read."""

from __future__ import annotations

from polyclinic.knowledge.body import PanelReading, SymptomReading, cell_of, cuts_of, of_state
from polyclinic.knowledge.results import ItemReading

Observed = float | str | ItemReading
"""What an item shows: a number in its unit, the id of its text, or what others' words say of it."""

Told = float | dict[str, float]
"""Share of a symptom, or of each text of an item, in a cell of what it reads."""


def share_in(reading: SymptomReading, cell: str | float) -> float:
    """Returns the share of a symptom in a state, or from a value on."""
    if isinstance(cell, str):
        return of_state(reading.states, cell)
    return reading.below[cell_of(cuts_of(reading.below), cell)][1]


def texts_in(reading: PanelReading, cell: str | float) -> dict[str, float]:
    """Returns the shares of an item's texts in a state, or from a value on, of the quantity that it reads."""
    if isinstance(cell, str):
        return of_state(reading.states, cell)
    return reading.below[cell_of(cuts_of(reading.below), cell)][1]


def chance_of(share: Told, observed: Observed | bool) -> float:
    """Returns the share of an observation in a cell of what it reads."""
    if isinstance(share, dict):
        if isinstance(observed, ItemReading):
            return sum(share.get(value, 0.0) for value in observed.values) if observed.values else 1.0
        return share.get(str(observed), 0.0)
    return share if observed else 1 - share
