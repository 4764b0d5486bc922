"""What methods made of an exam, as tables, as a document, and as files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from polyclinic.benchmarks.exams.evaluation import Against, Answered, MethodResult
    from polyclinic.statistics.uncertainty import Estimate


def exam_document(
    results: Sequence[MethodResult], against: Sequence[Against], *, model: str, about: dict[str, Any]
) -> dict[str, Any]:
    """Returns what `--json` prints of an exam.

    Args:
        results: the methods.
        against: their comparisons.
        model: that all of them asked.
        about: what else is told of the run (dataset, sample, seed).
    """
    return {
        **about,
        "model": model,
        "methods": [
            {
                "name": one.name,
                "accuracy": one.accuracy,
                "readable_accuracy": one.readable,
                "n": len(one.answered),
                "unreadable": one.unreadable,
                "failed": one.failed,
                "ends": {str(end): count for end, count in one.ends.items()},
                "cost": one.cost,
                "by_subject": one.by_subject,
                "stability": one.stability,
                "questions": [_row(answered) for answered in one.answered],
            }
            for one in results
        ],
        "comparisons": against,
    }


def _row(answered: Answered) -> dict[str, Any]:
    return {
        "id": answered.id,
        "answers": sorted(answered.outcome.answers),
        "key": answered.key,
        "right": answered.right,
        "end": str(answered.outcome.end),
        "calls": answered.outcome.calls,
        "round_trips": answered.outcome.round_trips,
        **({"problem": answered.outcome.problem} if answered.outcome.problem else {}),
    }


def write_exam(folder: Path, results: Sequence[MethodResult], document: dict[str, Any]) -> None:
    """Writes each method's outcomes, every call in them, and the summary into a folder."""
    import msgspec

    from polyclinic.files import write_text

    encode = msgspec.json.Encoder().encode
    for one in results:
        # A setting may hold strokes and blanks; it must stay a file of this folder.
        name = re.sub(r"[^\w.-]+", "-", one.name).strip(".-")
        write_text(folder / f"{name}.jsonl", "".join(encode(answered).decode() + "\n" for answered in one.answered))
    write_text(folder / "summary.json", msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n")


def show_exam(
    screen: Console, title: str, results: Sequence[MethodResult], against: Sequence[Against], *, money: bool
) -> None:
    """Prints accuracy beside what it cost, the shuffled options, the subjects, and the comparisons."""
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    table = Table(show_edge=False, pad_edge=False, title=Text(plain(title)), title_justify="left")
    columns = ["method", "right %", "95 % interval", "readable %", "n", "unread.", "failed", "calls", "trips", "tokens"]
    for column in [*columns, *(["cost"] if money else []), "s"]:
        table.add_column(column, justify="left" if column == "method" else "right")
    for one in results:
        cost = one.cost
        cells = [mean_and_error(one.accuracy), interval(one.accuracy), _mean(one.readable), str(one.accuracy.n)]
        cells += [str(one.unreadable), str(one.failed), f"{cost.calls:.1f}", f"{cost.round_trips:.1f}"]
        cells += [f"{cost.tokens_in + cost.tokens_out:,.0f}"]
        cells += ["–" if cost.money is None else f"{cost.money:.5f}"] if money else []
        table.add_row(Text(plain(one.name)), *cells, f"{cost.seconds:.2f}")
    screen.print(table)
    screen.print(
        "right: of all questions that the endpoint answered, unreadable ones counted as wrong; readable: of those that "
        "could be read.\nn: questions answered; calls, trips (calls in a row), tokens, seconds: a question.",
        style="dim",
    )
    screen.print()
    _show_stability(screen, results)
    _show_subjects(screen, results)
    _show_against(screen, against)


def _show_stability(screen: Console, results: Sequence[MethodResult]) -> None:
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    if not any(one.stability for one in results):
        return
    table = Table(show_edge=False, pad_edge=False, title="options shuffled", title_justify="left")
    for column in ("method", "answer stays %", "n", "right % shuffled", "right %"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for one in results:
        if one.stability is not None:
            stays, shuffled = one.stability.stays, one.stability.accuracy
            cells = (mean_and_error(stays), str(stays.n), mean_and_error(shuffled), mean_and_error(one.accuracy))
            table.add_row(Text(plain(one.name)), *cells)
    screen.print(table)
    screen.print()


def _show_subjects(screen: Console, results: Sequence[MethodResult]) -> None:
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    subjects = list(dict.fromkeys(subject for one in results for subject in one.by_subject))
    if not subjects:
        return
    table = Table(show_edge=False, pad_edge=False, title="right % by subject", title_justify="left")
    table.add_column("subject")
    table.add_column("n", justify="right")
    for one in results:
        table.add_column(Text(plain(one.name)), justify="right")
    for subject in subjects:
        first = next(one.by_subject[subject] for one in results if subject in one.by_subject)
        cells = (mean_and_error(one.by_subject[subject]) for one in results)
        table.add_row(Text(plain(subject or "(none)")), str(first.n), *cells)
    screen.print(table)
    screen.print()


def _show_against(screen: Console, against: Sequence[Against]) -> None:
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    if not against:
        return
    table = Table(show_edge=False, pad_edge=False, title="on the questions of both", title_justify="left")
    for column in ("method", "less", "difference", "95 % interval", "p", "p (Holm)", "n"):
        table.add_column(column, justify="left" if column in ("method", "less") else "right")
    for one in against:
        d = one.difference
        span = f"{d.low:+.1f} to {d.high:+.1f}" if d.low is not None and d.high is not None else "–"
        mean = "–" if d.mean is None else f"{d.mean:+.1f}"
        row = (mean, span, _p(d.p), _p(one.p_holm), str(d.n))
        table.add_row(Text(plain(one.method)), Text(plain(one.baseline)), *row)
    screen.print(table)
    screen.print("p: McNemar's exact test; Holm's correction is over all rows.", style="dim")


def mean_and_error(estimate: Estimate) -> str:
    """Returns `mean ± standard error` of a percentage."""
    if estimate.mean is None:
        return "–"
    return f"{estimate.mean:.1f} ± {'–' if estimate.stderr is None else f'{estimate.stderr:.1f}'}"


def interval(estimate: Estimate) -> str:
    """Returns the ends of the 95 % interval."""
    return "–" if estimate.low is None or estimate.high is None else f"{estimate.low:.1f}-{estimate.high:.1f}"


def _mean(estimate: Estimate) -> str:
    return "–" if estimate.mean is None else f"{estimate.mean:.1f}"


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"
