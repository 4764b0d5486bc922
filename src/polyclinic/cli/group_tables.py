"""What a run of the hospital came to by disease, department, acuity, level and hour, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from polyclinic.terminal.figures import number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import table

NOTE = (
    "n: visits; wait: minutes from coming to the first doctor's call, mean, and what 9 in 10 did not exceed; right "
    "and plan: % of the visits that came to a diagnosis, to a plan; left: unseen; bed: admitted; worse: in a bed or by "
    "the first follow-up. Who recovered and who died stands in --json, too."
)
_TITLES = {
    "by_acuity": ("acuity", "by acuity, as the nurse judged it first"),
    "by_level": ("level", "by level of the five-level index"),
    "by_department": ("department", "by department, where the nurse sent them"),
    "by_hour": ("hour", "by the hour at which they arrived"),
    "by_disease": ("disease", "by disease"),
}
_COLUMNS = ("n", "wait", "90 %", "right %", "plan %", "left", "bed", "worse")


_MOST = 15
"""Parts that a table shows, those with the most visits; the document and the report have all of them."""


def group_tables(document: dict[str, Any]) -> Iterator[Table]:
    """Yields a table for each way to part the visits of a run."""
    for group, (name, title) in _TITLES.items():
        if document[group]:
            parts = _most_visited(document[group]) if group == "by_disease" else document[group]
            left_out = len(document[group]) - len(parts)
            shown = table(f"{title}; {left_out} more with --json" if left_out else title, (name, *_COLUMNS))
            for part, came in parts.items():
                shown.add_row(plain(part), *_cells(came))
            yield shown


def _most_visited(parts: dict[str, Any]) -> dict[str, Any]:
    ranked = sorted(parts, key=lambda part: (-parts[part]["visits"], part))
    kept = set(ranked[:_MOST])
    return {part: came for part, came in parts.items() if part in kept}


def _cells(came: dict[str, Any]) -> list[str]:
    waiting = came["waiting"]
    return [
        number(came["visits"], ","),
        number(waiting["mean"], ".0f"),
        number(waiting["p90"], ".0f"),
        number(came["diagnosis"]["percent"], ".0f"),
        number(came["treatment"]["percent"], ".0f"),
        number(came["left"], ","),
        number(came["admitted"], ","),
        number(came["worse"], ","),
    ]
