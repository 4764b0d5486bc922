"""What was left out of a score and how doctors compare, as tables; `score aie` and `eval aie` print the same."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polyclinic.metrics.comparison import MetricDifference
from polyclinic.metrics.dialogue import LeftOut
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import p_value

_SHOWN = 8


def show_left_out(screen: Console, left_out: Sequence[LeftOut]) -> None:
    """Prints what is not scored, and why."""
    by_problem: dict[tuple[str, str], list[str]] = {}
    for problem in left_out:
        where = f"no {', '.join(problem.metrics)}" if problem.metrics else "left out"
        by_problem.setdefault((where, problem.problem), []).append(str(problem.id))
    for (where, text), ids in by_problem.items():
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        screen.print(
            plain(f"  {len(ids)} {where}: {text}: {', '.join(ids[:_SHOWN])}{more}"), style="yellow", soft_wrap=True
        )


def show_compared(screen: Console, compared: Sequence[MetricDifference]) -> None:
    """Prints the paired differences, a table for every two doctors."""
    if not compared:
        screen.print("No case stands in two of the files: nothing can be compared in pairs.")
        return
    pairs = dict.fromkeys((c.first, c.second) for c in compared)
    for first, second in pairs:
        title = Text(plain(f"{first} less {second}, on the cases of both"))
        table = Table(show_edge=False, pad_edge=False, title=title, title_justify="left")
        for column in ("metric", "difference", "95 % interval", "p", "p (Holm)", "n"):
            table.add_column(column, justify="left" if column == "metric" else "right")
        for c in compared:
            if (c.first, c.second) == (first, second):
                d = c.difference
                interval = f"{d.low:+.2f} to {d.high:+.2f}" if d.low is not None and d.high is not None else "–"
                mean = f"{d.mean:+.2f}" if d.mean is not None else "–"
                table.add_row(c.metric, mean, interval, p_value(d.p), p_value(c.p_holm), str(d.n))
        screen.print(table)
        screen.print()
    screen.print(
        f"p: paired bootstrap, for DIAGNOSIS McNemar's exact test; Holm's correction is over all {len(compared)}.",
        style="dim",
    )
