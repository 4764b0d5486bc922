"""What came of the questions, or the turns, of each case, for results that last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from polyclinic.benchmarks.patient_simulator.evaluation import OPENING, LabelledReply, replies
from polyclinic.benchmarks.patient_simulator.recorded import RecordedRow, kind_of
from polyclinic.metrics.patient_replies import PATIENT_METRICS, score_reply
from polyclinic.results.folder import ItemMeasure, ItemRow, mean_of_parts

STATES, KIND = "states", "kind"

LABELLED_MEASURES = [ItemMeasure(name=name, share=False) for name in (STATES, *PATIENT_METRICS)]
"""Means over questions: how often the states agree with the labels, and the six metrics of what was replied."""

RECORDED_MEASURES = [ItemMeasure(name=name, share=False) for name in (STATES, KIND)]
"""Means over turns in the language of their case: states, and kinds of turns, as recorded."""


def labelled_rows(rows: Iterable[LabelledReply], patient: str, *, seed: int) -> Iterator[ItemRow]:
    """Yields the means over each case's questions; those that no endpoint answered are outside."""
    by_case: dict[str, list[LabelledReply]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).append(row)
    for case, theirs in by_case.items():
        parts = defaultdict[str, list[float]](list)
        parts[STATES] = [100.0 * (row.state is row.question.state) for row in theirs if not row.failed]
        for reply in replies(theirs):
            for name, value in score_reply(reply).items():
                if name in PATIENT_METRICS:
                    parts[name].append(value)
        values, weights = mean_of_parts(parts)
        end = "" if values else theirs[0].error
        yield ItemRow(item=case, values=values, weights=weights, model=patient, seed=seed, end=end)


def case_asked(item: str) -> str:
    """Returns the case of an item of a call: CASE/opening, or CASE/LENGTH/KIND."""
    case, _, last = item.rpartition("/")
    return case if last == OPENING else case.rpartition("/")[0]


def dialogue_asked(item: str, sets: Mapping[str, str]) -> tuple[str, str]:
    """Returns set and dialogue of an item of a call: FILE/DIALOGUE/TURN."""
    dialogue = item.rpartition("/")[0]
    file = next((file for file in sets if dialogue.startswith(f"{file}/")), "")
    return sets.get(file, ""), dialogue.removeprefix(f"{file}/")


def recorded_rows(
    rows: Iterable[RecordedRow], patient: str, sets: Mapping[str, str], *, seed: int
) -> Iterator[ItemRow]:
    """Yields the means over each dialogue's turns; `sets` are what the files are called."""
    by_dialogue: dict[tuple[str, str], list[RecordedRow]] = {}
    for row in rows:
        by_dialogue.setdefault((row.file, row.case), []).append(row)
    for (file, case), theirs in by_dialogue.items():
        counted = [row for row in theirs if not row.error and not row.other_language]
        values, weights = mean_of_parts({
            STATES: [100.0 * (row.state is row.recorded) for row in counted],
            KIND: [100.0 * (kind_of(row.state) == kind_of(row.recorded)) for row in counted],
        })  # fmt: skip
        end = next((row.error for row in theirs if row.error), "") if not values else ""
        yield ItemRow(item=case, values=values, weights=weights, set=sets[file], model=patient, seed=seed, end=end)
