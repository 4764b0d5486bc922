"""The studies on exam questions as tables, charts and documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from polyclinic.evaluations.exams.medagents_study import SETS, MedAgentsResult, document_of, missing_sets
from polyclinic.evaluations.exams.studies import Curve, Wrong
from polyclinic.evaluations.exams.tables import MEASURES, exam_document, exam_output, exam_rows, show_exam
from polyclinic.judging.error_categories import Categories, Categorised, ErrorCategory
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.results.output import Output
from polyclinic.statistics.uncertainty import Estimate, share
from polyclinic.terminal.figures import NOTHING, ShownFigure, low_to_high, number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import mean_and_error, table

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


_ROWS = {
    "few_shot": "few-shot",
    "few_shot_chain_of_thought": "few-shot CoT",
    "few_shot_self_consistency": "few-shot CoT + SC",
    "zero_shot": "zero-shot",
    "chain_of_thought": "zero-shot CoT",
    "self_consistency": "zero-shot CoT + SC",
    "medagents": "MedAgents",
}
"""What Table 2 calls the methods."""

_STAGES = (
    "direct prompting",
    "chain of thought",
    "MedAgents: analyses",
    "MedAgents: + summary",
    "MedAgents: + consultation",
)


def medagents_output(
    result: MedAgentsResult, errors: Mapping[str, Categories], *, title: str, about: Mapping[str, Any], seed: int = 0
) -> Output:
    """Returns what a user gets: the tables, a document of them, and every outcome in a file for each method and set."""
    document = document_of(result, about=about) | {"figure_5": {name: _sorted(one) for name, one in errors.items()}}

    def show(screen: Console) -> None:
        screen.print(plain(title), style="bold")
        _show_table_2(screen, result)
        _show_table_3(screen, result)
        _show_experts(screen, result)
        _show_errors(screen, errors)
        _show_cost(screen, result)

    names = {_file(dataset, one.name): one for dataset, every in result.asked.items() for one in every}
    files = {f"{name}.jsonl": _lines(one.answered) for name, one in names.items()}
    rows = [
        row
        for dataset, every in result.asked.items()
        for one in every
        for row in exam_rows(one, f"{_file(dataset, one.name)}.jsonl", dataset=dataset, seed=seed)
    ]
    return Output(
        document=document,
        show=show,
        files=files,
        written="Outcomes and summary: {}",
        plays="questions",
        rows=[msgspec.structs.replace(row, model=row.model or str(about.get("model", ""))) for row in rows],
        measures=MEASURES,
    )


def _file(dataset: str, method: str) -> str:
    return re.sub(r"[^\w.-]+", "-", f"{dataset}-{method}").strip(".-")


def _lines(answered: tuple[Any, ...]) -> Iterator[str]:
    return (msgspec.json.encode(one, order="deterministic").decode() + "\n" for one in answered)


def _sorted(found: Categories) -> dict[str, Any]:
    """Returns shares of the categories, and the first answer of each (Figure 4)."""
    n = sum(found.counts.values())
    first = {str(one.category): one.question for one in reversed(found.answers) if one.category is not None}
    return {
        str(kind): {"n": count, **dict(zip(("share", "low", "high"), share(count, n), strict=True)), "example": example}
        for kind, count in found.counts.items()
        for example in [first.get(str(kind))]
    }


def _of(average: str, sets: int) -> str:
    parts = average.parts if isinstance(average, ShownFigure) else {}
    return ShownFigure(f"{average} (of {sets})", {**parts, "sets": sets})


def _show_table_2(screen: Console, result: MedAgentsResult) -> None:
    if not result.table_2:
        return
    sets = list(dict.fromkeys(name for row in result.table_2 for name in row.sets))
    whole = all(not missing_sets(row) for row in result.table_2)
    shown = table(
        "main results, right % (Table 2)", ("method", *sets, f"average of {len(SETS)}" if whole else "average")
    )
    for row in result.table_2:
        cells = [NOTHING if name not in row.sets else mean_and_error(row.sets[name], ".1f") for name in sets]
        cells.append(mean_and_error(row.average, ".1f"))
        shown.add_row(_ROWS[row.method], *cells[:-1], cells[-1] if whole else _of(cells[-1], row.average.n))
    screen.print(shown)
    if not whole:
        missing = ", ".join(dict.fromkeys(name for row in result.table_2 for name in missing_sets(row)))
        told = f"No average of the paper's: that is of {len(SETS)} sets, and without {missing} it is of fewer."
        screen.print(told, style="yellow", soft_wrap=True)
    screen.print()


def _show_table_3(screen: Console, result: MedAgentsResult) -> None:
    if not result.table_3:
        return
    first = result.table_3[0].accuracy.mean
    shown = table("what each stage brings (Table 3)", ("method", "right %", "gain"))
    for stage, one in zip(_STAGES, result.table_3, strict=False):
        mean = one.accuracy.mean
        gain = None if mean is None or first is None else mean - first
        shown.add_row(stage, mean_and_error(one.accuracy, ".1f"), number(gain, "+.1f"))
    screen.print(shown, "")


def _show_experts(screen: Console, result: MedAgentsResult) -> None:
    for dataset, curves in result.figure_3.items():
        for one in curves:
            of, other = ("question", "options") if one.varied == "question_experts" else ("options", "question")
            screen.print(f"{dataset}: experts on the {of}, {one.held} on the {other} (Figure 3)", style="bold")
            screen.print(chart([(str(count), found.accuracy) for count, found in one.numbers]), "")
    if result.table_4:
        shown = table("best numbers of experts (Table 4)", ("data set", "on the question", "on the options"))
        for best in result.table_4:
            shown.add_row(best.dataset, str(best.question), str(best.options))
        screen.print(shown, "")


def _show_errors(screen: Console, errors: Mapping[str, Categories]) -> None:
    for dataset, found in errors.items():
        shown = table(f"{dataset}: why answers are wrong (Figure 5)", ("category", "%", "n", "such as (Figure 4)"))
        for kind, row in _sorted(found).items():
            shown.add_row(Text(kind), number(row["share"], ".1f"), str(row["n"]), row["example"] or "")
        screen.print(shown, "")


def _show_cost(screen: Console, result: MedAgentsResult) -> None:
    if not result.cost:
        return
    columns = ("method", "cost of 100 questions", "s a question", "calls", "tokens")
    shown = table("what it took (§4.1)", columns)
    for one in result.cost:
        cells = (
            number(one.per_hundred, ".2f"),
            number(one.seconds, ".2f"),
            number(one.calls, ".1f"),
            number(one.tokens, ",.0f"),
        )
        shown.add_row(_ROWS[one.method], *cells)
    screen.print(shown)
    if all(one.per_hundred is None for one in result.cost):
        screen.print("Cost needs prices: models.price, or price in models.model-file.", style="dim")
