"""What came of each case of AIE, for results that last."""

from __future__ import annotations

from collections.abc import Iterator

from polyclinic.benchmarks.aie.results import MCQE, DoctorResult
from polyclinic.benchmarks.benchmark import trace_places
from polyclinic.results.folder import ItemMeasure, ItemRow

_NUMBERS = ("AVG_TURN", "AVG_LEN")
_SHARES = ("DIAGNOSIS", MCQE)
"""Of dialogues; the others are means of what each dialogue has, which may happen to be all or nothing."""


def aie_rows(doctor: DoctorResult, file: str, *, seed: int) -> Iterator[ItemRow]:
    """Yields the metrics of each case, and MCQE; a visit that failed has none."""
    named = doctor.summary.metrics
    scores = {
        str(score.id): {name: value for name, value in score.values.items() if name in named}
        for score in doctor.summary.scores
    }
    # The paper's mean length is that of all turns.
    turns = {str(score.id): len(score.lengths) for score in doctor.summary.scores}
    at = trace_places(file, doctor.visits)
    for visit in doctor.visits:
        values = dict(scores.get(visit.case, {}))
        if visit.case in doctor.chosen:
            values[MCQE] = 100.0 * doctor.chosen[visit.case]
        yield ItemRow(
            item=visit.case,
            values=values,
            weights={"AVG_LEN": float(turns[visit.case])} if "AVG_LEN" in values else {},
            model=doctor.name,
            seed=seed,
            end=str(visit.end),
            at=at[visit.case],
        )


def aie_measures(doctor: DoctorResult) -> list[ItemMeasure]:
    """Returns what the rows have values of."""
    return [
        ItemMeasure(name=name, percent=name not in _NUMBERS, share=name in _SHARES)
        for name in (*doctor.summary.metrics, MCQE)
    ]
