"""What is so beside any illness, such as a pregnancy, in the reading of numbers that it moves."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from polyclinic.cases.presentation import Sex
from polyclinic.knowledge.disease_body import DiseaseBody
from polyclinic.knowledge.entries import Item
from polyclinic.knowledge.physiology import Physiology

_FARTHEST = 18.0  # squared spreads beyond which it says nothing more how far a number is off


def or_beside(
    log: npt.NDArray[np.float64],
    value: float,
    item: Item,
    *,
    who: tuple[float | None, Sex | None],
    physiology: Physiology,
    bodies: Mapping[str, DiseaseBody],
) -> npt.NDArray[np.float64]:
    """Returns the log-densities of a number where something beside the illness may have moved it.

    Args:
        log: those of the illnesses alone, "something else" last.
        value: an adult's number.
        item: whose number it is.
        who: age in years and sex.
        physiology: what can be so beside an illness, and the hypotheses in their order.
        bodies: what the diseases make of the body.
    """
    for beside in physiology.body.beside.values():
        share = beside.share(*who) if item.id in beside.numbers else 0.0
        if share:
            centre, spread = beside.numbers[item.id]
            x = value
            if item.lognormal:
                centre, spread, x = math.log(centre), math.log(spread), math.log(max(value, 1e-9))
            density = -0.5 * min(((x - centre) / spread) ** 2, _FARTHEST) - math.log(spread)
            alone = [bodies[h.disease.id].distribution(item, h.severity) == item.usual for h in physiology.hypotheses]
            moved = np.where([*alone, True], share, 1e-12)
            log = np.logaddexp(np.log1p(-moved) + log, np.log(moved) + density)
    return log
