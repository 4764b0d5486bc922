"""Several practices of one doctor, each with a seed of its own: the mean of their tests, and how far they lie apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from rich.table import Table

from polyclinic.evaluations.evolution.results import thinned
from polyclinic.frames import Tabular
from polyclinic.memory.entries import ClinicalTask
from polyclinic.statistics.uncertainty import Estimate, mean_of_runs
from polyclinic.terminal.figures import ShownFigure, low_to_high, number
from polyclinic.terminal.tables import counted, table

_ROWS = 12
"""Points of the curve that a terminal shows."""


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
            cap=_by_task(documents[0]["cap"]),
            constant=_by_task(documents[0]["constant"]),
            runs=list(documents),
        )

    def document(self) -> dict[str, Any]:
        """Returns it as plain values; shares in per cent."""
        return {
            "doctor": self.learner,
            "replicas": len(self.runs),
            "seeds": list(self.seeds),
            "curve": [{"patients": point.patients, **_plain(point)} for point in self.curve],
            "final": _plain(self.curve[-1]),
            "cap": {task.value: share for task, share in self.cap.items()},
            "constant": {task.value: share for task, share in self.constant.items()},
            "runs": self.runs,
        }

    def tables(self) -> list[Table]:
        """Returns the mean curve, and the last test of each practice beside it."""
        tasks = [task.value for task in ClinicalTask]
        said = counted(len(self.runs), "practice")
        curve = table(
            f"{self.learner}: treated rightly, in per cent, mean of {said}\n(Student's 95 % interval over practices)",
            ("patients", *tasks),
        )
        for point in thinned(self.curve, _ROWS):
            curve.add_row(number(point.patients, ","), *(_cell(point.right[task]) for task in ClinicalTask))
        curve.add_row("cap", *(number(self.cap[task], ".1f") for task in ClinicalTask))
        curve.add_row("constant", *(number(self.constant[task], ".1f") for task in ClinicalTask))
        ends = table("\nat the end, each", ("seed", *tasks, "records", "experience"))
        for seed, one in zip(self.seeds, self.runs, strict=True):
            shares = (number(one["final"][task], ".1f") for task in tasks)
            ends.add_row(str(seed), *shares, number(one["records"], ","), number(one["experience"], ","))
        return [curve, ends]


def _mean(shares: Sequence[float]) -> Estimate:
    """Returns the mean with its interval, which ends where a share does; none where all are equal, which is no sign."""
    mean = mean_of_runs(shares)
    ends = (None, None) if len(set(shares)) == 1 else (mean.low, mean.high)
    low, high = (None if end is None else min(max(end, 0.0), 100.0) for end in ends)
    return msgspec.structs.replace(mean, low=low, high=high)


def interval(estimate: Estimate) -> str:
    """Returns the ends of an interval; of a single practice there are none."""
    return low_to_high(estimate.low, estimate.high, ".1f")


def _cell(estimate: Estimate) -> str:
    parts = {"": estimate.mean, "low": estimate.low, "high": estimate.high}
    return ShownFigure(f"{estimate.mean:.1f} ({interval(estimate)})", parts)


def _plain(point: MeanPoint) -> dict[str, Any]:
    return {task.value: msgspec.to_builtins(one) for task, one in point.right.items()}


def _by_task(shares: Mapping[str, float]) -> dict[ClinicalTask, float]:
    return {task: shares[task.value] for task in ClinicalTask}
