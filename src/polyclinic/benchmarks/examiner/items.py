"""What came of the requests of each case, for results that last."""

from __future__ import annotations

from collections.abc import Iterator

from polyclinic.benchmarks.examiner.evaluation import ExaminerResult, RequestRow
from polyclinic.results.folder import ItemMeasure, ItemRow, mean_of_parts

MEASURES = [
    ItemMeasure(name="given", share=False),
    ItemMeasure(name="not_ordered", share=False, less_is_better=True),
    ItemMeasure(name="requests", percent=False, share=False),
]
"""Means over what is ordered and recorded, and over what was given, of all requests; and requests a case."""


def examiner_rows(result: ExaminerResult, examiner: str, *, seed: int) -> Iterator[ItemRow]:
    """Yields the shares of each case's requests; those that failed are outside, and where all did there is no value."""
    by_case: dict[str, list[RequestRow]] = {}
    for row in result.rows:
        by_case.setdefault(row.case, []).append(row)
    for case, rows in by_case.items():
        put = [row for row in rows if not row.error]
        values, weights = mean_of_parts({
            "given": [100.0 * (name in row.given) for row in put for name in row.ordered],
            "not_ordered": [mark for row in put for mark in [0.0] * len(row.given) + [100.0] * len(row.beyond)],
        })  # fmt: skip
        if put:
            values["requests"] = float(len(put))
        end = "" if put else rows[0].error
        yield ItemRow(item=case, values=values, weights=weights, model=examiner, seed=seed, end=end)
