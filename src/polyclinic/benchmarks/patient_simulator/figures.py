"""AIE's Figure 3a, drawn of an evaluation of a simulated patient."""

from __future__ import annotations

from polyclinic.benchmarks.patient_simulator.evaluation import SimulatorResult
from polyclinic.benchmarks.pictures import MeasurePanel, panels
from polyclinic.metrics.patient_replies import PATIENT_METRICS


def figure_3a(result: SimulatorResult, *, patient: str) -> str:
    """Returns the six metrics, a panel each: means as bars, and what they are at each length of the dialogue."""
    who = {patient: result.told, "people": result.people, "the set's own": result.recorded}
    drawn = [
        MeasurePanel(
            metric,
            {name: mean for name, one in who.items() if (mean := one.metrics[metric].mean) is not None},
            {
                name: [(turn, mean) for turn, of in one.by_turn.items() if (mean := of[metric].mean) is not None]
                for name, one in who.items()
            },
        )
        for metric in PATIENT_METRICS
    ]
    return panels(
        drawn, across="turns before the question:", says="A patient's replies by the turns before them, percent"
    )
