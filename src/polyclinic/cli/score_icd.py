"""`polyclinic score icd`: the diseases of reports against those of the reference, as codes of ICD-10."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyclinic.cli.minds import JsonOption
from polyclinic.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyclinic.metrics.icd.reports import NamedReports, ReportLayout
    from polyclinic.metrics.icd.scores import IcdSummary
    from polyclinic.metrics.icd.tables import IcdEntry
    from polyclinic.statistics.uncertainty import Estimate

_ROWS = (
    ("names a report", "number", None),
    ("precision", "precision", "precision"),
    ("recall", "recall", "recall"),
    ("F1", "f1", "f1"),
    ("categories a report", "category_number", None),
    ("precision by category", "category_precision", "category_precision"),
    ("recall by category", "category_recall", "category_recall"),
    ("F1 by category", "category_f1", "category_f1"),
)


def icd(
    file: Annotated[Path, typer.Argument(help="Traces of ours, or recorded reports; one doctor a file.")],
    layout: Annotated[
        str | None, typer.Option(help="polyclinic or ai-hospital; by default the first record tells.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="Table of ICD-10 (.xls, .csv, .tsv: code, title); by default the English one."),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="The baseline: cut at punctuation, plain edit distance.")
    ] = False,
    known_codes: Annotated[
        bool, typer.Option("--known-codes", help="Take the codes that typed diagnoses have, instead of their names.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    json: JsonOption = False,
) -> None:
    """Link the diagnoses of reports to ICD-10: precision, recall and F1 of codes and of categories."""
    import time

    from polyclinic.metrics.disease_names import split_names
    from polyclinic.metrics.icd.linking import Titles
    from polyclinic.metrics.icd.plain import link_plainly, split_plainly
    from polyclinic.metrics.icd.reports import read_named_reports
    from polyclinic.metrics.icd.scores import score_names
    from polyclinic.terminal.screen import print_json

    begun = time.perf_counter()
    reports = read_named_reports(file, layout=_layout(layout), split=split_plainly if plain else split_names)
    entries = _entries(reports, table)
    summary = score_names(
        reports.pairs,
        (lambda names: link_plainly(names, entries)) if plain else Titles(entries).link_all,
        known_codes=known_codes,
        seed=seed,
    )
    seconds = time.perf_counter() - begun
    if json:
        print_json(_document(file, reports, entries, summary, seconds))
        return
    _show(file, reports, entries, summary, seconds)


def _layout(name: str | None) -> ReportLayout | None:
    from polyclinic.metrics.icd.reports import ReportLayout

    if name is None:
        return None
    try:
        return ReportLayout(name)
    except ValueError:
        raise UserError(f"no layout {name!r}; --layout takes {' or '.join(ReportLayout)}") from None


def _entries(reports: NamedReports, table: Path | None) -> Sequence[IcdEntry]:
    from polyclinic.metrics.icd.tables import english_entries, read_entries

    if table is not None:
        return read_entries(table)
    if reports.language == "zh":
        raise UserError("the cases are Chinese, and so must be the titles of ICD-10: name a table with --table")
    return english_entries()


def _document(
    file: Path, reports: NamedReports, entries: Sequence[IcdEntry], summary: IcdSummary, seconds: float
) -> dict[str, Any]:
    return {
        "file": str(file),
        "layout": reports.layout,
        "n": len(summary.cases),
        "metrics": {name: {"mean": e.mean, "low": e.low, "high": e.high} for name, e in summary.metrics.items()},
        "standard_errors": {name: e.stderr for name, e in summary.metrics.items()},
        "per_case": summary.per_case,
        "reference_number": summary.reference_number,
        "table": len(entries),
        "names": summary.names,
        "unlinked": summary.unlinked,
        "ties": summary.tied,
        "ties_across_categories": summary.tied_categories,
        "without_names": summary.without_names,
        "unreadable": reports.unreadable,
        "failed": sum(problem.failed for problem in reports.left_out),
        "left_out": reports.left_out,
        "cases": summary.cases,
        "seconds": round(seconds, 2),
    }


def _show(file: Path, reports: NamedReports, entries: Sequence[IcdEntry], summary: IcdSummary, seconds: float) -> None:
    from rich.table import Table
    from rich.text import Text

    from polyclinic.benchmarks.aie.score_tables import show_left_out
    from polyclinic.terminal.screen import console, plain
    from polyclinic.terminal.tables import mean_and_error

    screen = console()
    table = Table(show_edge=False, pad_edge=False, title=Text(plain(str(file))), title_justify="left")
    for column in ("metric", "pooled ± se", "95 % interval", "mean of cases ± se", "n"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    for label, name, case in _ROWS:
        e = summary.metrics[name]
        mean = mean_and_error(summary.per_case[case]) if case is not None else ""
        table.add_row(label, mean_and_error(e), _interval(e), mean, str(e.n))
    screen.print(table)
    n, empty = len(summary.cases), summary.without_names
    failed = sum(problem.failed for problem in reports.left_out)
    counts = (
        f"{n} report{'s' if n != 1 else ''}; {reports.unreadable} unreadable and {empty} in which no disease is named "
        f"(counted, with no code); {len(reports.left_out)} left out, {failed} of them failed"
    )
    screen.print(Text(counts, style="bold"), soft_wrap=True)
    linked = (
        f"{summary.names} different names against {len(entries)} titles in {seconds:.1f} s: {summary.unlinked} "
        f"unlinked, {summary.tied} fit several codes equally well ({summary.tied_categories} in several categories)"
    )
    screen.print(linked, style="dim", soft_wrap=True)
    show_left_out(screen, reports.left_out)


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "–"
    return f"{estimate.low:.2f}-{estimate.high:.2f}"
