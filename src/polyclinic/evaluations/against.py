"""How methods compare on the same items: each less another, with Holm's correction over all comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
from rich.console import Console
from rich.text import Text

from polyclinic.statistics.uncertainty import Difference, holm
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import DETECTABLE, difference_cells, table

Value = TypeVar("Value")


class Against(msgspec.Struct, frozen=True, kw_only=True):
    """A method less another, in percent points, on the items that have a value for both."""

    method: str
    baseline: str
    difference: Difference
    p_holm: float | None


def compare_pairs(
    values: Mapping[str, Mapping[str, Value]],
    pairs: Iterable[tuple[str, str]],
    difference: Callable[[Sequence[Value], Sequence[Value]], Difference],
) -> tuple[Against, ...]:
    """Compares methods with their baselines; `values` has the values of each method by item."""
    found = []
    for method, baseline in pairs:
        both = [item for item in values[method] if item in values[baseline]]
        mine, theirs = ([values[name][item] for item in both] for name in (method, baseline))
        found.append((method, baseline, difference(mine, theirs)))
    corrected = holm([one.p for *_, one in found])
    return tuple(
        Against(method=method, baseline=baseline, difference=one, p_holm=p)
        for (method, baseline, one), p in zip(found, corrected, strict=True)
    )


def show_against(screen: Console, title: str, against: Sequence[Against], *, test: str) -> None:
    """Prints comparisons, if there are any, and the test that their p values are from."""
    if not against:
        return
    columns = ("method", "less", "difference", "95 % interval", "p", "p (Holm)", "n", "detectable")
    shown = table(title, columns, left=2)
    for one in against:
        cells = difference_cells(one.difference, one.p_holm, "+.1f")
        shown.add_row(Text(plain(one.method)), Text(plain(one.baseline)), *cells)
    screen.print(shown)
    screen.print(f"p: {test}; Holm's correction is over all rows; {DETECTABLE}", style="dim")
