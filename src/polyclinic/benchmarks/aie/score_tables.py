"""Scores of dialogues: their means, what is left out and how doctors compare; as tables and as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from polyclinic.metrics.comparison import MetricDifference
from polyclinic.metrics.conversation import ConversationSummary
from polyclinic.metrics.dialogue import LeftOut
from polyclinic.terminal.figures import ShownFigure
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import DETECTABLE, difference_cells, interval, mean_and_error, show_problems, table


def summary_document(file: str, summary: ConversationSummary) -> dict[str, Any]:
    """Returns what `--json` prints of the dialogues of one file."""
    return {
        "file": file,
        "n": len(summary.scores),
        "metrics": summary.metrics,
        "second": summary.second,
        "cases": [{"id": score.id, **score.values} for score in summary.scores],
        "left_out": summary.left_out,
        "unreadable": summary.unreadable,
        "failed": summary.failed,
    }


def show_summary(screen: Console, name: str, summary: ConversationSummary) -> None:
    """Prints the means of the dialogues of one file, and what is not scored."""
    shown = table(name, ("metric", "mean ± se", "95 % interval", "n"))
    for metric, estimate in summary.metrics.items():
        turns = " turns" if metric == "AVG_LEN" else ""
        shown.add_row(
            plain(metric),
            mean_and_error(estimate),
            interval(estimate),
            ShownFigure(f"{estimate.n}{turns}", {"": estimate.n}),
        )
    shown.add_section()
    for metric, estimate in summary.second.items():
        shown.add_row(metric, mean_and_error(estimate), interval(estimate), str(estimate.n), style="dim")
    screen.print(shown)
    wholly = [problem for problem in summary.left_out if not problem.metrics]
    n = len(summary.scores)
    counts = f"{n} dialogue{'s' if n != 1 else ''}; {len(wholly)} left out, {summary.failed} of them failed; "
    screen.print(Text(f"{counts}{summary.unreadable} diagnoses unreadable (counted as wrong)", style="bold"))
    show_left_out(screen, summary.left_out)
    screen.print()


def show_side_by_side(screen: Console, summaries: Mapping[str, ConversationSummary]) -> None:
    """Prints the means of several files beside one another."""
    metrics = next(iter(summaries.values())).metrics
    rows = ((plain(name), *(mean_and_error(one.metrics[name]) for one in summaries.values())) for name in metrics)
    screen.print(table("side by side, mean ± se", ("metric", *summaries), rows), "")


def show_left_out(screen: Console, left_out: Sequence[LeftOut]) -> None:
    """Prints what is not scored, and why."""
    where = ((one, f"no {', '.join(one.metrics)}" if one.metrics else "left out") for one in left_out)
    show_problems(screen, ((f"{lacks}: {one.problem}", str(one.id)) for one, lacks in where))


def show_compared(screen: Console, compared: Sequence[MetricDifference]) -> None:
    """Prints the paired differences, a table for every two doctors."""
    if not compared:
        screen.print("No case stands in two of the files: nothing can be compared in pairs.")
        return
    columns = ("metric", "difference", "95 % interval", "p", "p (Holm)", "n", "detectable")
    for first, second in dict.fromkeys((c.first, c.second) for c in compared):
        shown = table(f"{first} less {second}, on the cases of both", columns)
        for c in compared:
            if (c.first, c.second) == (first, second):
                shown.add_row(plain(c.metric), *difference_cells(c.difference, c.p_holm))
        screen.print(shown, "")
    screen.print(
        f"p: sign-flip test, for DIAGNOSIS McNemar's exact test; Holm's correction is over all {len(compared)}; "
        f"{DETECTABLE}",
        style="dim",
    )
