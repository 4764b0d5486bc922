"""What a judge said of pairs of doctors, and how the indicators go together, as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polyclinic.benchmarks.aie.correlation import Correlations, Matrix
from polyclinic.benchmarks.aie.people import ViewByPeople
from polyclinic.judges.pairs import CRITERIA, CriterionResult, Judgements, View
from polyclinic.statistics.agreement import Agreement
from polyclinic.terminal.figures import NOTHING, ShownFigure, number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import few_comparisons, table
from polyclinic.verdicts.results import CriterionByPeople

_STRONG, _SOME = 0.6, 0.3


def show_judgements(screen: Console, judgements: Judgements | None, people: Mapping[View, ViewByPeople]) -> None:
    """Prints win rates and strengths by view and criterion, people's below the judge's, and how far these agree.

    Of the judge also how far the order alone decided.
    """
    for view in CRITERIA:
        judged = {} if judgements is None else judgements.views[view]
        said = people.get(view)
        if judged or said is not None:
            _show_view(screen, view, "" if judgements is None else judgements.judge, judged, said)
    if judgements is None:
        return
    failures = [f"{n} {name}" for name, n in {**judgements.unreadable, **judgements.failed}.items()]
    lost = f"; answers that failed: {', '.join(failures)}" if failures else ""
    screen.print(
        f"prompts {judgements.prompts}; {judgements.incomplete} comparisons lack an order and count for nobody; "
        f"{judgements.without} had no dialogue to show{lost}\n"
    )


def _show_view(
    screen: Console, view: View, judge: str, judged: Mapping[str, CriterionResult], people: ViewByPeople | None
) -> None:
    criteria, said = CRITERIA[view], {} if people is None else people.criteria
    by = " and by ".join([*([judge] if judged else []), *(["people"] if said else [])])
    shown = table(f"judged by {by} as a {view}: win rate without ties, strength [95 %]", ("doctor", *criteria))
    every: list[CriterionResult | CriterionByPeople] = [*judged.values(), *said.values()]
    for doctor in dict.fromkeys(name for one in every for name in one.win_rates):
        if judged:
            shown.add_row(Text(plain(doctor)), *(_won(judged[one], doctor) for one in criteria))
        if said:
            cells = (_won(said[one], doctor) if one in said else NOTHING for one in criteria)
            shown.add_row(Text("  people" if judged else plain(doctor)), *cells)
    shown.add_section()
    counted: dict[str, Callable[[CriterionResult], str]] = {
        "comparisons": lambda one: str(one.n),
        "ties": lambda one: str(one.ties),
        "orders disagree": lambda one: str(one.disagreements),
        "the first shown wins": lambda one: number(one.first_wins, ".0f", " %"),
    }
    if judged:
        for name, count in counted.items():
            shown.add_row(name, *(count(judged[one]) for one in criteria), style="dim")
    if said:
        told = (
            ShownFigure(f"{said[one].n}, {said[one].ties} ties", {"": said[one].n, "ties": said[one].ties})
            if one in said
            else NOTHING
            for one in criteria
        )
        shown.add_row("people's comparisons", *told, style="dim")
    if people is not None and people.with_judge:
        both = (people.with_judge.get(one) for one in criteria)
        shown.add_row("judge and people alike", *map(_alike, both), style="dim")
    screen.print(shown)
    if few := few_comparisons(one.n for one in every):
        screen.print(few, style="yellow")
    screen.print()


def _alike(one: Agreement | None) -> str:
    if one is None or one.percent is None:
        return NOTHING
    parts = {"": one.percent, "n": one.n, "κ": one.kappa}
    return ShownFigure(f"{one.percent:.0f} % of {one.n}, κ {number(one.kappa)}", parts)


def _won(judged: CriterionResult | CriterionByPeople, doctor: str) -> str:
    if doctor not in judged.win_rates:
        return NOTHING
    rate, strength = judged.win_rates[doctor].percent, judged.strengths[doctor]
    span = f"[{strength.low:+.2f}, {strength.high:+.2f}]"
    parts = {"": rate, "strength": strength.strength, "strength low": strength.low, "strength high": strength.high}
    return ShownFigure(f"{number(rate, '.0f', ' %')}, {strength.strength:+.2f} {span}", parts)


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
    if all(value is None for row in matrix.matrix for value in row):
        screen.print(plain(f"{title}: {matrix.note}"), "", style="dim")
        return
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
    return "·" if value is None else number(100 * value, "+.0f")


def _heat(value: float | None) -> str:
    if value is None or abs(value) < _SOME:
        return "dim"
    colour = "red" if value > 0 else "blue"
    return f"bold {colour}" if abs(value) >= _STRONG else colour
