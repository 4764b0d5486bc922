"""`polyclinic score director`: what a medical director's grades come to, and how far two directors agree."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyclinic.cli.minds import JsonOption
from polyclinic.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from polyclinic.metrics.director import GradeSummary, Ties, TwoJudges, Unreadable
    from polyclinic.metrics.grades import Aspect, Judgement

_SHOWN = 8
_MOST_FILES = 2


class Layout(StrEnum):
    """Whose layout a file of grades has."""

    POLYCLINIC = "polyclinic"
    AI_HOSPITAL = "ai-hospital"


class Counting(StrEnum):
    """What a missing grade counts."""

    READABLE = "readable"
    PAPER = "paper"


def director(
    files: Annotated[
        list[Path],
        typer.Argument(help="Grades of one judge; of two files the second holds another judge's, on the same reports."),
    ],
    layout: Annotated[
        Layout | None,
        typer.Option(
            help="polyclinic: judgements of ours; ai-hospital: letters as published. Else the first line tells."
        ),
    ] = None,
    protocol: Annotated[
        Counting,
        typer.Option(help="A missing grade counts nothing, and is counted; paper: it counts as 1, as published."),
    ] = Counting.READABLE,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    json: JsonOption = False,
) -> None:
    """Score the grades of a medical director (AI Hospital): means by aspect, ties of two doctors, or of two judges."""
    from polyclinic.metrics.director import compare_judges
    from polyclinic.terminal.screen import console, print_json

    if len(files) > _MOST_FILES:
        raise BadInput(f"{len(files)} files; one judge's, or two judges' to compare them, are allowed", path=files[2])
    read = [_read(path, layout) for path in files]
    documents = [_document(path, one, protocol, seed) for path, one in zip(files, read, strict=True)]
    agreed = compare_judges(*read) if len(read) == _MOST_FILES else None
    if json:
        print_json(documents[0] if agreed is None else {"files": documents, "agreement": agreed})
        return
    screen = console()
    for document in documents:
        _show(screen, document)
    if agreed is not None:
        _show_agreement(screen, agreed, [str(path) for path in files])


def _read(path: Path, layout: Layout | None) -> list[Judgement]:
    from polyclinic.metrics.director import recorded_judgements
    from polyclinic.metrics.grades import read_judgements
    from polyclinic.metrics.recorded_reports import read_recorded_reports

    if (layout or _layout_of(path)) is Layout.POLYCLINIC:
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


def _layout_of(path: Path) -> Layout:
    from polyclinic.files import read_lines

    number, line = next(read_lines(path))
    for layout, mark in {Layout.AI_HOSPITAL: '"reference_diagnosis"', Layout.POLYCLINIC: '"judge"'}.items():
        if mark in line:
            return layout
    problem = f"neither a judgement of ours nor a published letter; --layout {' | '.join(Layout)} says what is wrong"
    raise BadInput(problem, path=path, line=number)


def _document(path: Path, judgements: Sequence[Judgement], protocol: Counting, seed: int) -> dict[str, Any]:
    from polyclinic.metrics.director import by_doctor, summarise, ties, unreadable

    whole = summarise(judgements, protocol=protocol.value, seed=seed)
    doctors = by_doctor(judgements)
    document: dict[str, Any] = {
        "file": str(path),
        "judge": {"name": judgements[0].judge, "version": judgements[0].version, "prompts": judgements[0].prompts},
        "protocol": protocol.value,
        "n": len(judgements),
        "metrics": whole.metrics,
        "grades": whole.grades,
        "length": whole.length,
        "unreadable": unreadable(judgements),
        "failed": whole.failed,
        "doctors": {},
        "ties": ties(judgements),
    }
    if len(doctors) > 1:
        document["doctors"] = {
            doctor: summarise(theirs, protocol=protocol.value, seed=seed) for doctor, theirs in doctors.items()
        }
    return document


def _show(screen: Console, document: Mapping[str, Any]) -> None:
    from rich.text import Text

    from polyclinic.metrics.director import GradeSummary
    from polyclinic.terminal.screen import plain

    judge = document["judge"]
    hashed = f", prompts {judge['prompts']}" if judge["prompts"] else ""
    title = (
        f"{document['file']}: {document['n']} reports, judged by {judge['name']}, version {judge['version']}{hashed}"
    )
    screen.print(Text(plain(title), style="bold"))
    whole = GradeSummary(**{part: document[part] for part in ("metrics", "grades", "length", "failed")})
    tables = document["doctors"] or {"": whole}
    for doctor, verdicts in tables.items():
        show_verdicts(screen, verdicts, doctor)
    if document["protocol"] == "paper":
        screen.print("protocol paper: a missing grade counts as 1", style="dim")
    show_ungraded(screen, document["unreadable"])
    if document["ties"]:
        _show_ties(screen, document["ties"])
    screen.print()


def show_verdicts(screen: Console, verdicts: GradeSummary, doctor: str = "") -> None:
    """Prints the means of one doctor by aspect, with what the judge gave and the effect of length."""
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    table = Table(show_edge=False, pad_edge=False, title=Text(plain(doctor)) if doctor else None, title_justify="left")
    columns = ("aspect", "mean ± se", "95 % interval", "n", "unreadable", "A", "B", "C", "D", "with length")
    for column in columns:
        table.add_column(column, justify="left" if column == "aspect" else "right")
    for aspect, graded in verdicts.metrics.items():
        stderr = "–" if graded.stderr is None else f"{graded.stderr:.3f}"
        mean = "–" if graded.mean is None else f"{graded.mean:.3f} ± {stderr}"
        interval = f"{graded.low:.3f}-{graded.high:.3f}" if graded.low is not None else "–"
        length = verdicts.length[aspect]
        given = [str(n) for n in verdicts.grades[aspect].values()]
        counts = [str(graded.n), str(graded.unreadable), *given]
        table.add_row(aspect, mean, interval, *counts, "–" if length is None else f"{length:+.2f}")
    screen.print(table)
    if verdicts.failed:
        failures = ", ".join(f"{n} {plain(name)}" for name, n in verdicts.failed.items())
        screen.print(f"not judged, and outside every mean: {failures}", style="yellow")


def show_ungraded(screen: Console, ungraded: Sequence[Unreadable]) -> None:
    """Prints which aspects of which reports have no grade, and why."""
    from polyclinic.terminal.screen import plain

    by_problem: dict[tuple[str, str], list[str]] = {}
    for one in ungraded:
        by_problem.setdefault((one.aspect, one.problem), []).append(one.case)
    for (aspect, problem), ids in by_problem.items():
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        text = f"  {len(ids)} without a grade on {aspect}: {problem}: {', '.join(ids[:_SHOWN])}{more}"
        screen.print(plain(text), style="yellow", soft_wrap=True)


def _show_ties(screen: Console, ties: Sequence[Ties]) -> None:
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    table = Table(show_edge=False, pad_edge=False, title="one grade for both doctors", title_justify="left")
    for column in ("doctors", "aspect", "ties", "n", "95 % interval"):
        table.add_column(column, justify="left" if column in ("doctors", "aspect") else "right")
    for tied in ties:
        if tied.percent is not None:
            doctors = Text(plain(f"{tied.first}, {tied.second}"))
            interval = f"{tied.low:.0f}-{tied.high:.0f} %"
            table.add_row(doctors, tied.aspect, f"{tied.percent:.0f} %", str(tied.n), interval)
    screen.print(table)


def _show_agreement(screen: Console, agreed: Mapping[Aspect, TwoJudges], names: Sequence[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    title = Text(plain(f"{names[0]} and {names[1]}, on the reports of both"))
    table = Table(show_edge=False, pad_edge=False, title=title, title_justify="left")
    columns = ("aspect", "alike", "within one", "kappa", "weighted kappa", "Spearman", "means", "n", "ungraded")
    for column in columns:
        table.add_column(column, justify="left" if column == "aspect" else "right")
    for aspect, two in agreed.items():
        means = "–" if two.means is None else f"{two.means[0]:.3f}, {two.means[1]:.3f}"
        shares = [_number(value, ".1f", " %") for value in (two.exact.percent, two.within_one)]
        numbers = [_number(value, ".3f") for value in (two.exact.kappa, two.weighted_kappa, two.spearman)]
        table.add_row(aspect, *shares, *numbers, means, str(two.exact.n), str(two.ungraded))
    screen.print(table)
    for aspect, two in agreed.items():
        if two.exact.n:
            screen.print(f"\n{aspect}: the first judge's grades by row, the second's by column")
            grid = Table(show_edge=False, pad_edge=False)
            for column in ("", *two.exact.labels):
                grid.add_column(column, justify="right")
            for letter, row in zip(two.exact.labels, two.exact.confusion, strict=True):
                grid.add_row(letter, *map(str, row))
            screen.print(grid)


def _number(value: float | None, form: str, unit: str = "") -> str:
    return "–" if value is None else f"{value:{form}}{unit}"
