"""The studies on exam questions as tables, charts and documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from polyclinic.benchmarks.benchmark import Output
from polyclinic.benchmarks.exams.studies import Curve, Wrong
from polyclinic.benchmarks.exams.tables import exam_document, exam_output, show_exam
from polyclinic.judges.error_categories import Categories, Categorised, ErrorCategory
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.statistics.uncertainty import Estimate, share
from polyclinic.terminal.figures import low_to_high, number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import table

_WIDTH = 51  # columns of the chart's axis: one for every two percent, both ends included


def sweep_output(curves: Sequence[Curve], *, model: str, title: str, about: dict[str, Any]) -> Output:
    """Returns what a user gets of a sweep over the numbers of experts: each curve as a chart, and its table."""
    document = {
        **about,
        "model": model,
        "series": [
            {
                "varied": one.varied,
                "held": one.held,
                "numbers": [number for number, _ in one.numbers],
                **exam_document([result for _, result in one.numbers], one.against, model=model, about={}),
            }
            for one in curves
        ],
    }

    def show(screen: Console) -> None:
        for one in curves:
            of, other = ("question", "options") if one.varied == "question_experts" else ("options", "question")
            screen.print(f"experts on the {of}, {one.held} on the {other}", style="bold")
            screen.print(chart([(str(number), result.accuracy) for number, result in one.numbers]))
            show_exam(screen, title, [result for _, result in one.numbers], one.against)
            screen.print()

    # A pair of numbers that stands in both curves is one result.
    results = {result.name: result for one in curves for _, result in one.numbers}
    return exam_output(document, list(results.values()), show)


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
        lines.append(f"  {label:>{wide}} {number(estimate.mean, '5.1f'):>4} {''.join(axis)}".rstrip())
    quarter = _WIDTH // 4
    scale = "".join(f"{percent:<{quarter}}" for percent in (0, 25, 50, 75)) + "100 %"
    return "\n".join([*lines, f"  {'':>{wide}}       {scale}"])


def _column(percent: float) -> int:
    return round(percent / 100 * (_WIDTH - 1))


def errors_output(found: Categories, wrong: Wrong, *, judge: str | None) -> Output:
    """Returns what a user gets of why answers are wrong."""
    n = sum(found.counts.values())
    shares = {
        str(kind): dict(zip(("share", "low", "high"), share(count, n), strict=True))
        for kind, count in found.counts.items()
    }
    document = {
        "study": "errors",
        "judge": judge,
        "version": found.version,
        "prompts": found.prompts,
        "wrong": wrong.wrong,
        "unanswered": wrong.unanswered,
        "failed_questions": wrong.failed,
        "looked_at": len(wrong.answers),
        "shares": shares,
        "counts": found.counts,
        "sources": found.sources,
        "unreadable": found.unreadable,
        "failed": found.failed,
        "unasked": found.unasked,
        "unused": found.unused,
        "answers": found.answers,
    }

    def show(screen: Console) -> None:
        shown = table("why answers are wrong", ("category", "%", "95 % interval", "n", "by the judge", "by people"))
        for kind, count in found.counts.items():
            of = shares[str(kind)]
            ends = low_to_high(of["low"], of["high"], ".1f")
            by = (str(found.sources.get(source, {}).get(kind, 0)) for source in ("judge", "human"))
            shown.add_row(Text(kind), number(of["share"], ".1f"), ends, str(count), *by)
        screen.print(shown)
        for line in _told(found, wrong, judge):
            screen.print(line, style="dim")

    return Output(
        document=document,
        show=show,
        written="",
        rows=[_categorised(one, judge or "people") for one in found.answers],
        measures=[ItemMeasure(name=str(kind), share=True) for kind in ErrorCategory],
    )


def _categorised(one: Categorised, by: str) -> ItemRow:
    """Returns a wrong answer for results that last: which of the categories it is of, none where nobody could say."""
    values = {} if one.category is None else {str(kind): 100.0 * (one.category is kind) for kind in ErrorCategory}
    return ItemRow(item=one.question, values=values, set="wrong answers", model=by, method=one.method, end=one.error)


def _told(found: Categories, wrong: Wrong, judge: str | None) -> list[str]:
    """Returns who named the categories, and what no category was found for."""
    lines = [f"{wrong.wrong} wrong answers, {len(wrong.answers)} looked at, {sum(found.counts.values())} sorted."]
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
    return lines
