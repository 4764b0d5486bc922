"""Compares two runs with the same patients: patient by patient, day by day, and run by run.

Everything in a town is drawn by (seed, resident, day, purpose). Two runs with one seed therefore have the same patients
with the same luck, for any doctors and any hospital (common random numbers). They differ only in what was changed, and
paired differences have narrower intervals than differences of two means.

A resident who is still ill with one doctor, or has died, cannot fall ill again: such an onset is in one run alone. It
is counted and is in no pair. So are onsets that a higher load, an event or an epidemic adds.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.hospital.record.attendances import FAILED, LEFT, Attendance, Attendances
from polyclinic.hospital.record.figures import grouped
from polyclinic.hospital.record.happenings import DAY, FellIll, FollowedUp, FollowUpOutcome
from polyclinic.hospital.record.recorded import RUN, RecordedRun
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.statistics.uncertainty import Difference, holm, paired_difference

PairedBy = Literal["patients", "days", "runs"]
"""What is held against one another: illnesses, days, or whole runs with a seed each."""

Onset = tuple[int, str, int]
"""Seed, resident, and the day on which it fell ill."""

_MANY = 2_000  # pairs, of which fewer resamples will do
_FEWER = 2_000
_RESAMPLES = 10_000

_OF_THE_TOWN = (
    "seed", "residents", "days", "visits", "language", "profiles", "warm_up",
    "hospital.residents", "hospital.first_day", "hospital.illness.per_day", "hospital.illness.diseases",
    "hospital.illness.weights", "hospital.illness.severities",
)  # fmt: skip
"""Of a configuration, by what it makes two towns whose people fall ill otherwise."""

_ADDS = ("load", "events", "hospital.illness.epidemics")
"""What makes more people fall ill, and touches nobody who falls ill anyhow."""


class Illnesses:
    """What one run says: every onset, and every coming with it."""

    def __init__(self, run: RecordedRun, seed: int, begin: int) -> None:
        self.onsets: dict[Onset, tuple[int, FellIll]] = {}
        self.comings: dict[Onset, list[Attendance]] = defaultdict(list)
        self.last = 0  # when somebody fell ill last; a run that ends by its visits ends for falling ill too
        self._ill: dict[str, list[tuple[int, float]]] = defaultdict(list)  # when each was ill, from and to
        visits = Attendances()
        for happening in run.happenings():
            visits.add(happening)
            t, who, what = happening.t, happening.who, happening.what
            if isinstance(what, FellIll):
                self.last = t
                self._ill[who].append((t, math.inf))
                if t >= begin:
                    self.onsets[seed, who, t // DAY] = (t, what)
            elif isinstance(what, FollowedUp) and what.outcome is FollowUpOutcome.RECOVERED and who in self._ill:
                self._ill[who][-1] = (self._ill[who][-1][0], t)
        for row in visits.rows():
            if row.onset >= begin:
                self.comings[seed, row.who, row.onset // DAY].append(row)

    def can_fall_ill(self, who: str, t: int) -> bool:
        """Whether somebody is healthy and alive at a time at which people fall ill."""
        return t < self.last and not any(begin <= t <= end for begin, end in self._ill.get(who, ()))


def _minutes(seconds: int | None) -> float | None:
    return None if seconds is None else seconds / 60


def _percent(right: bool | None) -> float | None:
    return None if right is None else 100.0 * right


Measures = Mapping[str, Callable[[Sequence[Attendance]], float | None]]

OF_PATIENTS: Measures = {
    "minutes to the first doctor": lambda all: _minutes(all[0].waited),
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
"""Of an illness, from its comings in their order."""

_OF_DAYS: Measures = {
    "came that day": lambda came: float(len(came)),
    "minutes to the first doctor, mean of the day": lambda came: _mean(
        [o.waited / 60 for o in came if o.waited is not None]
    ),
    "left before treatment": lambda came: float(sum(one.ended == LEFT for one in came)),
    "admitted": lambda came: float(sum(bool(one.admitted) for one in came)),
}
"""Of a day, from all who came."""


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def compare_runs(first: Path, second: Path) -> dict[str, Any]:
    """Compares two runs, or two folders of runs with a seed each, that have the same patients.

    Returns the measures, and how many onsets (illnesses) both runs have or only one. Each measure has its means in both
    runs, the difference (second less first), and p adjusted over the measures that are paired in the same way. Patients
    of one resident are resampled together. Days follow one another, so intervals by days are a little too narrow.
    """
    if first.resolve() == second.resolve():
        raise UserError(f"{first} and {second} are the same run; name two that differ in who plays or in the hospital")
    pairs: list[Runs] = []
    differs: dict[str, tuple[str, str]] = {}
    seeds = []
    for one, other in _paired_folders(first, second):
        with RecordedRun(one) as a, RecordedRun(other) as b:
            configuration = _check(a, b)
            differs |= configuration_differences(a.configuration, b.configuration)
            seed, begin = int(configuration.get("seed") or 0), int(configuration.get("warm_up") or 0) * DAY
            pairs.append((Illnesses(a, seed, begin), Illnesses(b, seed, begin)))
            _check_onsets(*pairs[-1], a, b)
        seeds.append(seed)
    both = sum(len(one.onsets.keys() & other.onsets.keys()) for one, other in pairs)
    patients = [list(_patients(*pair)) for pair in pairs]
    # Of each run the mean over its patients; of one pair of runs nothing
    of_runs: Values = {name: [] for name in OF_PATIENTS} if len(pairs) > 1 else {}
    for number, of_pair in enumerate(patients if len(pairs) > 1 else ()):
        for name, rows in _values(of_pair, OF_PATIENTS).items():
            if rows:
                means = [sum(row[side] for row in rows) / len(rows) for side in (1, 2)]
                of_runs[name].append((number, means[0], means[1]))
    days = chain.from_iterable(_days(number, *pair) for number, pair in enumerate(pairs))
    return {
        "measures": (
            *_paired("patients", _values(chain.from_iterable(patients), OF_PATIENTS)),
            *_paired("days", _values(days, _OF_DAYS)),
            *_paired("runs", of_runs),
        ),
        "first": str(first),
        "second": str(second),
        "seeds": tuple(seeds),
        "differs": differs,
        "onsets": both,
        "only_first": sum(len(one.onsets) for one, _ in pairs) - both,
        "only_second": sum(len(other.onsets) for _, other in pairs) - both,
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


def _check_onsets(one: Illnesses, other: Illnesses, a: RecordedRun, b: RecordedRun) -> None:
    adds = any(_at(a.configuration, name) != _at(b.configuration, name) for name in _ADDS)
    for here, there, run in ((one, other, a), (other, one, b)):
        for onset, (t, what) in here.onsets.items():
            _, who, day = onset
            how = f"resident {who} falls ill on day {day + 1} of {what.disease} ({what.severity})"
            if onset in there.onsets:
                if there.onsets[onset] == (t, what):
                    continue
                _, theirs = there.onsets[onset]
                how += f" in the one and of {theirs.disease} ({theirs.severity}) in the other"
            elif not adds and there.can_fall_ill(who, t):
                how += f" in {run.folder} alone, and is healthy in the other"
            else:
                continue
            by = f"they were made by polyclinic {a.package} and {b.package}"
            raise UserError(f"{a.folder} and {b.folder} have different patients: {how}; {by}")


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


Runs = tuple[Illnesses, Illnesses]
Pair = tuple[Any, Sequence[Attendance], Sequence[Attendance]]
"""What is resampled together, and comings in the one run and in the other."""

Values = dict[str, list[tuple[Any, float, float]]]
"""Of each measure, what is resampled together, and its value in the one run and in the other, where both have it."""


def _patients(one: Illnesses, other: Illnesses) -> Iterator[Pair]:
    """Yields the illnesses with which their patient came to both."""
    for onset in sorted(one.onsets.keys() & other.onsets.keys()):
        mine, yours = one.comings.get(onset), other.comings.get(onset)
        if mine and yours:
            yield onset[:2], mine, yours


def _days(number: int, *runs: Illnesses) -> Iterator[Pair]:
    """Yields the days on which anybody came to either."""
    mine, yours = (
        grouped([row for comings in run.comings.values() for row in comings], lambda row: row.arrived // DAY)
        for run in runs
    )
    for day in sorted({*mine, *yours}, key=int):
        yield (number, day), mine.get(day, []), yours.get(day, [])


def _values(pairs: Iterable[Pair], measures: Measures) -> Values:
    found: Values = {name: [] for name in measures}
    for cluster, mine, yours in pairs:
        for name, measure in measures.items():
            a, b = measure(mine), measure(yours)
            if a is not None and b is not None:
                found[name].append((cluster, a, b))
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


_CHIEF = "right diagnosis, first visit, %"
_LESS_IS_BETTER = ("minutes", "left", "failed", "worse", "died", "visits")

MEASURES = [
    ItemMeasure(name=name, percent=name.endswith("%"), less_is_better=any(word in name for word in _LESS_IS_BETTER))
    for name in (_CHIEF, *(name for name in OF_PATIENTS if name != _CHIEF))
]


def run_rows(run: RecordedRun, *, seed: int, doctor: str, warm_up: int = 0) -> Iterator[ItemRow]:
    """Yields each illness with which somebody came after so many days of warming up; a resident is a case."""
    for (_, who, day), comings in Illnesses(run, seed, warm_up * DAY).comings.items():
        values = {name: value for name, of in OF_PATIENTS.items() if (value := of(comings)) is not None}
        end = comings[-1].ended
        yield ItemRow(
            item=f"{who}, day {day + 1}", case=who, values=values, set="hospital", model=doctor, seed=seed, end=end
        )
