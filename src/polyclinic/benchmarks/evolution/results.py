"""What came of a practice: the curve, the cap, and both as a document and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from rich.table import Table

from polyclinic.benchmarks.evolution.practice import Point
from polyclinic.frames import Tabular
from polyclinic.memory.entries import ClinicalTask
from polyclinic.statistics.uncertainty import wilson
from polyclinic.terminal.tables import NOTHING, table

_ROWS = 12
"""Points of the curve that a terminal shows."""


class Evolution(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """A practice from beginning to end.

    Attributes:
        learner: who learnt.
        curve: a point a test.
        cap: of each task, how many of the patients of the test the exact reader of the knowledge treats rightly.
        names: of the diseases, by id.
        wall_seconds: that this process took.
    """

    learner: str
    curve: tuple[Point, ...]
    cap: dict[ClinicalTask, int]
    names: dict[str, str]
    wall_seconds: float

    def document(self) -> dict[str, Any]:
        """Returns it as plain values; shares in per cent."""
        last = self.curve[-1]
        return {
            "doctor": self.learner,
            "curve": [_plain(point) for point in self.curve],
            "final": _percent(last.right, last.n),
            "cap": _percent(self.cap, last.n),
            "records": sum(last.records.values()),
            "experience": sum(last.experience.values()),
            "wrong": sum(last.wrong.values()),
            "unusable": last.unusable,
            "by_disease": {id: {"n": n, **_percent(right, n)} for id, (n, right) in sorted(last.by_disease.items())},
            "wall_seconds": round(self.wall_seconds, 1),
        }

    def tables(self) -> list[Table]:
        """Returns the curve, the last test beside the cap, and the last test by disease."""
        last = self.curve[-1]
        curve = table(
            f"{self.learner}: treated rightly, in per cent of the {last.n} patients of the test",
            ("patients", *(task.value for task in ClinicalTask), "records", "experience", "wrong"),
        )
        for point in thinned(self.curve, _ROWS):
            shares = [f"{share:.1f}" for share in _percent(point.right, point.n).values()]
            counts = (sum(each.values()) for each in (point.records, point.experience, point.wrong))
            curve.add_row(f"{point.patients:,}", *shares, *(f"{count:,}" for count in counts))
        end = table("\nat the end", ("task", "right", "95 % interval", "cap", "in practice"))
        for task in ClinicalTask:
            low, high = wilson(last.right[task], last.n)
            practice = f"{100 * last.train[task] / last.patients:.1f}" if last.patients else NOTHING
            right, cap = (f"{100 * n / last.n:.1f}" for n in (last.right[task], self.cap[task]))
            end.add_row(task.value, right, f"{low:.1f}-{high:.1f}", cap, practice)
        diseases = table("\nby disease, in per cent", ("disease", "patients", *(task.value for task in ClinicalTask)))
        for id, (n, of_disease) in sorted(last.by_disease.items()):
            diseases.add_row(self.names[id], str(n), *(f"{share:.1f}" for share in _percent(of_disease, n).values()))
        return [curve, end, diseases]


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """Returns so many of the points at most, evenly, the first and the last among them."""
    if len(points) <= most:
        return list(points)
    step = (len(points) - 1) / (most - 1)
    return [points[round(n * step)] for n in range(most)]


def _plain(point: Point) -> dict[str, Any]:
    return {
        "patients": point.patients,
        **_percent(point.right, point.n),
        "train": _percent(point.train, point.patients) if point.patients else {},
        "records": _by_task(point.records),
        "experience": _by_task(point.experience),
        "wrong": _by_task(point.wrong),
    }


def _percent(right: Mapping[ClinicalTask, int], n: int) -> dict[str, float]:
    return {task.value: 100 * right[task] / n for task in ClinicalTask}


def _by_task(counts: Mapping[ClinicalTask, int]) -> dict[str, int]:
    return {task.value: counts[task] for task in ClinicalTask}
