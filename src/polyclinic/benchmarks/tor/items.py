"""What came of each record, for results that last."""

from __future__ import annotations

from collections.abc import Iterator

from polyclinic.benchmarks.tor.evaluation import RecordPlay, RecordScores
from polyclinic.results.folder import ItemMeasure, ItemRow

MEASURES = [
    ItemMeasure(name="f1_of_a_record", share=False),
    ItemMeasure(name="precision_of_a_record", share=False),
    ItemMeasure(name="recall_of_a_record", share=False),
    ItemMeasure(name="relevance", percent=False, share=False),
    ItemMeasure(name="completeness", percent=False, share=False),
]
"""The means over records; precision, recall and F1 of the table are of all options of all records together."""


def tor_rows(result: RecordScores, model: str, file: str = "", *, seed: int) -> Iterator[ItemRow]:
    """Yields what a method made of each record, written line by line in the file, if any; a failed one has no value."""
    for number, one in enumerate(result.chosen, 1):
        usage = one.outcome.usage
        yield ItemRow(
            item=one.id,
            values={} if one.failed else _values(one),
            model=model,
            method=result.name,
            seed=seed,
            end=str(one.outcome.end),
            calls=one.outcome.calls,
            round_trips=one.outcome.round_trips,
            tokens=usage.tokens_in + usage.tokens_out,
            cost=usage.cost,
            at=f"{file}:{number}" if file else "",
        )


def _values(one: RecordPlay) -> dict[str, float]:
    right = len(one.outcome.answers & one.key)
    values: dict[str, float] = {"f1_of_a_record": 100.0 * one.f1}
    values["recall_of_a_record"] = 100.0 * right / max(len(one.key), 1)
    if one.outcome.answers:
        values["precision_of_a_record"] = 100.0 * right / len(one.outcome.answers)
    for name in ("relevance", "completeness"):
        if one.rating is not None and (mark := getattr(one.rating, name)) is not None:
            values[name] = float(mark)
    return values
