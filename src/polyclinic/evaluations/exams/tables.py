"""What methods made of an exam, as tables, as a document, and as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from polyclinic.evaluations.exams.errors import CATEGORY_MEASURES, categories_of, outcome_name
from polyclinic.evaluations.exams.evaluation import Against, Answered, MethodResult
from polyclinic.evaluations.exams.runs import ExamResult
from polyclinic.methods.table import ChosenMethod
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.results.output import Output
from polyclinic.terminal.figures import number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import (
    DETECTABLE,
    chart,
    difference_cells,
    few_line,
    interval,
    mean_and_error,
    table,
    tokens,
)

MEASURES = (ItemMeasure(name="right", share=True),)


def exam_output(
    document: Mapping[str, Any],
    result: ExamResult,
    show: Callable[[Console], None],
    *,
    dataset: str = "",
    seed: int = 0,
) -> Output:
    """Returns what a user gets: document, tables, and a file of outcomes, every call in them, for each method."""
    methods, sorted_ones = result.methods, result.categories
    names = {outcome_name(one.name): one for one in methods}
    kinds = {} if sorted_ones is None else categories_of(sorted_ones)
    failed = [one for of in methods for one in of.answered if one.failed]
    return Output(
        document=document,
        show=show,
        files={f"{name}.jsonl": _lines(one.answered) for name, one in names.items()},
        written="",
        failed=len(failed),
        n=sum(len(one.answered) for one in methods),
        plays="questions",
        failures=f"the first, {failed[0].id}: {failed[0].outcome.problem}" if failed else "",
        rows=[
            msgspec.structs.replace(row, values=row.values | kinds.get((row.item, name), {}))
            for name, one in names.items()
            for row in exam_rows(one, f"{name}.jsonl", dataset=dataset, seed=seed)
        ],
        measures=MEASURES if sorted_ones is None else (*MEASURES, *CATEGORY_MEASURES),
    )


def exam_rows(result: MethodResult, file: str = "", *, dataset: str = "", seed: int = 0) -> Iterator[ItemRow]:
    """Yields what a method made of each question; a failed one has no value."""
    for line, one in enumerate(result.answered, 1):
        usage = one.outcome.usage
        yield ItemRow(
            item=one.id,
            values={} if one.failed else {"right": 100.0 * one.right},
            set=f"{dataset} {one.subject}".strip() if dataset == "mmlu" else dataset,
            model=result.model,
            method=result.method,
            seed=seed,
            end=str(one.outcome.end),
            calls=one.outcome.calls,
            round_trips=one.outcome.round_trips,
            tokens=usage.tokens_in + usage.tokens_out,
            cost=usage.cost,
            seconds=round(one.seconds, 3),
            at=f"{file}:{line}" if file else "",
        )


def _lines(answered: Sequence[Answered]) -> Iterator[str]:
    # Sets of keys have no order of their own.
    return (msgspec.json.encode(one, order="deterministic").decode() + "\n" for one in answered)


def exam_document(
    results: Sequence[MethodResult], against: Sequence[Against], *, model: str, about: dict[str, Any]
) -> dict[str, Any]:
    """Returns what `--json` prints of an exam, and `about` the run (dataset, sample, seed)."""
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
                "questions": [_question(answered) for answered in one.answered],
            }
            for one in results
        ],
        "comparisons": against,
    }


def _question(answered: Answered) -> dict[str, Any]:
    outcome = answered.outcome
    return {
        "id": answered.id,
        "answers": sorted(outcome.answers),
        "key": answered.key,
        "right": answered.right,
        "end": str(outcome.end),
        "calls": outcome.calls,
        "round_trips": outcome.round_trips,
        **({"problem": outcome.problem} if outcome.problem else {}),
        **({"sources": [one.source for one in answered.references]} if answered.references else {}),
    }


def show_exam(
    screen: Console,
    title: str,
    results: Sequence[MethodResult],
    against: Sequence[Against],
    chosen: Sequence[ChosenMethod] = (),
) -> None:
    """Prints accuracy beside what it cost, sweeps, the shuffled options, the subjects, and the comparisons."""
    money = any(one.cost.money is not None for one in results)
    broken = any(one.broken for one in results)
    columns = ["method", "right %", "95 % interval", "readable %", "n", "unread.", "failed"]
    columns += [*(["broken"] if broken else []), "calls", "trips", "tokens", *(["cost"] if money else []), "s"]
    shown = table(title, columns)
    for one in results:
        cost = one.cost
        cells = [mean_and_error(one.accuracy, ".1f"), interval(one.accuracy, ".1f"), number(one.readable.mean, ".1f")]
        cells += [str(count) for count in (one.accuracy.n, one.unreadable, one.failed)]
        cells += [str(len(one.broken))] if broken else []
        cells += [
            number(cost.calls, ".1f"),
            number(cost.round_trips, ".1f"),
            tokens(cost.tokens_in + cost.tokens_out, cost.calls),
        ]
        cells += [number(cost.money, ".5f")] if money else []
        shown.add_row(Text(plain(one.name)), *cells, number(cost.seconds, ".2f"))
    screen.print(shown)
    if few := few_line([one.accuracy.n for one in results], "question"):
        screen.print(few, style="dim")
    screen.print(
        "right: of all questions that the endpoint answered, unreadable ones counted as wrong; readable: of those that "
        "could be read.\nn: questions answered; calls, trips (calls in a row), tokens, seconds: a question.",
        style="dim",
    )
    if broken:
        screen.print("broken: the method itself made a mistake, which is counted as wrong.", style="dim")
    screen.print()
    _show_sweeps(screen, results, chosen)
    _show_stability(screen, results)
    _show_subjects(screen, results)
    _show_against(screen, against)


def _show_sweeps(screen: Console, results: Sequence[MethodResult], chosen: Sequence[ChosenMethod]) -> None:
    """Prints a chart of each setting that takes three or more numbers while the others are the same."""
    sweeps: dict[tuple[str, ...], list[tuple[float, ChosenMethod]]] = {}
    for one in chosen:
        for key, value in one.settings.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                held = sorted(f"{other}={set_to}" for other, set_to in one.settings.items() if other != key)
                sweeps.setdefault((key, one.name, *held), []).append((value, one))
    for model in dict.fromkeys(one.model for one in results):
        accuracies = {one.method: one.accuracy for one in results if one.model == model}
        for (key, name, *held), points in sweeps.items():
            there = sorted((value, one.label) for value, one in points if one.label in accuracies)
            if len(there) > 2:
                rows = [(f"{value:g}", accuracies[label]) for value, label in there]
                heading = f"right % by {key}: {' '.join((name, *held))}" + (f", {model}" if model else "")
                screen.print(plain(heading), style="bold", soft_wrap=True)
                screen.print(chart(rows), "")


def _show_stability(screen: Console, results: Sequence[MethodResult]) -> None:
    shown = table("options shuffled", ("method", "answer stays %", "n", "right % shuffled", "right %"))
    for one in results:
        if one.stability is not None:
            stays, accuracies = one.stability.stays, (one.stability.accuracy, one.accuracy)
            right = (mean_and_error(accuracy, ".1f") for accuracy in accuracies)
            shown.add_row(Text(plain(one.name)), mean_and_error(stays, ".1f"), str(stays.n), *right)
    if shown.row_count:
        screen.print(shown, "")


def _show_subjects(screen: Console, results: Sequence[MethodResult]) -> None:
    shown = table("right % by subject", ("subject", "n", *(one.name for one in results)))
    for subject in dict.fromkeys(subject for one in results for subject in one.by_subject):
        those = [one.by_subject[subject] for one in results if subject in one.by_subject]
        counts = sorted({one.n for one in those})
        # What failed of one method another may have answered.
        n = str(counts[0]) if len(counts) == 1 else f"{counts[0]}-{counts[-1]}"
        cells = (mean_and_error(one.by_subject[subject], ".1f") if subject in one.by_subject else "" for one in results)
        shown.add_row(Text(plain(subject or "(none)")), n, *cells)
    if shown.row_count:
        screen.print(shown, "")


def _show_against(screen: Console, against: Sequence[Against]) -> None:
    columns = ("method", "less", "difference", "95 % interval", "p", "p (Holm)", "n", "detectable")
    shown = table("on the questions of both", columns, left=2)
    for one in against:
        cells = difference_cells(one.difference, one.p_holm, "+.1f")
        shown.add_row(Text(plain(one.method)), Text(plain(one.baseline)), *cells)
    if against:
        screen.print(shown)
        screen.print(f"p: McNemar's exact test; Holm's correction is over all rows; {DETECTABLE}", style="dim")
