"""The results of a practice, or of several: the curve with its bounds, as a document and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from rich.table import Table

from polyclinic.evaluations.evolution.ablations import TASKS, Ablations, percent, percent_cells, thinned
from polyclinic.evaluations.evolution.practice import Point
from polyclinic.frames import Tabular
from polyclinic.memory.entries import ClinicalTask
from polyclinic.memory.options import NEAREST
from polyclinic.results.folder import ItemRow
from polyclinic.statistics.uncertainty import Estimate, mean_of_runs, wilson
from polyclinic.terminal.figures import NOTHING, ShownFigure, low_to_high, number
from polyclinic.terminal.tables import counted, table

SNAPSHOTS = 2000
"""Patients between two snapshots (§6.2)."""

_ROWS = 12  # points of the curve in the terminal


class Evolution(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """A practice from beginning to end.

    Attributes:
        learner: who learnt.
        curve: a point for each test.
        cap: for each task, how many patients of the test the exact reader of the knowledge treats rightly.
        constant: for each task, for how many of them the best single answer is right.
        names: of the diseases, by id.
        wall_seconds: that this process took.
        made_by: how the practice was done, in a sentence.
        ablations: tests of the memory at the end with parts of it, if there were any.
        every: patients between two snapshots.
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
        """Returns the points at the snapshots, and the one before the first patient."""
        return [point for point in self.curve if point.patients % self.every == 0]

    def rows(self, test: str, *, seed: int) -> list[ItemRow]:
        """Returns the result of each patient of the last test."""
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
            "curve": [
                {
                    "patients": point.patients,
                    **percent(point.right, point.n),
                    "train": percent(point.train, point.patients or 1),  # before the first patient nothing is right
                    "records": point.records,
                    "experience": point.experience,
                    "wrong": point.wrong,
                }
                for point in self.curve
            ],
            "final": percent(last.right, last.n),
            "cap": percent(self.cap, last.n),
            "constant": percent(self.constant, last.n),
            "records": sum(last.records.values()),
            "experience": sum(last.experience.values()),
            "wrong": sum(last.wrong.values()),
            "unusable": last.unusable,
            "by_disease": {id: {"n": n, **percent(right, n)} for id, (n, right) in sorted(last.by_disease.items())},
            "snapshots": [{"patients": p.patients, **percent(p.right, p.n)} for p in self.snapshots()],
            "ablations": None if self.ablations is None else self.ablations.document(),
            "wall_seconds": round(self.wall_seconds, 1),
        }

    def tables(self) -> list[Table]:
        """Returns the curve, the last test with its bounds and by disease, and the ablations."""
        title = f"{self.learner}: treated rightly, in per cent of the {self.curve[-1].n} patients of the test"
        diseases = sorted(self.curve[-1].by_disease.items())
        by_disease = [(self.names[id], str(n), *percent_cells(right, n)) for id, (n, right) in diseases]
        shown = [
            curve_table(title, thinned(self.curve, _ROWS)),
            self.end_table(),
            table("\nby disease, in per cent", ("disease", "patients", *TASKS), by_disease),
        ]
        if self.ablations is not None:
            k = {f"k = {k}": right for k, right in self.ablations.by_k.items() if k == NEAREST}
            shown += [self.ablations.parts_table(self.ablations.right | k), self.ablations.gains_table()]
        return shown

    def end_table(self) -> Table:
        """Returns the last test with its bounds."""
        last = self.curve[-1]
        heads = ("task", "before", "right", "95 % interval", "cap", "constant", "in practice")
        end = table("\nat the end (constant: the best single answer, given to all)", heads)
        for task in ClinicalTask:
            counts = (self.curve[0].right[task], last.right[task], self.cap[task], self.constant[task])
            before, right, cap, constant = (number(100 * n / last.n, ".1f") for n in counts)
            ends = low_to_high(*wilson(last.right[task], last.n), ".1f")
            practice = number(100 * last.train[task] / last.patients, ".1f") if last.patients else NOTHING
            end.add_row(task.value, before, right, ends, cap, constant, practice)
        return end


def curve_table(title: str | None, points: Sequence[Point]) -> Table:
    """Returns a row for each test."""
    shown = table(title, ("patients", *TASKS, "records", "experience", "wrong"))
    for point in points:
        sums = (sum(each.values()) for each in (point.records, point.experience, point.wrong))
        before, *after = (number(count, ",") for count in (point.patients, *sums))
        shown.add_row(before, *percent_cells(point.right, point.n), *after)
    return shown


def joined(documents: Sequence[Mapping[str, Any]], *, first: int) -> dict[str, Any]:
    """Returns the document of several practices, with seeds from the first on: the means of the tests that all had."""
    tests = [{point["patients"]: point for point in one["curve"]} for one in documents]
    curve = [
        {"patients": patients, **{task: _mean([one[patients][task] for one in tests]) for task in TASKS}}
        for patients in tests[0]
        if all(patients in others for others in tests)
    ]
    return {
        "doctor": documents[0]["doctor"],
        "replicas": len(documents),
        "seeds": list(range(first, first + len(documents))),
        "curve": curve,
        "final": {task: curve[-1][task] for task in TASKS},
        "cap": documents[0]["cap"],
        "constant": documents[0]["constant"],
        "runs": list(documents),
    }


def tables_of_several(document: Mapping[str, Any]) -> list[Table]:
    """Returns the mean curve of several practices, and the last test of each."""
    title = f"{document['doctor']}: treated rightly, in per cent, mean of {counted(document['replicas'], 'practice')}"
    curve = table(f"{title}\n(Student's 95 % interval over practices)", ("patients", *TASKS))
    for point in thinned(document["curve"], _ROWS):
        curve.add_row(number(point["patients"], ","), *(_cell(point[task]) for task in TASKS))
    for bound in ("cap", "constant"):
        curve.add_row(bound, *(number(document[bound][task], ".1f") for task in TASKS))
    ends = table("\nat the end, each", ("seed", *TASKS, "records", "experience"))
    for seed, one in zip(document["seeds"], document["runs"], strict=True):
        shares = (number(one["final"][task], ".1f") for task in TASKS)
        ends.add_row(str(seed), *shares, number(one["records"], ","), number(one["experience"], ","))
    return [curve, ends]


def _mean(shares: Sequence[float]) -> Estimate:
    """Returns the mean with its interval within 0 to 100; without one if all are equal."""
    mean = mean_of_runs(shares)
    ends = (None, None) if len(set(shares)) == 1 else (mean.low, mean.high)
    low, high = (None if end is None else min(max(end, 0.0), 100.0) for end in ends)
    return msgspec.structs.replace(mean, low=low, high=high)


def _cell(estimate: Estimate) -> str:
    parts = {"": estimate.mean, "low": estimate.low, "high": estimate.high}
    return ShownFigure(f"{estimate.mean:.1f} ({low_to_high(estimate.low, estimate.high, '.1f')})", parts)
