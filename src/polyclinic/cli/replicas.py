"""Several runs of one hospital: how many, with which seeds, and what they say together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from cyclopts import Group, Parameter
from rich.console import Console

from polyclinic.errors import meant
from polyclinic.hospital.plan.plan import Job
from polyclinic.hospital.record.happenings import Acuity
from polyclinic.run import options
from polyclinic.settings import setting
from polyclinic.statistics.uncertainty import LOOK_AHEAD, Precision, mean_of_runs, precision
from polyclinic.terminal.figures import NOTHING, number
from polyclinic.terminal.screen import note
from polyclinic.terminal.tables import counted, table

AUTO = "auto"

MEASURES = (
    "visits", "recovered", "failed", "events", "admitted", "died",
    *(f"accuracy.{name}" for name in ("triage", "examination", "diagnosis", "treatment")),
    *(f"waiting.{acuity.value}.{what}" for acuity in Acuity for what in ("mean", "p90")),
    *(f"utilisation.{job.value}" for job in Job),
)  # fmt: skip
"""What can be asked to be known well enough: places in what a run prints with --json."""

USUAL = (
    "visits", "waiting.urgent.mean", "waiting.routine.mean", "utilisation.doctor", "accuracy.diagnosis",
    "accuracy.treatment",
)  # fmt: skip


def _check_number(_: object, value: str) -> None:
    if value != AUTO and not (value.isdecimal() and int(value)):
        raise ValueError("how many runs, 1 or more, or auto")


def _check_measures(_: object, value: Sequence[str] | None) -> None:
    for name in value or ():
        if name not in MEASURES:
            raise ValueError(f"{', '.join(MEASURES)}{meant(name, MEASURES)}")


@Parameter(name="*", group=Group("Replications", sort_key=6))
@dataclass(frozen=True, kw_only=True)
class ReplicaOptions:
    """How many runs."""

    replicas: Annotated[str, Parameter(metavar="N", validator=_check_number)] = "1"
    """Number of independent runs, with seeds from --seed on; auto: until the intervals are narrow enough, plus 5."""
    measure: Annotated[
        list[str], Parameter(metavar="NAME", negative="", validator=_check_measures), setting("replicas")
    ] = field(default_factory=lambda: list(USUAL))
    """With auto: a measure to estimate, by its key in --json, such as waiting.urgent.mean; may be repeated."""
    within: Annotated[float, options.between(0.1, 100), setting("replicas")] = 5.0
    """With auto: target half-width of the 95 % interval, in percent of the mean (Hoad and others, 2010)."""
    most_replicas: Annotated[int, options.between(3), setting("replicas")] = 30
    """With auto: maximum number of runs."""
    on: Annotated[
        str | None,
        Parameter(
            metavar="WHERE",
            help="Worker processes that compute the visits: local:N on this machine, ray or ray://HOST:PORT on a Ray "
            "cluster. The log is the same for any number.",
        ),
    ] = None

    @property
    def several(self) -> bool:
        """Whether there may be more runs than one."""
        return self.most > 1

    @property
    def most(self) -> int:
        """How many runs there are at most."""
        return self.most_replicas if self.replicas == AUTO else int(self.replicas)

    def seeds(self, first: int, held: Sequence[tuple[dict[str, Any], str]], *, quiet: bool) -> Iterator[int]:
        """Yields the seed of each run while another is needed; `held` has the results of the runs before."""
        for number_of in range(self.most):
            if self.replicas == AUTO and number_of:
                known = self.precisions([document for document, _ in held])
                there = sum(one.needed is not None for one in known.values())
                if not quiet:
                    so_far = f"{counted(number_of, 'run')}: {there} of {len(known)} measures"
                    note(f"{so_far} are known within {self.within:g} %")
                if there == len(known):
                    return
            yield first + number_of

    def precisions(self, documents: Sequence[dict[str, Any]]) -> dict[str, Precision]:
        """Returns how well each measure is known; runs in which it was not measured say nothing of it."""
        return {name: precision(_values(documents, name), within=self.within) for name in dict.fromkeys(self.measure)}


def replicated(documents: list[dict[str, Any]], replicas: ReplicaOptions) -> dict[str, Any]:
    """Returns several runs and the means of what they say, with intervals over runs; of `auto` how many were needed."""
    means = {name: mean_of_runs(values) for name in MEASURES if (values := _values(documents, name))}
    document = {"replicas": len(documents), "seeds": [d["seed"] for d in documents], "means": means}
    if replicas.replicas == AUTO:
        known = replicas.precisions(documents)
        missed = [name for name, one in known.items() if one.needed is None]
        document["precision"] = {
            "within": replicas.within,
            "look_ahead": LOOK_AHEAD,
            "most": replicas.most,
            "needed": None if missed else max(one.needed or 0 for one in known.values()),
            "not_reached": missed,
            "measures": known,
        }
    return {**document, "runs": documents}


def show_precision(screen: Console, document: dict[str, Any]) -> None:
    """Prints how many replications were needed, and what they did not suffice for."""
    found = document["precision"]
    title = f"half-width of the interval, wanted within {found['within']:g} % of the mean"
    shown = table(title, ("", "half-width %", "runs needed"))
    for name, one in found["measures"].items():
        shown.add_row(name, number(one.percent, ".1f"), NOTHING if one.needed is None else str(one.needed))
    screen.print(shown)
    if found["needed"] is None:
        missed = {name: found["measures"][name] for name in found["not_reached"]}
        near = [name for name, one in missed.items() if one.percent is not None and one.percent <= found["within"]]
        far = [name for name in missed if name not in near]
        after = f"after {counted(document['replicas'], 'run')}"
        narrow = f"narrow enough {after}, but not yet over {found['look_ahead']} more"
        for told, names in ((narrow, near), (f"not known within {found['within']:g} % {after}", far)):
            if names:
                screen.print(f"{told}: {', '.join(names)}; raise replicas.most-replicas", style="yellow")
    else:
        ahead = document["replicas"] - found["needed"]
        screen.print(
            f"{found['needed']} runs were needed; {ahead} more were looked ahead, and are counted in", style="dim"
        )


def _values(documents: Sequence[dict[str, Any]], measure: str) -> list[float]:
    values = []
    for document in documents:
        value: Any = document
        for name in measure.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            values.append(float(value))
    return values
