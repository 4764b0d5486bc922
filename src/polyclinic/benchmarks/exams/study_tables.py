"""The studies on exam questions as tables, charts and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyclinic.benchmarks.exams.tables import exam_document, show_exam

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from polyclinic.benchmarks.exams.studies import Series, Wrong
    from polyclinic.judges.error_categories import Categories
    from polyclinic.statistics.uncertainty import Estimate

_WIDTH = 51  # columns of the chart's axis: one for every two percent, both ends included


def sweep_document(series: Sequence[Series], *, model: str, about: dict[str, Any]) -> dict[str, Any]:
    """Returns what `--json` prints of a sweep over the numbers of experts."""
    return {
        **about,
        "model": model,
        "series": [
            {
                "varied": one.varied,
                "held": one.held,
                "numbers": [number for number, _ in one.numbers],
                **exam_document([result for _, result in one.numbers], one.against, model=model, about={}),
            }
            for one in series
        ],
    }


def show_sweep(screen: Console, title: str, series: Sequence[Series], *, money: bool) -> None:
    """Prints each series as a chart, and its table."""
    for one in series:
        of, other = ("question", "options") if one.varied == "question_experts" else ("options", "question")
        screen.print(f"experts on the {of}, {one.held} on the {other}", style="bold")
        screen.print(chart([(str(number), result.accuracy) for number, result in one.numbers]))
        results = [result for _, result in one.numbers]
        show_exam(screen, title, results, one.against, money=money)
        screen.print()


def chart(rows: Sequence[tuple[str, Estimate]]) -> str:
    """Returns percentages as a chart: a row each, the mean as a point between the ends of its interval."""
    wide = max((len(label) for label, _ in rows), default=0)
    lines = []
    for label, estimate in rows:
        axis = [" "] * _WIDTH
        if estimate.low is not None and estimate.high is not None:
            low, high = _column(estimate.low), _column(estimate.high)
            axis[low : high + 1] = "├" + "─" * (high - low - 1) + "┤" if high > low else "│"
        if estimate.mean is not None:
            axis[_column(estimate.mean)] = "●"
        mean = "   –" if estimate.mean is None else f"{estimate.mean:5.1f}"
        lines.append(f"  {label:>{wide}} {mean} {''.join(axis)}".rstrip())
    quarter = _WIDTH // 4
    scale = "".join(f"{percent:<{quarter}}" for percent in (0, 25, 50, 75)) + "100 %"
    return "\n".join([*lines, f"  {'':>{wide}}       {scale}"])


def _column(percent: float) -> int:
    return round(percent / 100 * (_WIDTH - 1))


def errors_document(found: Categories, wrong: Wrong, *, judge: str | None) -> dict[str, Any]:
    """Returns what `--json` prints of why answers are wrong."""
    return {
        "study": "errors",
        "judge": judge,
        "version": found.version,
        "prompts": found.prompts,
        "wrong": wrong.wrong,
        "unanswered": wrong.unanswered,
        "failed_questions": wrong.failed,
        "looked_at": len(wrong.answers),
        "shares": {kind: dict(zip(("share", "low", "high"), share, strict=True)) for kind, share in _shares(found)},
        "counts": found.counts,
        "sources": found.sources,
        "unreadable": found.unreadable,
        "failed": found.failed,
        "unasked": found.unasked,
        "unused": found.unused,
        "answers": found.answers,
    }


def _shares(found: Categories) -> list[tuple[str, tuple[float | None, float | None, float | None]]]:
    from polyclinic.statistics.uncertainty import share

    n = sum(found.counts.values())
    return [(str(kind), share(count, n)) for kind, count in found.counts.items()]


def show_errors(screen: Console, found: Categories, wrong: Wrong, *, judge: str | None) -> None:
    """Prints the categories with their shares, who named them, and what no category was found for."""
    from rich.table import Table
    from rich.text import Text

    from polyclinic.terminal.screen import plain

    table = Table(show_edge=False, pad_edge=False, title="why answers are wrong", title_justify="left")
    for column in ("category", "%", "95 % interval", "n", "by the judge", "by people"):
        table.add_column(column, justify="left" if column == "category" else "right")
    for (kind, count), (_, (percent, low, high)) in zip(found.counts.items(), _shares(found), strict=True):
        span = "–" if low is None or high is None else f"{low:.1f}-{high:.1f}"
        by = [str(found.sources.get(source, {}).get(kind, 0)) for source in ("judge", "human")]
        table.add_row(Text(kind), "–" if percent is None else f"{percent:.1f}", span, str(count), *by)
    screen.print(table)
    looked = len(wrong.answers)
    lines = [f"{wrong.wrong} wrong answers, {looked} looked at, {sum(found.counts.values())} sorted."]
    if wrong.unanswered or wrong.failed:
        lines.append(
            f"Not among them: {wrong.unanswered} questions without an answer that can be read, {wrong.failed} that "
            "no endpoint answered."
        )
    if judge is None:
        lines.append(f"No judge: only what people say counts; {found.unasked} wrong answers are not sorted.")
    else:
        unreadable, failed = sum(found.unreadable.values()), sum(found.failed.values())
        lines.append(
            f"Judge {plain(judge)}, prompts of version {found.version} ({found.prompts}): {unreadable} unreadable, "
            f"{failed} failed."
        )
    if found.unused:
        shown = ", ".join(plain(f"{question} of {method}") for question, method in found.unused[:5])
        lines.append(f"{len(found.unused)} words of people are on no answer looked at: {shown}")
    for line in lines:
        screen.print(line, style="dim")
