"""Compares two runs with the same patients, patient by patient and run by run.

Everything in a town is drawn by (seed, resident, day, purpose). Two runs with one seed therefore have the same patients
with the same luck, for any doctors and any hospital (common random numbers). They differ only in what was changed, and
paired differences have narrower intervals than differences of two means.

A resident who is still ill with one doctor, or has died, cannot fall ill again: such an onset is in one run alone. It
is counted and is in no pair. So are onsets that a higher load, an event or an epidemic adds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.hospital.record.attendances import FAILED, LEFT, Attendance, Attendances
from polyclinic.hospital.record.happenings import DAY, FellIll
from polyclinic.hospital.record.recorded import RUN, RecordedRun
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.statistics.uncertainty import Difference, holm, paired_difference

PairedBy = Literal["patients", "runs"]
"""What is paired: illnesses, or whole runs of a seed each."""

Onset = tuple[int, str, int]
"""Seed, resident, and the day on which the resident fell ill."""

Values = dict[str, list[tuple[Any, float, float]]]
"""By measure: what is resampled together, and the values in both runs."""

_MANY = 2_000  # pairs, of which fewer resamples will do
_FEWER = 2_000
_RESAMPLES = 10_000

_OF_THE_TOWN = (
    "seed", "residents", "days", "visits", "language", "profiles", "warm_up",
    "hospital.residents", "hospital.first_day", "hospital.illness.per_day", "hospital.illness.diseases",
    "hospital.illness.weights", "hospital.illness.severities",
)  # fmt: skip
"""Settings that decide who falls ill."""


def _percent(right: bool | None) -> float | None:
    return None if right is None else 100.0 * right


OF_PATIENTS: dict[str, Callable[[Sequence[Attendance]], float | None]] = {
    "minutes to the first doctor": lambda all: None if all[0].waited is None else all[0].waited / 60,
    "minutes in the hospital, first visit": lambda all: (
        None if all[0].left is None or all[0].admitted else (all[0].left - all[0].arrived) / 60
    ),
    "sent to the right department, first visit, %": lambda all: _percent(all[0].right_department),
    "judged as urgent as it was, first visit, %": lambda all: _percent(all[0].judged_right),
    "a right examination, first visit, %": lambda all: _percent(all[0].right_examination),
    "right diagnosis, first visit, %": lambda all: _percent(all[0].right_diagnosis),
    "right plan, first visit, %": lambda all: _percent(all[0].right_treatment),
    "left before treatment, %": lambda all: _percent(any(one.ended == LEFT for one in all)),
    "a visit failed, %": lambda all: _percent(any(one.ended == FAILED for one in all)),
    "admitted, %": lambda all: _percent(any(one.admitted for one in all)),
    "visits of the illness": lambda all: float(len(all)),
    "got worse, %": lambda all: _percent(any(one.got_worse for one in all)),
    "died, %": lambda all: _percent(any(one.died for one in all)),
    "healthy at the end of the run, %": lambda all: _percent(any(one.recovered for one in all)),
}
"""Measures of an illness, from its visits in order."""

_CHIEF = "right diagnosis, first visit, %"
_LESS_IS_BETTER = ("minutes", "left", "failed", "worse", "died", "visits")

MEASURES = [
    ItemMeasure(name=name, percent=name.endswith("%"), less_is_better=any(word in name for word in _LESS_IS_BETTER))
    for name in (_CHIEF, *(name for name in OF_PATIENTS if name != _CHIEF))
]


def illnesses(
    run: RecordedRun, *, warm_up: int
) -> tuple[dict[Onset, tuple[int, FellIll]], dict[Onset, list[Attendance]]]:
    """Returns the onsets of a run after so many days of warming up, and the visits of each illness."""
    seed, visits = int(run.configuration.get("seed") or 0), Attendances()
    onsets: dict[Onset, tuple[int, FellIll]] = {}
    of_illness: dict[Onset, list[Attendance]] = defaultdict(list)
    for happening in run.happenings():
        visits.add(happening)
        if isinstance(happening.what, FellIll) and happening.t >= warm_up * DAY:
            onsets[seed, happening.who, happening.t // DAY] = (happening.t, happening.what)
    for row in visits.rows():
        if row.onset >= warm_up * DAY:
            of_illness[seed, row.who, row.onset // DAY].append(row)
    return onsets, of_illness


def run_rows(run: RecordedRun, *, seed: int, doctor: str, warm_up: int = 0) -> Iterator[ItemRow]:
    """Yields each illness with which somebody came after so many days of warming up; a resident is a case."""
    _, of_illness = illnesses(run, warm_up=warm_up)
    for (_, who, day), visits in of_illness.items():
        values = {name: value for name, of in OF_PATIENTS.items() if (value := of(visits)) is not None}
        end = visits[-1].ended
        yield ItemRow(
            item=f"{who}, day {day + 1}", case=who, values=values, set="hospital", model=doctor, seed=seed, end=end
        )


def compare_runs(first: Path, second: Path) -> dict[str, Any]:
    """Compares two runs, or two folders of runs with a seed each, that have the same patients.

    Returns the measures, and how many onsets (illnesses) both runs have or only one. Each measure has its means in both
    runs, the difference (second less first), and p adjusted over the measures that are paired in the same way. Patients
    of one resident are resampled together.
    """
    if first.resolve() == second.resolve():
        raise UserError(f"{first} and {second} are the same run; name two that differ in who plays or in the hospital")
    of_patients: Values = {name: [] for name in OF_PATIENTS}
    of_runs: Values = {name: [] for name in OF_PATIENTS}
    differs: dict[str, tuple[str, str]] = {}
    seeds, both, alone = [], 0, [0, 0]
    for one, other in _paired_folders(first, second):
        with RecordedRun(one) as a, RecordedRun(other) as b:
            configuration = _check(a, b)
            differs |= configuration_differences(a.configuration, b.configuration)
            warm_up = int(configuration.get("warm_up") or 0)
            (onsets, mine), (others, yours) = (illnesses(run, warm_up=warm_up) for run in (a, b))
            common = sorted(onsets.keys() & others.keys())
            if unlike := [onset for onset in common if onsets[onset] != others[onset]]:
                by = f"they were made by polyclinic {a.package} and {b.package}"
                who = f"resident {unlike[0][1]} falls ill otherwise on day {unlike[0][2] + 1}"
                raise UserError(f"{a.folder} and {b.folder} have different patients: {who}; {by}")
        seeds.append(int(configuration.get("seed") or 0))
        both += len(common)
        alone = [alone[0] + len(onsets) - len(common), alone[1] + len(others) - len(common)]
        came = [(onset[:2], mine[onset], yours[onset]) for onset in common if onset in mine and onset in yours]
        for name, measure in OF_PATIENTS.items():
            pairs = [(cluster, measure(visits), measure(theirs)) for cluster, visits, theirs in came]
            known = [(cluster, a, b) for cluster, a, b in pairs if a is not None and b is not None]
            of_patients[name] += known
            if known:
                sums = sum(value for _, value, _ in known), sum(value for *_, value in known)
                of_runs[name].append((seeds[-1], sums[0] / len(known), sums[1] / len(known)))
    return {
        "measures": (*_paired("patients", of_patients), *(_paired("runs", of_runs) if len(seeds) > 1 else ())),
        "first": str(first),
        "second": str(second),
        "seeds": tuple(seeds),
        "differs": differs,
        "onsets": both,
        "only_first": alone[0],
        "only_second": alone[1],
    }


def _paired_folders(first: Path, second: Path) -> list[tuple[Path, Path]]:
    """Returns the runs that belong together: the two, or those of each seed."""
    inside = [sorted(path.parent.name for path in folder.glob(f"seed-*/{RUN}")) for folder in (first, second)]
    if (first / RUN).exists() or (second / RUN).exists() or not all(inside):
        return [(first, second)]
    if inside[0] != inside[1]:
        alone = sorted({*inside[0]} ^ {*inside[1]})
        raise UserError(f"{first} and {second} hold runs of different seeds; only one has {', '.join(alone)}")
    return [(first / name, second / name) for name in inside[0]]


def _check(a: RecordedRun, b: RecordedRun) -> dict[str, Any]:
    """Returns the first configuration, where both runs are at their end and of one town."""
    for run in (a, b):
        if run.summary is None:
            raise BadInput("the run has not come to its end; the command that began it goes on", path=run.folder)
    one, other = a.configuration, b.configuration
    unlike = [
        f"{name} {_told(of_one)} and {_told(of_other)}"
        for name in _OF_THE_TOWN
        if (of_one := _at(one, name)) != (of_other := _at(other, name))
    ]
    if unlike:
        what = "; ".join(unlike)
        raise UserError(f"{a.folder} and {b.folder} have different patients and cannot be paired: {what}")
    return one


def _at(configuration: Mapping[str, Any], path: str) -> Any:
    value: Any = configuration
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _told(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 40 else f"{text[:37]}..."


def configuration_differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Returns what of two configurations is not the same, by name: who plays, and parts of the hospital."""
    found = {}
    for above in ("", "setup", "hospital"):
        a, b = (_at(all, above) if above else all for all in (one, other))
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            for name in dict.fromkeys([*a, *b]):
                if a.get(name) != b.get(name) and (above or name not in ("setup", "hospital")):
                    path = f"{above}.{name}" if above else name
                    found[path] = (_told(a.get(name)), _told(b.get(name)))
    return found


def _paired(by: PairedBy, values: Values) -> list[dict[str, Any]]:
    columns = {name: [[row[side] for row in rows] for side in range(3)] for name, rows in values.items()}
    differences = {
        name: paired_difference(
            second, first, clusters=clusters, resamples=_FEWER if len(first) > _MANY else _RESAMPLES
        )
        for name, (clusters, first, second) in columns.items()
        if first
    }
    adjusted = dict(zip(differences, holm([one.p for one in differences.values()]), strict=True))
    nothing = Difference(mean=None, low=None, high=None, p=None, n=0)
    return [
        {
            "name": name,
            "by": by,
            "first": _mean(first),
            "second": _mean(second),
            "difference": differences.get(name, nothing),
            "p_holm": adjusted.get(name),
        }
        for name, (_, first, second) in columns.items()
    ]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
