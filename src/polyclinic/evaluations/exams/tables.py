"""Results of an exam and the categories of wrong answers, as tables, as a document, and as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console, RenderableType
from rich.text import Text

from polyclinic.evaluations.exams.evaluation import Answered, MethodResult
from polyclinic.evaluations.measuring import show_compared
from polyclinic.judging.error_categories import Categories, ErrorCategory, MissedQuestion
from polyclinic.methods.table import ChosenMethod
from polyclinic.questions.exam import ExamQuestion
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.run.output import Output, json_line, safe_name
from polyclinic.seeds import derive
from polyclinic.statistics.comparison import Against
from polyclinic.statistics.uncertainty import share
from polyclinic.terminal.figures import low_to_high, money, number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import chart, few_line, interval, mean_and_error, table, table_of, tokens


class ExamResult(NamedTuple):
    """The results of every model's methods, and the categories of the wrong answers if they were sorted."""

    methods: list[MethodResult]
    categories: Categories | None = None


def wrong_answers(
    results: Iterable[MethodResult], questions: Sequence[ExamQuestion], *, most: int | None = None, seed: int = 0
) -> list[MissedQuestion]:
    """Returns the wrong answers of methods; of each at most so many, drawn by the seed (the paper looks at 40).

    A question without a readable answer has no reasoning to sort.
    """
    by_id = {question.question.id: question for question in questions}
    found: list[MissedQuestion] = []
    for result in results:
        name = safe_name(result.name)
        missed = [
            MissedQuestion(question=by_id[one.id], method=name, outcome=one.outcome)
            for one in result.answered
            if one.readable and not one.right
        ]
        if most is not None and most < len(missed):
            drawn = derive(seed, "wrong answers", name).sample(range(len(missed)), most)
            missed = [missed[place] for place in sorted(drawn)]
        found += missed
    return found


def exam_output(
    result: ExamResult,
    against: Sequence[Against],
    *,
    title: str,
    about: Mapping[str, Any],
    chosen: Sequence[ChosenMethod],
    judge: str | None,
) -> Output:
    """Returns the output: document, which begins with `about`, tables, and a file of each method's outcomes."""
    methods, categories = result.methods, result.categories
    failed = [one for of in methods for one in of.answered if one.failed]
    measures = [ItemMeasure(name="right", share=True)]
    documents = [
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
        for one in methods
    ]
    document = {**about, "methods": documents, "comparisons": against}
    if categories is not None:
        document["errors"] = errors_document(categories, judge)
        measures += [ItemMeasure(name=str(kind), share=True) for kind in ErrorCategory]

    def show(screen: Console) -> None:
        if not methods:
            screen.print("nothing")
            return
        show_exam(screen, title, methods, against, chosen)
        if categories is not None:
            show_errors(screen, categories, judge)

    return Output(
        document=document,
        show=show,
        files={f"{safe_name(one.name)}.jsonl": map(json_line, one.answered) for one in methods},
        written="",
        failed=len(failed),
        n=sum(len(one.answered) for one in methods),
        plays="questions",
        failures=f"the first, {failed[0].id}: {failed[0].outcome.problem}" if failed else "",
        rows=[*exam_rows(result, dataset=about["dataset"], seed=about["seed"])],
        measures=measures,
    )


def exam_rows(result: ExamResult, *, dataset: str, seed: int) -> Iterator[ItemRow]:
    """Yields what each method made of each question; a failed one has no value."""
    kinds = {} if result.categories is None else {(one.question, one.method): one for one in result.categories.answers}
    for method in result.methods:
        name = safe_name(method.name)
        for line, one in enumerate(method.answered, 1):
            usage = one.outcome.usage
            values = {} if one.failed else {"right": 100.0 * one.right}
            kind = kinds.get((one.id, name))
            if kind is not None and kind.category is not None:
                values |= {str(other): 100.0 * (other is kind.category) for other in ErrorCategory}
            yield ItemRow(
                item=one.id,
                values=values,
                set=f"{dataset} {one.subject}".strip() if dataset == "mmlu" else dataset,
                model=method.model,
                method=method.method,
                seed=seed,
                end=str(one.outcome.end),
                calls=one.outcome.calls,
                round_trips=one.outcome.round_trips,
                tokens=usage.tokens_in + usage.tokens_out,
                cost=usage.cost,
                seconds=round(one.seconds, 3),
                at=f"{name}.jsonl:{line}",
            )


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
    """Prints accuracy and costs, sweeps, the shuffled options, the subjects, and the comparisons."""
    broken = any(one.broken for one in results)
    columns: dict[str, Callable[[MethodResult], RenderableType]] = {
        "method": lambda one: Text(plain(one.name)),
        "right %": lambda one: mean_and_error(one.accuracy, ".1f"),
        "95 % interval": lambda one: interval(one.accuracy, ".1f"),
        "readable %": lambda one: number(one.readable.mean, ".1f"),
        "n": lambda one: str(one.accuracy.n),
        "unread.": lambda one: str(one.unreadable),
        "failed": lambda one: str(one.failed),
        "broken": lambda one: str(len(one.broken)),
        "calls": lambda one: number(one.cost.calls, ".1f"),
        "trips": lambda one: number(one.cost.round_trips, ".1f"),
        "tokens": lambda one: tokens(one.cost.tokens_in + one.cost.tokens_out, one.cost.calls),
        "cost": lambda one: money(one.cost.money),
        "s": lambda one: number(one.cost.seconds, ".2f"),
    }
    if not broken:
        del columns["broken"]
    if all(one.cost.money is None for one in results):
        del columns["cost"]
    screen.print(table_of(title, results, columns))
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
    stable = [(one, one.stability) for one in results if one.stability is not None]
    if stable:
        shuffled: dict[str, Callable[..., RenderableType]] = {
            "method": lambda pair: Text(plain(pair[0].name)),
            "answer stays %": lambda pair: mean_and_error(pair[1].stays, ".1f"),
            "n": lambda pair: str(pair[1].stays.n),
            "right % shuffled": lambda pair: mean_and_error(pair[1].accuracy, ".1f"),
            "right %": lambda pair: mean_and_error(pair[0].accuracy, ".1f"),
        }
        screen.print(table_of("options shuffled", stable, shuffled), "")
    _show_subjects(screen, results)
    pairs = {"method": "first", "less": "second"}
    show_compared(screen, "on the questions of both", against, pairs, test="McNemar's exact test", form="+.1f")


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


def errors_document(found: Categories, judge: str | None) -> dict[str, Any]:
    """Returns what `--json` prints of the categories (MedAgents, Figure 5); the examples are the first of each."""
    n = sum(found.counts.values())
    first = {str(one.category): one.question for one in reversed(found.answers) if one.category is not None}
    shares = {
        str(kind): dict(zip(("share", "low", "high"), share(count, n), strict=True))
        for kind, count in found.counts.items()
    }
    named = ("version", "prompts", "counts", "sources", "unreadable", "failed", "unasked", "unused", "answers")
    fields = {name: getattr(found, name) for name in named}
    return {"judge": judge, "looked_at": len(found.answers), "shares": shares, "examples": first, **fields}


def show_errors(screen: Console, found: Categories, judge: str | None) -> None:
    """Prints how many of the wrong answers are of each kind, by the judge and by people."""
    n = sum(found.counts.values())
    columns: dict[str, Callable[[ErrorCategory], RenderableType]] = {
        "category": Text,
        "%": lambda kind: number(share(found.counts[kind], n)[0], ".1f"),
        "95 % interval": lambda kind: low_to_high(*share(found.counts[kind], n)[1:], ".1f"),
        "n": lambda kind: str(found.counts[kind]),
        "by the judge": lambda kind: str(found.sources.get("judge", {}).get(kind, 0)),
        "by people": lambda kind: str(found.sources.get("human", {}).get(kind, 0)),
    }
    screen.print(table_of("why answers are wrong", found.counts, columns))
    screen.print(f"{len(found.answers)} wrong answers looked at, {n} sorted.", style="dim")
    if judge is None:
        told = f"Without a judge only people's verdicts count; {found.unasked} wrong answers are not sorted."
    else:
        unreadable, failed = sum(found.unreadable.values()), sum(found.failed.values())
        told = f"Judge {plain(judge)}, prompts of version {found.version} ({found.prompts}): "
        told += f"{unreadable} unreadable, {failed} failed."
    screen.print(told, style="dim")
    if found.unused:
        first = ", ".join(plain(f"{question} of {method}") for question, method in found.unused[:5])
        told = f"{len(found.unused)} of people's verdicts are on no answer looked at: {first}"
        screen.print(told, style="dim")
