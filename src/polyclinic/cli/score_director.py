"""`polyclinic score director`: what a medical director's grades come to, and how far two directors agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from polyclinic.cli.options import Json, Seed
from polyclinic.errors import BadInput
from polyclinic.files import read_lines
from polyclinic.metrics.director import (
    GradeSummary,
    Protocol,
    Ties,
    TwoJudges,
    Unreadable,
    by_doctor,
    compare_judges,
    recorded_judgements,
    summarise,
    ties,
    unreadable,
)
from polyclinic.metrics.grades import Aspect, Judgement, read_judgements
from polyclinic.metrics.icd.reports import ReportLayout
from polyclinic.metrics.recorded_reports import read_recorded_reports
from polyclinic.terminal.screen import console, plain, print_json
from polyclinic.terminal.tables import interval, mean_and_error, number, table

_SHOWN = 8
_MOST_FILES = 2


def director(
    files: Annotated[
        list[Path],
        Parameter(help="Grades of one judge; of two files the second holds another judge's, on the same reports."),
    ],
    /,
    *,
    layout: Annotated[
        ReportLayout | None,
        Parameter(help="polyclinic: judgements of ours; ai-hospital: letters as published. Else the first line tells."),
    ] = None,
    protocol: Annotated[
        Protocol, Parameter(help="A missing grade counts nothing, and is counted; paper: it counts as 1, as published.")
    ] = "readable",
    seed: Annotated[Seed, Parameter(help="Of the bootstrap.")] = 0,
    json: Json = False,
) -> None:
    """Scores the grades of one file, or of two and how far they agree."""
    if len(files) > _MOST_FILES:
        raise BadInput(f"{len(files)} files; one judge's, or two judges' to compare them, are allowed", path=files[2])
    judged = [_read(path, layout) for path in files]
    whole = [summarise(one, protocol=protocol, seed=seed) for one in judged]
    doctors = [
        {name: summarise(theirs, protocol=protocol, seed=seed) for name, theirs in by_doctor(one).items()}
        for one in judged
    ]
    agreed = compare_judges(*judged) if len(judged) == _MOST_FILES else None
    read = list(zip(files, judged, whole, [one if len(one) > 1 else {} for one in doctors], strict=True))
    if json:
        documents = [_document(*one, protocol) for one in read]
        print_json(documents[0] if agreed is None else {"files": documents, "agreement": agreed})
        return
    screen = console()
    for one in read:
        _show(screen, *one, protocol)
    if agreed is not None:
        _show_agreement(screen, agreed, f"{files[0]} and {files[1]}")


def _read(path: Path, layout: ReportLayout | None) -> list[Judgement]:
    if (layout or _layout_of(path)) is ReportLayout.POLYCLINIC:
        judgements = read_judgements(path)
        judges = dict.fromkeys((one.judge, one.version, one.prompts) for one in judgements)
        if len(judges) > 1:
            named = "; ".join(f"{judge} version {version}, {prompts}" for judge, version, prompts in judges)
            raise BadInput(f"{len(judges)} judges or versions of one in a file: {named}; one a file", path=path)
        return judgements
    try:
        return recorded_judgements(read_recorded_reports(path))
    except BadInput as error:
        raise error if error.path is not None else BadInput(error.problem, path=path) from None


def _layout_of(path: Path) -> ReportLayout:
    line_number, line = next(read_lines(path))
    for mark, layout in {'"reference_diagnosis"': ReportLayout.AI_HOSPITAL, '"judge"': ReportLayout.POLYCLINIC}.items():
        if mark in line:
            return layout
    allowed = " | ".join(ReportLayout)
    problem = f"neither a judgement of ours nor a published letter; --layout {allowed} says what is wrong"
    raise BadInput(problem, path=path, line=line_number)


def _document(
    path: Path,
    judgements: Sequence[Judgement],
    whole: GradeSummary,
    doctors: Mapping[str, GradeSummary],
    protocol: Protocol,
) -> dict[str, Any]:
    return {
        "file": str(path),
        "judge": {"name": judgements[0].judge, "version": judgements[0].version, "prompts": judgements[0].prompts},
        "protocol": protocol,
        "n": len(judgements),
        "metrics": whole.metrics,
        "grades": whole.grades,
        "length": whole.length,
        "unreadable": unreadable(judgements),
        "failed": whole.failed,
        "doctors": doctors,
        "ties": ties(judgements),
    }


def _show(
    screen: Console,
    path: Path,
    judgements: Sequence[Judgement],
    whole: GradeSummary,
    doctors: Mapping[str, GradeSummary],
    protocol: Protocol,
) -> None:
    first = judgements[0]
    hashed = f", prompts {first.prompts}" if first.prompts else ""
    title = f"{path}: {len(judgements)} reports, judged by {first.judge}, version {first.version}{hashed}"
    screen.print(plain(title), style="bold")
    for doctor, summary in (doctors or {"": whole}).items():
        _show_grades(screen, summary, doctor)
    if protocol == "paper":
        screen.print("protocol paper: a missing grade counts as 1", style="dim")
    _show_ungraded(screen, unreadable(judgements))
    if tied := ties(judgements):
        _show_ties(screen, tied)
    screen.print()


def _show_grades(screen: Console, summary: GradeSummary, doctor: str) -> None:
    """Prints the means of one doctor by aspect, with what the judge gave and the effect of length."""
    columns = ("aspect", "mean ± se", "95 % interval", "n", "unreadable", "A", "B", "C", "D", "with length")
    shown = table(doctor or None, columns)
    for aspect, graded in summary.metrics.items():
        counts = (graded.n, graded.unreadable, *summary.grades[aspect].values())
        figures = (mean_and_error(graded, ".3f"), interval(graded, ".3f"), *map(str, counts))
        shown.add_row(aspect, *figures, number(summary.length[aspect], "+.2f"))
    screen.print(shown)
    if summary.failed:
        failures = ", ".join(f"{n} {plain(name)}" for name, n in summary.failed.items())
        screen.print(f"not judged, and outside every mean: {failures}", style="yellow")


def _show_ungraded(screen: Console, ungraded: Sequence[Unreadable]) -> None:
    """Prints which aspects of which reports have no grade, and why."""
    by_problem: dict[tuple[str, str], list[str]] = {}
    for one in ungraded:
        by_problem.setdefault((one.aspect, one.problem), []).append(one.case)
    for (aspect, problem), ids in by_problem.items():
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        text = f"  {len(ids)} without a grade on {aspect}: {problem}: {', '.join(ids[:_SHOWN])}{more}"
        screen.print(plain(text), style="yellow", soft_wrap=True)


def _show_ties(screen: Console, tied: Sequence[Ties]) -> None:
    rows = (
        (
            plain(f"{one.first}, {one.second}"),
            one.aspect,
            f"{one.percent:.0f} %",
            str(one.n),
            f"{one.low:.0f}-{one.high:.0f} %",
        )
        for one in tied
        if one.percent is not None
    )
    screen.print(table("one grade for both doctors", ("doctors", "aspect", "ties", "n", "95 % interval"), rows, left=2))


def _show_agreement(screen: Console, agreed: Mapping[Aspect, TwoJudges], names: str) -> None:
    columns = ("aspect", "alike", "within one", "kappa", "weighted kappa", "Spearman", "means", "n", "ungraded")
    shown = table(f"{names}, on the reports of both", columns)
    for aspect, two in agreed.items():
        means = number(None) if two.means is None else f"{two.means[0]:.3f}, {two.means[1]:.3f}"
        shares = [number(value, ".1f", " %") for value in (two.exact.percent, two.within_one)]
        numbers = [number(value, ".3f") for value in (two.exact.kappa, two.weighted_kappa, two.spearman)]
        shown.add_row(aspect, *shares, *numbers, means, str(two.exact.n), str(two.ungraded))
    screen.print(shown)
    for aspect, two in agreed.items():
        if two.exact.n:
            screen.print(f"\n{aspect}: the first judge's grades by row, the second's by column")
            lines = zip(two.exact.labels, two.exact.confusion, strict=True)
            screen.print(table(None, ("", *two.exact.labels), ((row, *map(str, line)) for row, line in lines), left=0))
