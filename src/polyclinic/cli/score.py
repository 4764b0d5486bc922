"""`polyclinic score`: scores of dialogues that were recorded, here or elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyclinic.benchmarks.aie.dialogue_tables import show_compared, show_left_out
from polyclinic.cli.minds import JsonOption
from polyclinic.cli.score_director import director
from polyclinic.cli.score_icd import icd
from polyclinic.errors import BadInput
from polyclinic.terminal.tables import interval, mean_and_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from polyclinic.metrics.conversation import ConversationSummary

app = typer.Typer(help="Score dialogues and reports that were recorded.", no_args_is_help=True)

app.command("director")(director)

app.command()(icd)


@app.command()
def aie(
    files: Annotated[
        list[Path],
        typer.Argument(help="Traces of ours, or dialogues in the layout that AIE published; one doctor a file."),
    ],
    cases: Annotated[
        str | None,
        typer.Option(help="The case file that the traces were made with; COVERAGE and INQUIRY_LOGIC need it."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    json: JsonOption = False,
) -> None:
    """Score how doctors led their consultations: the ten metrics of AIE, and paired differences of several doctors."""
    from polyclinic.cases.loaders import read_cases
    from polyclinic.cases.shipped import shipped_path
    from polyclinic.metrics.comparison import compare
    from polyclinic.metrics.conversation import score, summarise
    from polyclinic.metrics.transcripts import read_dialogues
    from polyclinic.terminal.screen import console, print_json

    known = {case.id: case for case in read_cases(shipped_path(cases))} if cases is not None else {}
    summaries: dict[str, ConversationSummary] = {}
    for name, path in _names(files).items():
        dialogues, left_out = read_dialogues(path, cases=known)
        summaries[name] = summarise([score(dialogue) for dialogue in dialogues], left_out=left_out, seed=seed)
    _check_something(files, list(summaries.values()))
    compared = compare(summaries, seed=seed)
    if json:
        documents = [_document(path, summary) for path, summary in zip(files, summaries.values(), strict=True)]
        print_json(documents[0] if len(files) == 1 else {"files": documents, "comparisons": compared})
        return
    screen = console()
    for name, summary in summaries.items():
        _show(screen, name, summary)
    if len(summaries) > 1:
        _show_side_by_side(screen, summaries)
        show_compared(screen, compared)


def _names(files: Sequence[Path]) -> dict[str, Path]:
    """Returns the files by the shortest ends of their paths that tell them apart."""
    for parts in range(1, max(len(path.parts) for path in files) + 1):
        names = ["/".join(path.with_suffix("").parts[-parts:]) for path in files]
        if len(set(names)) == len(files):
            return dict(zip(names, files, strict=True))
    raise BadInput("a file is named twice, or two differ in their ending only; each is one doctor", path=files[0])


def _check_something(files: Sequence[Path], summaries: Sequence[ConversationSummary]) -> None:
    if any(summary.scores for summary in summaries):
        return
    first = summaries[0].left_out[0] if summaries[0].left_out else None
    n = sum(len(summary.left_out) for summary in summaries)
    because = f"; the first, {first.id}: {first.problem}" if first is not None else ""
    raise BadInput(f"none of the {n} dialogues can be scored{because}", path=files[0])


def _document(path: Path, summary: ConversationSummary) -> dict[str, Any]:
    return {
        "file": str(path),
        "n": len(summary.scores),
        "metrics": summary.metrics,
        "second": summary.second,
        "cases": [{"id": score.id, **score.values} for score in summary.scores],
        "left_out": summary.left_out,
        "unreadable": summary.unreadable,
        "failed": summary.failed,
    }


def _show(screen: Console, name: str, summary: ConversationSummary) -> None:
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    table = Table(show_edge=False, pad_edge=False, title=Text(plain(name)), title_justify="left")
    for column in ("metric", "mean ± se", "95 % interval", "n"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    for metric, estimate in summary.metrics.items():
        turns = " turns" if metric == "AVG_LEN" else ""
        table.add_row(metric, mean_and_error(estimate), interval(estimate), f"{estimate.n}{turns}")
    table.add_section()
    for metric, estimate in summary.second.items():
        table.add_row(metric, mean_and_error(estimate), interval(estimate), str(estimate.n), style="dim")
    screen.print(table)
    wholly = [problem for problem in summary.left_out if not problem.metrics]
    n = len(summary.scores)
    counts = f"{n} dialogue{'s' if n != 1 else ''}; {len(wholly)} left out, {summary.failed} of them failed; "
    screen.print(Text(f"{counts}{summary.unreadable} diagnoses unreadable (counted as wrong)", style="bold"))
    show_left_out(screen, summary.left_out)
    screen.print()


def _show_side_by_side(screen: Console, summaries: dict[str, ConversationSummary]) -> None:
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    table = Table(show_edge=False, pad_edge=False, title="side by side, mean ± se", title_justify="left")
    table.add_column("metric")
    for name in summaries:
        table.add_column(Text(plain(name)), justify="right")
    for metric in next(iter(summaries.values())).metrics:
        table.add_row(metric, *(mean_and_error(summary.metrics[metric]) for summary in summaries.values()))
    screen.print(table)
    screen.print()
