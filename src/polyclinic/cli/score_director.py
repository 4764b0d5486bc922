"""`polyclinic score director`: what a medical director's grades come to, and how far two directors agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console

from polyclinic.cli.options import BootstrapSeed, Json
from polyclinic.errors import BadInput
from polyclinic.files import read_lines
from polyclinic.metrics.director import (
    AspectMean,
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
from polyclinic.terminal.tables import interval, mean_and_error, number, show_problems, table

_MOST_FILES = 2


def director(
    files: Annotated[
        list[Path],
        Parameter(
            metavar="FILE...",
            help="Grades of one judge; of two files the second holds another judge's, on the same reports.",
        ),
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
    seed: BootstrapSeed = 0,
    json: Json = False,
) -> None:
    """Scores the grades of one file, or of two and how far they agree."""
    if len(files) > _MOST_FILES:
        raise BadInput(f"{len(files)} files; one judge's, or two judges' to compare them, are allowed", path=files[2])
    read = [_read(path, layout) for path in files]
    graded = [_grades(path, judgements, protocol, seed) for path, judgements in zip(files, read, strict=True)]
    agreed = compare_judges(*read) if len(read) == _MOST_FILES else None
    if json:
        print_json(graded[0] if agreed is None else {"files": graded, "agreement": agreed})
        return
    screen = console()
    for one in graded:
        _show(screen, one)
    if agreed is not None:
        _show_agreement(screen, agreed, f"{files[0]} and {files[1]}")


class _FileGrades(msgspec.Struct, frozen=True, kw_only=True):
    """What the grades of one file come to, as `--json` prints it; by doctor where there are several."""

    file: str
    judge: dict[str, Any]
    protocol: Protocol
    n: int
    metrics: dict[Aspect, AspectMean]
    grades: dict[Aspect, dict[str, int]]
    length: dict[Aspect, float | None]
    unreadable: list[Unreadable]
    failed: dict[str, int]
    doctors: dict[str, GradeSummary]
    ties: list[Ties]


def _grades(path: Path, judgements: Sequence[Judgement], protocol: Protocol, seed: int) -> _FileGrades:
    first, doctors = judgements[0], by_doctor(judgements)
    whole = summarise(judgements, protocol=protocol, seed=seed)
    return _FileGrades(
        file=str(path),
        judge={"name": first.judge, "version": first.version, "prompts": first.prompts},
        protocol=protocol,
        n=len(judgements),
        **msgspec.structs.asdict(whole),
        unreadable=unreadable(judgements),
        doctors={name: summarise(theirs, protocol=protocol, seed=seed) for name, theirs in doctors.items()}
        if len(doctors) > 1
        else {},
        ties=ties(judgements),
    )


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


def _show(screen: Console, graded: _FileGrades) -> None:
    judge = graded.judge
    hashed = f", prompts {judge['prompts']}" if judge["prompts"] else ""
    title = f"{graded.file}: {graded.n} reports, judged by {judge['name']}, version {judge['version']}{hashed}"
    screen.print(plain(title), style="bold")
    whole = GradeSummary(metrics=graded.metrics, grades=graded.grades, length=graded.length, failed=graded.failed)
    for doctor, summary in (graded.doctors or {"": whole}).items():
        _show_grades(screen, summary, doctor)
    if graded.protocol == "paper":
        screen.print("protocol paper: a missing grade counts as 1", style="dim")
    show_problems(screen, ((f"without a grade on {one.aspect}: {one.problem}", one.case) for one in graded.unreadable))
    if graded.ties:
        _show_ties(screen, graded.ties)
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
