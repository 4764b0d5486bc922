"""What came of a practice: the curve, the cap, and both as a document and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from rich.table import Table

from polyclinic.evaluations.evolution.ablations import Ablations, Gain
from polyclinic.evaluations.evolution.practice import Point
from polyclinic.frames import Tabular
from polyclinic.memory.entries import ClinicalTask
from polyclinic.memory.options import NEAREST
from polyclinic.results.folder import ItemRow
from polyclinic.statistics.uncertainty import wilson
from polyclinic.terminal.figures import NOTHING, low_to_high, number
from polyclinic.terminal.tables import p_value, table

T = TypeVar("T")

SNAPSHOTS = 2000
"""Patients from one snapshot to the next (§6.2)."""

_ROWS = 12
"""Points of the curve that a terminal shows."""


class Evolution(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """A practice from beginning to end.

    Attributes:
        learner: who learnt.
        curve: a point a test.
        cap: of each task, how many of the patients of the test the exact reader of the knowledge treats rightly.
        constant: of each task, for how many of them the best single answer is right, given to all.
        names: of the diseases, by id.
        wall_seconds: that this process took.
        made_by: how it came about, in a sentence.
        ablations: tests of the memory at the end with parts of it; None where there were none.
        every: a snapshot after so many patients.
    """

    learner: str
    curve: tuple[Point, ...]
    cap: dict[ClinicalTask, int]
    constant: dict[ClinicalTask, int]
    names: dict[str, str]
    wall_seconds: float
    made_by: str = ""
    ablations: Ablations | None = None
    every: int = SNAPSHOTS

    def snapshots(self) -> list[Point]:
        """Returns the points at the snapshots, the one before the first patient among them."""
        return [point for point in self.curve if point.patients % self.every == 0]

    def rows(self, test: str, *, seed: int) -> list[ItemRow]:
        """Returns what came of each patient of the last test, for results that last."""
        return [
            ItemRow(
                item=id,
                values={task.value: 100.0 * right for task, right in tasks.items()},
                set=test,
                model=self.learner,
                method=f"after {self.curve[-1].patients:,} patients",
                seed=seed,
            )
            for id, tasks in self.curve[-1].of_patients.items()
        ]

    def document(self) -> dict[str, Any]:
        """Returns it as plain values; shares in per cent."""
        last = self.curve[-1]
        return {
            "doctor": self.learner,
            "curve": [_plain(point) for point in self.curve],
            "final": _percent(last.right, last.n),
            "cap": _percent(self.cap, last.n),
            "constant": _percent(self.constant, last.n),
            "records": sum(last.records.values()),
            "experience": sum(last.experience.values()),
            "wrong": sum(last.wrong.values()),
            "unusable": last.unusable,
            "by_disease": {id: {"n": n, **_percent(right, n)} for id, (n, right) in sorted(last.by_disease.items())},
            "snapshots": [{"patients": p.patients, **_percent(p.right, p.n)} for p in self.snapshots()],
            "ablations": None if self.ablations is None else _ablations(self.ablations),
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
            shares = [number(share, ".1f") for share in _percent(point.right, point.n).values()]
            counts = (sum(each.values()) for each in (point.records, point.experience, point.wrong))
            curve.add_row(number(point.patients, ","), *shares, *(number(count, ",") for count in counts))
        end = table(
            "\nat the end (constant: the best single answer, given to all)",
            ("task", "right", "95 % interval", "cap", "constant", "in practice"),
        )
        for task in ClinicalTask:
            low, high = wilson(last.right[task], last.n)
            practice = number(100 * last.train[task] / last.patients, ".1f") if last.patients else NOTHING
            ends = (last.right[task], self.cap[task], self.constant[task])
            right, cap, constant = (number(100 * n / last.n, ".1f") for n in ends)
            end.add_row(task.value, right, low_to_high(low, high, ".1f"), cap, constant, practice)
        diseases = table("\nby disease, in per cent", ("disease", "patients", *(task.value for task in ClinicalTask)))
        for id, (n, of_disease) in sorted(last.by_disease.items()):
            diseases.add_row(
                self.names[id], str(n), *(number(share, ".1f") for share in _percent(of_disease, n).values())
            )
        return [curve, end, diseases, *(_ablation_tables(self.ablations) if self.ablations is not None else ())]


def gain_cells(gain: Gain) -> tuple[str, str, str]:
    """Returns a gain as three cells: points, `low to high`, p."""
    ends = low_to_high(gain.low, gain.high, "+.1f", " to ")
    return number(gain.difference, "+.1f"), ends, p_value(gain.p)


def _ablation_tables(ablations: Ablations) -> list[Table]:
    tasks = [task.value for task in ClinicalTask]
    parts = table("\nthe memory at the end, with parts of it, in per cent", ("with", *tasks))
    some = {f"k = {k}": right for k, right in ablations.by_k.items() if k == NEAREST}
    for name, right in (ablations.right | some).items():
        parts.add_row(name, *(number(share, ".1f") for share in _percent(right, ablations.n).values()))
    gains = table("\nboth over", ("part", "task", "points", "95 % interval", "p"), left=2)
    for gain in ablations.gains:
        gains.add_row(gain.over, gain.task.value, *gain_cells(gain))
    return [parts, gains]


def _ablations(ablations: Ablations) -> dict[str, Any]:
    study = None if ablations.study is None else msgspec.to_builtins(ablations.study)
    return {
        "right": {name: _percent(right, ablations.n) for name, right in ablations.right.items()},
        "both_over": [msgspec.to_builtins(gain) for gain in ablations.gains],
        "by_k": [{"k": k, **_percent(right, ablations.n)} for k, right in ablations.by_k.items()],
        "one_patient": study,
    }


def thinned(points: Sequence[T], most: int) -> list[T]:
    """Returns so many of the points at most, evenly, the first and the last among them."""
    if len(points) <= most:
        return list(points)
    step = (len(points) - 1) / (most - 1)
    return [points[round(n * step)] for n in range(most)]


def _plain(point: Point) -> dict[str, Any]:
    return {
        "patients": point.patients,
        **_percent(point.right, point.n),
        "train": _percent(point.train, point.patients or 1),  # before the first patient nothing is right
        "records": _by_task(point.records),
        "experience": _by_task(point.experience),
        "wrong": _by_task(point.wrong),
    }


def _percent(right: Mapping[ClinicalTask, int], n: int) -> dict[str, float]:
    return {task.value: 100 * right[task] / n for task in ClinicalTask}


def _by_task(counts: Mapping[ClinicalTask, int]) -> dict[str, int]:
    return {task.value: counts[task] for task in ClinicalTask}
