"""Results of methods on records, as tables, as a document, and as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from polyclinic.errors import PlayFailure
from polyclinic.evaluations.measuring import show_compared
from polyclinic.evaluations.people import show_figures
from polyclinic.evaluations.tor.evaluation import RecordPlay, RecordScores, Results
from polyclinic.evaluations.tor.inpatients import Inpatient
from polyclinic.evaluations.tor.meetings import RecordedMeeting
from polyclinic.evaluations.tor.withheld import show_withheld, shown_by, withheld_document
from polyclinic.judging.people import PeopleFigures
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.methods.table import ChosenMethod
from polyclinic.methods.tree_of_reasoning import MeetingOutcome
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.run.output import Output, json_line, safe_name
from polyclinic.statistics.comparison import Against, compare_values, of_means
from polyclinic.statistics.uncertainty import Estimate
from polyclinic.terminal.figures import number, part_of
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import chart, few_line, interval, table_of

MEASURES = [
    *(ItemMeasure(name=f"{name}_of_a_record", share=False) for name in ("f1", "precision", "recall")),
    *(ItemMeasure(name=name, percent=False, share=False) for name in ("relevance", "completeness")),
]
"""The means over records; precision, recall and F1 of the table are of all options of all records together."""

ESTIMATES = ("precision", "recall", "f1", "f1_of_a_record", "unsupported", "relevance", "completeness")
"""What has an interval, of the scores of a method."""


def tor_rows(result: RecordScores, model: str, file: str = "", *, seed: int) -> Iterator[ItemRow]:
    """Yields what a method made of each record, written line by line in the file, if any; a failed one has no value."""
    for line, one in enumerate(result.chosen, 1):
        usage = one.outcome.usage
        yield ItemRow(
            item=one.id,
            values={} if one.failed else _values(one),
            model=model,
            method=result.name,
            seed=seed,
            end=str(one.outcome.end),
            calls=one.outcome.calls,
            round_trips=one.outcome.round_trips,
            tokens=usage.tokens_in + usage.tokens_out,
            cost=usage.cost,
            at=f"{file}:{line}" if file else "",
        )


def _values(one: RecordPlay) -> dict[str, float]:
    right = len(one.outcome.answers & one.key)
    values: dict[str, float] = {"f1_of_a_record": 100.0 * one.f1}
    values["recall_of_a_record"] = 100.0 * right / max(len(one.key), 1)
    if one.outcome.answers:
        values["precision_of_a_record"] = 100.0 * right / len(one.outcome.answers)
    for name in ("relevance", "completeness"):
        if one.rating is not None and (mark := getattr(one.rating, name)) is not None:
            values[name] = float(mark)
    return values


def compare_on_records(results: Iterable[RecordScores], *, seed: int = 0) -> tuple[Against, ...]:
    """Compares the F1 of a record of every two methods, the later less the earlier; Holm's correction is over all."""
    results = list(results)
    values = {one.name: {play.id: {"": 100.0 * play.f1} for play in one.chosen if not play.failed} for one in results}
    pairs = [(second.name, first.name) for first, second in combinations(results, 2)]
    return compare_values(Against, values, [""], pairs, lambda _: of_means(seed))


def _estimates(result: RecordScores) -> dict[str, Estimate]:
    return {name: one for name in ESTIMATES if (one := getattr(result, name)) is not None}


def method_document(result: RecordScores) -> dict[str, Any]:
    """Returns what `--json` prints of a method: shares in percent, the rest a record, marks from 0 to 5.

    The number of broken records is there if the method is the user's, the number of judged ones if there was a judge.
    """
    names = ["calls", "round_trips", "unusable", "n", "failed", "unreadable", *(["broken"] if result.broken else [])]
    names += ["judged", "unjudged"] if result.judged or result.unjudged else []
    means = {name: one.mean for name, one in _estimates(result).items()}
    return dict.fromkeys(ESTIMATES) | means | {name: getattr(result, name) for name in names}


def records_document(
    results: Results,
    about: Mapping[str, Any] | None = None,
    against: Mapping[str, Sequence[Against]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Returns the document of one model, or of several under `models`, with its comparisons and the run."""
    documents = []
    for model, methods in results.items():
        one: dict[str, Any] = {"model": model, "methods": {}, "intervals": {}}
        for name, result in methods.items():
            one["methods"][name] = method_document(result)
            one["intervals"][name] = {key: [mean.low, mean.high] for key, mean in _estimates(result).items()}
        if against.get(model):
            one["comparisons"] = against[model]
        documents.append(one)
    run = {} if about is None else {"run": dict(about)}
    return {**(documents[0] if len(documents) == 1 else {"models": documents}), **run}


def outcome_names(results: Mapping[str, Iterable[str]]) -> dict[tuple[str, str], str]:
    """Returns what the outcomes of each model's methods are called, as files are and in people's verdicts."""
    several = len(results) > 1
    return {
        (model, name): safe_name(f"{model} {name}" if several else name)
        for model, methods in results.items()
        for name in methods
    }


def records_output(
    results: Results,
    patients: Sequence[Inpatient],
    title: str,
    about: Mapping[str, Any] | None = None,
    *,
    chosen: Sequence[ChosenMethod] = (),
    people: Mapping[str, PeopleFigures] = MappingProxyType({}),
    seed: int = 0,
) -> Output:
    """Returns the output: document, tables, and of each method its outcomes and, if it met, its meetings."""
    called = outcome_names(results)
    against = {model: compare_on_records(methods.values(), seed=seed) for model, methods in results.items()}
    every = [(model, name, one) for model, methods in results.items() for name, one in methods.items()]
    knowledge = read_knowledge()
    withheld = {
        model: found
        for model, methods in results.items()
        if (found := shown_by(methods, chosen, patients, knowledge, seed=seed))
    }

    def show(screen: Console) -> None:
        for model, methods in results.items():
            show_scores(screen, f"{title}, {model}", methods.values())
            if against[model]:
                pairs = {"method": "first", "less": "second"}
                show_compared(screen, "F1 a record, on the records of both", against[model], pairs, form="+.1f")
                screen.print()
            if model in withheld:
                show_withheld(screen, withheld[model])
        if len(results) > 1:  # the paper's Figure 4
            for name in dict.fromkeys(name for methods in results.values() for name in methods):
                screen.print(f"F1 of {plain(name)}", style="bold")
                rows = [(plain(model), methods[name].f1) for model, methods in results.items() if name in methods]
                screen.print(chart(rows))
                screen.print()
        show_figures(screen, people)

    files: dict[str, Iterable[str]] = {}
    cases = {patient.id: patient for patient in patients}
    for model, methods in results.items():
        for name, result in methods.items():
            safe = called[model, name]
            files[f"{safe}.jsonl"] = map(json_line, result.chosen)
            if any(isinstance(one.outcome, MeetingOutcome) for one in result.chosen):
                others = {other: one for other, one in methods.items() if other != name}
                files[f"{safe}.meetings.jsonl"] = _meetings(name, result, others, cases)
    return Output(
        document={
            **records_document(results, about, against),
            **({"withheld": {model: withheld_document(one) for model, one in withheld.items()}} if withheld else {}),
            **({"people": people} if people else {}),
        },
        show=show,
        files=files,
        failed=sum(one.failed for *_, one in every),
        n=sum(one.n + one.failed for *_, one in every),
        plays="records",
        failures=_failures(one for *_, one in every),
        written="Outcomes, meetings and summary: {0}. Next: polyclinic replay {0}/…meetings.jsonl"
        if any(name.endswith(".meetings.jsonl") for name in files)
        else "Outcomes and summary: {}",
        rows=[
            row for model, name, one in every for row in tor_rows(one, model, f"{called[model, name]}.jsonl", seed=seed)
        ],
        measures=MEASURES,
    )


def _meetings(
    name: str, result: RecordScores, others: Mapping[str, RecordScores], cases: Mapping[str, Inpatient]
) -> Iterator[str]:
    answers = {n: {one.id: one.outcome.answers for one in other.chosen} for n, other in others.items()}
    for one in result.chosen:
        if isinstance(one.outcome, MeetingOutcome):
            chose = {name: one.outcome.answers} | {n: by_id[one.id] for n, by_id in answers.items() if one.id in by_id}
            patient = cases[one.id]
            meeting = RecordedMeeting(
                id=one.id,
                record=patient.record,
                options=patient.question.options,
                key=patient.key,
                log=one.outcome.log,
                chose=chose,
            )
            yield json_line(meeting)


def show_scores(screen: Console, title: str, results: Iterable[RecordScores]) -> None:
    """Prints how methods did, the paper's columns first, and what the columns are."""
    every = list(results)
    columns: dict[str, Callable[[RecordScores], RenderableType]] = {
        "method": lambda one: Text(plain(one.name)),
        "P %": lambda one: number(one.precision.mean, ".2f"),
        "R %": lambda one: number(one.recall.mean, ".2f"),
        "F1 %": lambda one: number(one.f1.mean, ".2f"),
        "95 % interval": lambda one: interval(one.f1, ".1f"),
        "F1 a record": lambda one: number(one.f1_of_a_record.mean, ".1f"),
        "unsupp. %": lambda one: _mean(one.unsupported, ".1f"),
        "relev.": lambda one: _mean(one.relevance, ".2f"),
        "compl.": lambda one: _mean(one.completeness, ".2f"),
        "judged": lambda one: part_of(one.judged, one.judged + sum(one.unjudged.values())),
        "calls": lambda one: number(one.calls, ".1f"),
        "trips": lambda one: number(one.round_trips, ".1f"),
        "unusable": lambda one: number(one.unusable, ".1f"),
        "n": lambda one: str(one.n),
        "unread.": lambda one: str(one.unreadable),
        "broken": lambda one: str(one.broken),
        "failed": lambda one: str(one.failed),
    }
    unusable = any(one.unusable for one in every)
    empty = [
        *([] if any(one.judged or one.unjudged for one in every) else ["relev.", "compl.", "judged"]),
        *([] if unusable else ["unusable"]),
        *([] if any(one.broken for one in every) else ["broken"]),
    ]
    screen.print(table_of(title, every, {name: cell for name, cell in columns.items() if name not in empty}))
    if few := few_line([one.n for one in every], "record"):
        screen.print(few, style="dim")
    if unusable:
        screen.print("unusable: replies that could not be used, a record; a method may go on without.", style="dim")
    screen.print(_COLUMNS, style="dim")
    for one in every:
        if one.unjudged:
            failures = ", ".join(f"{n} {name}" for name, n in one.unjudged.items())
            total = one.judged + sum(one.unjudged.values())
            told = f"{one.name}: the judge gave marks for {one.judged} of {total} explanations; no marks: {failures}"
            screen.print(plain(told), style="yellow", soft_wrap=True)
    screen.print()


def _mean(estimate: Estimate | None, form: str) -> str:
    return number(None if estimate is None else estimate.mean, form)


_COLUMNS = """\
P, R, F1: over the options of all records; F1 a record: mean of each record's own (f1_of_a_record);
unsupp.: pieces of evidence, in all trees that were written, that the record does not bear; calls, trips
(calls in a row): a record; unread.: answered, and without an answer that can be read: in n, chooses nothing;
failed: no endpoint answered, outside of everything."""


def _failures(results: Iterable[RecordScores]) -> str:
    """Returns why records failed, by the kind of failure with how many those are, each with the first one's words."""
    failed = [one.outcome for result in results for one in result.chosen if one.failed]
    kinds: dict[str, list[str]] = {}
    for outcome in failed:
        raised = (call.error for call in outcome.trace if call.error and call.problem == outcome.problem)
        kinds.setdefault(next(raised, PlayFailure.__name__), []).append(outcome.problem)
    return "; ".join(f"{len(problems)} {kind} ({problems[0]})" for kind, problems in kinds.items())
