"""What came of each case of MVME, for results that last."""

from __future__ import annotations

from collections.abc import Iterator

from polyclinic.benchmarks.benchmark import trace_places
from polyclinic.benchmarks.mvme.results import EntrantResult
from polyclinic.metrics.grades import Aspect
from polyclinic.models.tally import CallTotal
from polyclinic.results.folder import ItemMeasure, ItemRow

MEASURES = [ItemMeasure(name=str(aspect), percent=False, share=False) for aspect in (Aspect.DIAGNOSIS, *Aspect)]


def mvme_rows(entrant: EntrantResult, file: str, *, seed: int) -> Iterator[ItemRow]:
    """Yields the grades of each case, 1 to 4; a visit that failed has none."""
    grades = {judged.case: judged.grades for judged in entrant.judgements}
    at = trace_places(file, entrant.visits)
    for visit in entrant.visits:
        values = {
            str(aspect): float(grade) for aspect, grade in grades.get(visit.case, {}).items() if grade is not None
        }
        needed = entrant.calls.get(visit.case, CallTotal())
        yield ItemRow(
            item=visit.case,
            values=values,
            model=entrant.name,
            seed=seed,
            calls=needed.calls,
            shared=needed.shared,
            tokens=needed.tokens,
            cost=needed.cost,
            seconds=needed.seconds,
            at=at[visit.case],
        )
