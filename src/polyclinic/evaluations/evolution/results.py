"""What came of a practice, or of several: the curve, the cap, and both as a document and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.table import Table

from polyclinic.evaluations.evolution.ablations import TASKS, Ablations, by_task, percent, percent_cells, thinned
from polyclinic.evaluations.evolution.practice import Point
from polyclinic.frames import Tabular
from polyclinic.memory.entries import ClinicalTask
from polyclinic.memory.options import NEAREST
from polyclinic.results.folder import ItemRow
from polyclinic.statistics.uncertainty import Estimate, mean_of_runs, wilson
from polyclinic.terminal.figures import NOTHING, ShownFigure, low_to_high, number
from polyclinic.terminal.tables import counted, table

SNAPSHOTS = 2000  # Patients from one snapshot to the next (§6.2)
_ROWS = 12  # Points of the curve that a terminal shows


class Evolution(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """A practice from beginning to end."""

    learner: str  # who learnt
    curve: tuple[Point, ...]  # a point a test
    # Of each task, how many of the patients of the test the exact reader of the knowledge treats rightly.
    cap: dict[ClinicalTask, int]
    # Of each task, for how many of them the best single answer is right, given to all.
    constant: dict[ClinicalTask, int]
    names: dict[str, str]  # of the diseases, by id
    wall_seconds: float  # that this process took
    made_by: str = ""  # how it came about, in a sentence
    ablations: Ablations | None = None  # tests of the memory at the end with parts of it; None where there were none
    every: int = SNAPSHOTS  # a snapshot after so many patients

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
        """Returns the curve, the last test beside its bounds, and the last test by disease; then the ablations."""
        title = f"{self.learner}: treated rightly, in per cent of the {self.curve[-1].n} patients of the test"
        shown = [curve_table(title, thinned(self.curve, _ROWS)), self.end_table(), self.disease_table()]
        if self.ablations is not None:
            k = {f"k = {k}": right for k, right in self.ablations.by_k.items() if k == NEAREST}
            shown += [self.ablations.parts_table(self.ablations.right | k), self.ablations.gains_table()]
        return shown

    def end_table(self) -> Table:
        """Returns the last test beside its bounds."""
        last = self.curve[-1]
        heads = ("task", "before", "right", "95 % interval", "cap", "constant", "in practice")
        end = table("\nat the end (constant: the best single answer, given to all)", heads)
        for task in ClinicalTask:
            low, high = wilson(last.right[task], last.n)
            counts = (self.curve[0].right[task], last.right[task], self.cap[task], self.constant[task])
            before, right, cap, constant = (number(100 * n / last.n, ".1f") for n in counts)
            practice = number(100 * last.train[task] / last.patients, ".1f") if last.patients else NOTHING
            end.add_row(task.value, before, right, low_to_high(low, high, ".1f"), cap, constant, practice)
        return end

    def disease_table(self) -> Table:
        """Returns the last test by disease."""
        diseases = table("\nby disease, in per cent", ("disease", "patients", *TASKS))
        for id, (n, of_disease) in sorted(self.curve[-1].by_disease.items()):
            diseases.add_row(self.names[id], str(n), *percent_cells(of_disease, n))
        return diseases


def curve_table(title: str | None, points: Sequence[Point]) -> Table:
    """Returns tests, a row each."""
    shown = table(title, ("patients", *TASKS, "records", "experience", "wrong"))
    for point in points:
        counts = (sum(each.values()) for each in (point.records, point.experience, point.wrong))
        shares = percent_cells(point.right, point.n)
        shown.add_row(number(point.patients, ","), *shares, *(number(count, ",") for count in counts))
    return shown


def _plain(point: Point) -> dict[str, Any]:
    return {
        "patients": point.patients,
        **percent(point.right, point.n),
        "train": percent(point.train, point.patients or 1),  # before the first patient nothing is right
        "records": by_task(point.records),
        "experience": by_task(point.experience),
        "wrong": by_task(point.wrong),
    }


class MeanPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The test after so many patients: how many of its patients were treated rightly, in per cent, over practices."""

    patients: int
    right: dict[ClinicalTask, Estimate]


class EvolutionReplicas(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """Several practices.

    Attributes:
        curve: a point a test that all of them had.
        learner: who learnt.
        seeds: of each practice.
        cap, constant: in per cent, the same for all; see `Evolution`.
        runs: what came of each, as its own document.
    """

    curve: tuple[MeanPoint, ...]
    learner: str
    seeds: tuple[int, ...]
    cap: dict[ClinicalTask, float]
    constant: dict[ClinicalTask, float]
    runs: list[dict[str, Any]]

    @classmethod
    def of(cls, documents: Sequence[dict[str, Any]], *, first: int) -> EvolutionReplicas:
        """Returns what the documents of practices with seeds from the first on say together."""
        tests = [{point["patients"]: point for point in one["curve"]} for one in documents]
        shared = [patients for patients in tests[0] if all(patients in others for others in tests)]
        return cls(
            curve=tuple(
                MeanPoint(
                    patients=patients,
                    right={t: _mean([of_one[patients][t.value] for of_one in tests]) for t in ClinicalTask},
                )
                for patients in shared
            ),
            learner=documents[0]["doctor"],
            seeds=tuple(range(first, first + len(documents))),
            cap={task: documents[0]["cap"][task.value] for task in ClinicalTask},
            constant={task: documents[0]["constant"][task.value] for task in ClinicalTask},
            runs=list(documents),
        )

    def document(self) -> dict[str, Any]:
        """Returns it as plain values; shares in per cent."""
        return {
            "doctor": self.learner,
            "replicas": len(self.runs),
            "seeds": list(self.seeds),
            "curve": [{"patients": point.patients, **_in_full(point)} for point in self.curve],
            "final": _in_full(self.curve[-1]),
            "cap": {task.value: share for task, share in self.cap.items()},
            "constant": {task.value: share for task, share in self.constant.items()},
            "runs": self.runs,
        }

    def tables(self) -> list[Table]:
        """Returns the mean curve, and the last test of each practice."""
        said = counted(len(self.runs), "practice")
        curve = table(
            f"{self.learner}: treated rightly, in per cent, mean of {said}\n(Student's 95 % interval over practices)",
            ("patients", *TASKS),
        )
        for point in thinned(self.curve, _ROWS):
            curve.add_row(number(point.patients, ","), *(_cell(point.right[task]) for task in ClinicalTask))
        curve.add_row("cap", *(number(self.cap[task], ".1f") for task in ClinicalTask))
        curve.add_row("constant", *(number(self.constant[task], ".1f") for task in ClinicalTask))
        ends = table("\nat the end, each", ("seed", *TASKS, "records", "experience"))
        for seed, one in zip(self.seeds, self.runs, strict=True):
            shares = (number(one["final"][task], ".1f") for task in TASKS)
            ends.add_row(str(seed), *shares, number(one["records"], ","), number(one["experience"], ","))
        return [curve, ends]


def _mean(shares: Sequence[float]) -> Estimate:
    """Returns the mean with its interval, which ends where a share does; none where all are equal, which is no sign."""
    mean = mean_of_runs(shares)
    ends = (None, None) if len(set(shares)) == 1 else (mean.low, mean.high)
    low, high = (None if end is None else min(max(end, 0.0), 100.0) for end in ends)
    return msgspec.structs.replace(mean, low=low, high=high)


def _cell(estimate: Estimate) -> str:
    parts = {"": estimate.mean, "low": estimate.low, "high": estimate.high}
    return ShownFigure(f"{estimate.mean:.1f} ({low_to_high(estimate.low, estimate.high, '.1f')})", parts)


def _in_full(point: MeanPoint) -> dict[str, Any]:
    return {task.value: msgspec.to_builtins(one) for task, one in point.right.items()}
