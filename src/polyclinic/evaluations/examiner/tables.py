"""What came of recorded requests, as a table and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from rich.console import Console

from polyclinic.evaluations.examiner.evaluation import ExaminerResult, RequestRow
from polyclinic.results.folder import ItemMeasure, ItemRow, mean_of_parts
from polyclinic.results.output import Output
from polyclinic.statistics.uncertainty import share
from polyclinic.terminal.figures import NOTHING, ShownFigure, with_ends
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import counted, table

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


def examiner_output(result: ExaminerResult, about: Mapping[str, Any]) -> Output:
    """Returns what a user gets of the requests, with how they were put."""
    figures = {name: getattr(result, name) for name in result.__struct_fields__ if name != "rows"}

    rows = msgspec.to_builtins(result.rows)

    def show(screen: Console) -> None:
        _show(screen, result, about)

    return Output(
        document={**figures, **about, "missing": "normal", "rows": rows},
        show=show,
        written="Summary: {}",
        rows=[*examiner_rows(result, about["examiner"], seed=about["seed"])],
        measures=MEASURES,
        asked_for=lambda call: (about["examiner"], "", call.item.rpartition("/")[0]),
    )


def _show(screen: Console, result: ExaminerResult, about: Mapping[str, Any]) -> None:
    rows = (
        ("ordered and recorded: given", _of(result.given, result.ordered), _share(result.given, result.ordered)),
        ("of what was given: not ordered", str(result.beyond), _share(result.beyond, result.given + result.beyond)),
        ("ordered and recorded: would be told as normal with --missing normal", str(result.false_normal), ""),
    )
    title = f"{counted(result.requests, 'request')} to the examiner {about['examiner']}"
    screen.print(table(plain(title), ("", "n", "% [95 % interval]"), rows))
    by = "as a person labelled them" if about["labels"] else "as the recorded examiner's reply does; it is no standard"
    screen.print(f"what is ordered: {by}", style="dim", soft_wrap=True)
    outside = {
        "dialogues without a case": result.left_out,
        "requests without a label": result.unlabelled,
        "turns to the examiner without a request": result.empty,
        "names of labels by which nothing is recorded": result.unknown,
        **{f"requests failed ({name})": n for name, n in result.failed.items()},
    }
    if told := "; ".join(f"{name}: {n}" for name, n in outside.items() if n):
        screen.print(f"left out: {told}", style="yellow", soft_wrap=True)
    for row in result.rows:
        if wrong := _wrong(row):
            screen.print()
            screen.print(plain(f"{row.case}: {' '.join(row.request.split())}"), soft_wrap=True)
            for line in wrong:
                screen.print(plain(f"  {line}"), style="red", soft_wrap=True)


def _wrong(row: RequestRow) -> list[str]:
    missed = [name for name in row.ordered if name not in (*row.given, *row.false_normal)]
    kinds = {
        "not given": missed,
        "would be told as normal with --missing normal": row.false_normal,
        "not ordered": row.beyond,
        "not recorded by this name": row.unknown,
    }
    return [f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names]


def _of(part: int, whole: int) -> str:
    return ShownFigure(f"{part} of {whole}", {"": part, "of": whole})


def _share(part: int, whole: int) -> str:
    if not whole:
        return NOTHING
    percent, low, high = share(part, whole)
    return with_ends(percent, low, high, ".1f")
