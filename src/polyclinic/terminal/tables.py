"""Tables in the terminal, and how numbers stand in them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from polyclinic.statistics.uncertainty import Difference, Estimate
from polyclinic.terminal.screen import plain

NOTHING = "–"
"""Stands where nothing was measured."""

_SHOWN = 8


def table(
    title: str | None,
    columns: Sequence[str],
    rows: Iterable[Sequence[RenderableType]] = (),
    *,
    left: int = 1,
    right: Collection[str] | None = None,
) -> Table:
    """Returns a table without a frame, to which rows can be added; titles are shown as text, whoever wrote them.

    The first `left` columns stand to the left; the others, or those named by `right`, hold numbers.
    """
    above = None if title is None else Text(plain(title))
    made = Table(show_edge=False, pad_edge=False, title=above, title_justify="left")
    for number, name in enumerate(columns):
        numbers = number >= left if right is None else name in right
        # What is too long for its column goes on below, and is never cut.
        made.add_column(Text(plain(name)), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def mean_and_error(estimate: Estimate, form: str = ".2f") -> str:
    """Returns `mean ± standard error`."""
    return f"{number(estimate.mean, form)} ± {number(estimate.stderr, form)}" if estimate.mean is not None else NOTHING


def interval(estimate: Estimate, form: str = ".2f") -> str:
    """Returns `low-high`, the ends of the 95 % interval."""
    return NOTHING if estimate.low is None else f"{estimate.low:{form}}-{estimate.high:{form}}"


def p_value(value: float | None) -> str:
    """Returns a p value as it is printed."""
    return NOTHING if value is None else f"{value:.4f}" if value >= 0.0001 else "< 0.0001"


def number(value: float | None, form: str = ".2f", unit: str = "") -> str:
    """Returns a number, or a dash where there is none."""
    return NOTHING if value is None else f"{value:{form}}{unit}"


def show_problems(screen: Console, problems: Iterable[tuple[str, str]]) -> None:
    """Prints each problem once, with how many it is and the first of whose it is, from pairs of problem and id."""
    ids_of: dict[str, list[str]] = {}
    for problem, id in problems:
        ids_of.setdefault(problem, []).append(id)
    for problem, ids in ids_of.items():
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        told = plain(f"  {len(ids)} {problem}: {', '.join(ids[:_SHOWN])}{more}")
        screen.print(told, style="yellow", soft_wrap=True)


def difference_cells(difference: Difference, p_holm: float | None, form: str = "+.2f") -> tuple[str, ...]:
    """Returns a difference as five cells: its mean, `low to high`, p, p after Holm's correction, and n."""
    d = difference
    ends = NOTHING if d.low is None else f"{d.low:{form}} to {d.high:{form}}"
    return number(d.mean, form), ends, p_value(d.p), p_value(p_holm), str(d.n)
