"""How a practice is shown while it goes on: how far it is, and the curve of each task so far."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.text import Text

from polyclinic.benchmarks.evolution.practice import Point
from polyclinic.benchmarks.evolution.results import thinned
from polyclinic.memory.entries import ClinicalTask
from polyclinic.terminal.screen import console

_STEPS = "▁▂▃▄▅▆▇█"
_TESTS = 40
"""Tests that stand side by side; of more, so many, evenly."""

_BAR = 30


@contextmanager
def live_curve(
    patients: int, cap: Mapping[ClinicalTask, int], *, quiet: bool
) -> Iterator[tuple[Callable[[int], None], Callable[[Point], None]]]:
    """Shows it on stderr, where that is a terminal; yields what is told how far it is, and of each test.

    Args:
        patients: of the practice.
        cap: of each task, how many of the patients of the test can be treated rightly.
        quiet: shows nothing.
    """
    if quiet or not sys.stderr.isatty():
        yield (lambda _: None), (lambda _: None)
        return
    screen = console(sys.stderr)
    bar = Progress(BarColumn(_BAR), MofNCompleteColumn(), TimeRemainingColumn(), console=screen)
    task, points = bar.add_task("", total=patients), list[Point]()
    with Live(bar, console=screen, transient=True) as live:

        def on_point(point: Point) -> None:
            points.append(point)
            bar.update(task, completed=point.patients)
            live.update(Group(curve_text(points, cap), bar))

        yield (lambda done: bar.update(task, completed=done)), on_point


def curve_text(points: list[Point], cap: Mapping[ClinicalTask, int]) -> Text:
    """Returns the tests so far, a line a task: how many were right each time, the last in per cent, and the cap."""
    shown, last = thinned(points, _TESTS), points[-1]
    lines = []
    for task in ClinicalTask:
        shares = [point.right[task] / point.n for point in shown]
        steps = "".join(_STEPS[min(len(_STEPS) - 1, int(share * len(_STEPS)))] for share in shares)
        now, most = (100 * right / last.n for right in (last.right[task], cap[task]))
        lines.append(f"{task.value:<12}{steps:<{_TESTS}} {now:3.0f} % of {most:.0f}")
    return Text("\n".join(lines))
