"""How methods compare on the same items: each less another, with Holm's correction over all comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
from rich.console import Console

from polyclinic.statistics.uncertainty import Difference, holm
from polyclinic.terminal.tables import DETECTABLE, DIFFERENCE_COLUMNS, difference_cells, table

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
    rows = [((one.method, one.baseline), one.difference, one.p_holm) for one in against]
    show_differences(screen, title, ("method", "less"), rows, test=test, form="+.1f")


def show_differences(
    screen: Console,
    title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Sequence[str], Difference, float | None]],
    *,
    test: str = "sign-flip test",
    form: str = "+.2f",
) -> None:
    """Prints differences, if there are any, each with its names, and the test that their p values are from."""
    if not rows:
        return
    shown = table(title, (*columns, *DIFFERENCE_COLUMNS), left=len(columns))
    for names, difference, p_holm in rows:
        cells = difference_cells(difference, p_holm, form)
        shown.add_row(*names, *cells)
    screen.print(shown)
    corrected = f"; Holm's correction is over all {len(rows)} rows" if len(rows) > 1 else ""
    screen.print(f"p: {test}{corrected}; {DETECTABLE}", style="dim")
