"""What came of each illness of a run, for results that last: the measures by which two runs are compared."""

from __future__ import annotations

from collections.abc import Iterator

from polyclinic.hospital.record.comparison import OF_PATIENTS, Illnesses
from polyclinic.hospital.record.happenings import DAY
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.results.folder import ItemMeasure, ItemRow

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
