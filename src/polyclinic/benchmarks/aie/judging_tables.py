"""What a judge said of pairs of doctors, and how the indicators go together, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from polyclinic.benchmarks.aie.correlation import Correlations
    from polyclinic.benchmarks.aie.correlation import Table as Matrix
    from polyclinic.judges.pair_judgements import Judgements

_STRONG, _SOME = 0.6, 0.3


def show_judgements(screen: Console, judgements: Judgements) -> None:
    """Prints win rates and strengths by view and criterion, and how far the order alone decided."""
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    for view, criteria in judgements.views.items():
        title = plain(f"judged by {judgements.judge} as a {view}: win rate without ties, strength [95 %]")
        table = Table(show_edge=False, pad_edge=False, title=Text(title), title_justify="left")
        table.add_column("doctor")
        for criterion in criteria:
            table.add_column(criterion, justify="right")
        for doctor in next(iter(criteria.values())).win_rates:
            cells = []
            for judged in criteria.values():
                rate, strength = judged.win_rates[doctor].percent, judged.strengths[doctor]
                wins = "–" if rate is None else f"{rate:.0f} %"
                cells.append(f"{wins}, {strength.strength:+.2f} [{strength.low:+.2f}, {strength.high:+.2f}]")
            table.add_row(Text(plain(doctor)), *cells)
        table.add_section()
        table.add_row("comparisons", *(str(judged.n) for judged in criteria.values()), style="dim")
        table.add_row("ties", *(str(judged.ties) for judged in criteria.values()), style="dim")
        table.add_row("orders disagree", *(str(judged.disagreements) for judged in criteria.values()), style="dim")
        first = ("–" if j.first_wins is None else f"{j.first_wins:.0f} %" for j in criteria.values())
        table.add_row("the first shown wins", *first, style="dim")
        screen.print(table)
        screen.print()
    failures = [f"{n} {name}" for name, n in {**judgements.unreadable, **judgements.failed}.items()]
    lost = f"; answers that failed: {', '.join(failures)}" if failures else ""
    screen.print(
        f"prompts {judgements.prompts}; {judgements.incomplete} comparisons lack an order and count for nobody; "
        f"{judgements.without} had no dialogue to show{lost}\n"
    )


def show_correlations(screen: Console, correlations: Correlations) -> None:
    """Prints Spearman's coefficients over all pairs of doctors, and within and between groups, as heat maps."""
    for name, matrix in {"all pairs": correlations.pairs, **correlations.groups}.items():
        _show_matrix(screen, f"Spearman's coefficients x 100, {name}", matrix)


def _show_matrix(screen: Console, title: str, matrix: Matrix) -> None:
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    table = Table(box=None, padding=(0, 1, 0, 0), title=plain(title), title_justify="left")
    table.add_column("", no_wrap=True)
    for number in range(1, len(matrix.indicators) + 1):
        table.add_column(str(number), justify="right", no_wrap=True)
    for number, (name, row) in enumerate(zip(matrix.indicators, matrix.matrix, strict=True), start=1):
        table.add_row(f"{number} {name}", *(Text(_coefficient(value), style=_heat(value)) for value in row))
    screen.print(table)
    if matrix.note:
        screen.print(plain(matrix.note), style="dim")
    screen.print()


def _coefficient(value: float | None) -> str:
    return "·" if value is None else f"{100 * value:+.0f}"


def _heat(value: float | None) -> str:
    if value is None or abs(value) < _SOME:
        return "dim"
    colour = "red" if value > 0 else "blue"
    return f"bold {colour}" if abs(value) >= _STRONG else colour
