"""What a judge said of pairs of doctors, and how the indicators go together, as tables."""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polyclinic.benchmarks.aie.correlation import Correlations, Matrix
from polyclinic.judges.pairs import CriterionResult, Judgements
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import number, table

_STRONG, _SOME = 0.6, 0.3


def show_judgements(screen: Console, judgements: Judgements) -> None:
    """Prints win rates and strengths by view and criterion, and how far the order alone decided."""
    for view, criteria in judgements.views.items():
        title = f"judged by {judgements.judge} as a {view}: win rate without ties, strength [95 %]"
        shown = table(title, ("doctor", *criteria))
        for doctor in next(iter(criteria.values())).win_rates:
            shown.add_row(Text(plain(doctor)), *(_won(judged, doctor) for judged in criteria.values()))
        shown.add_section()
        all_judged = criteria.values()
        shown.add_row("comparisons", *(str(judged.n) for judged in all_judged), style="dim")
        shown.add_row("ties", *(str(judged.ties) for judged in all_judged), style="dim")
        shown.add_row("orders disagree", *(str(judged.disagreements) for judged in all_judged), style="dim")
        first_wins = (number(judged.first_wins, ".0f", " %") for judged in all_judged)
        shown.add_row("the first shown wins", *first_wins, style="dim")
        screen.print(shown, "")
    failures = [f"{n} {name}" for name, n in {**judgements.unreadable, **judgements.failed}.items()]
    lost = f"; answers that failed: {', '.join(failures)}" if failures else ""
    screen.print(
        f"prompts {judgements.prompts}; {judgements.incomplete} comparisons lack an order and count for nobody; "
        f"{judgements.without} had no dialogue to show{lost}\n"
    )


def _won(judged: CriterionResult, doctor: str) -> str:
    rate, strength = judged.win_rates[doctor].percent, judged.strengths[doctor]
    span = f"[{strength.low:+.2f}, {strength.high:+.2f}]"
    return f"{number(rate, '.0f', ' %')}, {strength.strength:+.2f} {span}"


def show_correlations(screen: Console, correlations: Correlations) -> None:
    """Prints Spearman's coefficients over all pairs of doctors, and within and between groups, as heat maps.

    Of the study with people also how far each indicator goes with theirs.
    """
    if correlations.study is not None:
        study = correlations.study
        _show_matrix(screen, f"the study of {len(study.indicators)} indicators", study)
        rows = sorted(study.with_people.items(), key=lambda one: -math.inf if one[1] is None else -one[1])
        told = ((name, _coefficient(value)) for name, value in rows)
        screen.print(table("mean coefficient with people's indicators, x 100", ("indicator", "people"), told), "")
    for name, matrix in {"all pairs": correlations.pairs, **correlations.groups}.items():
        _show_matrix(screen, f"Spearman's coefficients x 100, {name}", matrix)


def _show_matrix(screen: Console, title: str, matrix: Matrix) -> None:
    shown = Table(box=None, padding=(0, 1, 0, 0), title=Text(plain(title)), title_justify="left")
    shown.add_column("", no_wrap=True)
    for place in range(1, len(matrix.indicators) + 1):
        shown.add_column(str(place), justify="right", no_wrap=True)
    for place, (name, row) in enumerate(zip(matrix.indicators, matrix.matrix, strict=True), start=1):
        shown.add_row(plain(f"{place} {name}"), *(Text(_coefficient(value), style=_heat(value)) for value in row))
    screen.print(shown)
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
