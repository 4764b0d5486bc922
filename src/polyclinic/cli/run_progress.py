"""How far a run of the hospital is, on stderr while it lasts."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskID, TextColumn

from polyclinic.hospital.configuration import Configuration
from polyclinic.hospital.record.account import Account
from polyclinic.hospital.record.episodes import Episode
from polyclinic.hospital.record.happenings import DAY, Happening
from polyclinic.hospital.running import Watching
from polyclinic.terminal.figures import money
from polyclinic.terminal.screen import console

_EVERY = 0.2  # seconds between two pictures


@contextmanager
def watching(configuration: Configuration, *, quiet: bool) -> Iterator[Watching | None]:
    """Shows the progress of a run if stderr is a terminal; yields what looks on."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = TextColumn("{task.description}"), BarColumn(bar_width=24)
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        by_visits = configuration.visits is not None
        task = bar.add_task("the town wakes up", total=configuration.visits or configuration.days)
        yield _Picture(bar, task, by_visits=by_visits)


class _Picture:
    """Draws how far a run is, now and then."""

    def __init__(self, bar: Progress, task: TaskID, *, by_visits: bool) -> None:
        self._bar, self._task, self._by_visits = bar, task, by_visits
        self._calls = 0
        self._cost: float | None = None
        self._began = self._drawn = time.monotonic()

    def add(self, happening: Happening, account: Account) -> None:
        """Draws, if the last picture is old enough."""
        now = time.monotonic()
        if now - self._drawn < _EVERY:
            return
        self._drawn, seconds, counts = now, now - self._began, Counter(account.world.counts)
        inside = counts["triaged"] - counts["went_home"] - counts["left_unseen"] - counts["failed"]
        parts = [f"day {happening.t // DAY + 1}", f"in hospital {max(0, inside)}", f"seen {counts['went_home']:,}"]
        parts.append(f"{(self._calls or len(account)) / seconds:,.0f} {'calls' if self._calls else 'events'}/s")
        if self._cost is not None:
            parts.append(f"cost {money(self._cost)}")
        done = counts["triaged"] if self._by_visits else happening.t / DAY
        self._bar.update(self._task, description="  ".join(parts), completed=done)

    def computed(self, episode: Episode) -> None:
        """Counts what the medical part of a visit cost."""
        self._calls += episode.calls
        if episode.cost is not None:
            self._cost = (self._cost or 0.0) + episode.cost
