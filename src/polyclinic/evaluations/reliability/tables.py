"""What came of the study of reliability, as tables, as a document, and as files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from rich.console import Console

from polyclinic.evaluations.reliability.attack import Attacked
from polyclinic.evaluations.reliability.evaluation import Reliability, ReliabilityResult
from polyclinic.events import End
from polyclinic.results.folder import ItemMeasure, ItemRow, mean_of_parts
from polyclinic.results.output import Output, trace_places
from polyclinic.statistics.uncertainty import Estimate
from polyclinic.terminal.figures import NOTHING, ShownFigure, number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import table
from polyclinic.visits.visit import Visit

MEASURES = [
    ItemMeasure(name="relevance", share=False),
    ItemMeasure(name="consistency", share=False),
    ItemMeasure(name="accuracy", share=False),
    ItemMeasure(name="questions_a_visit", percent=False, share=False),
    ItemMeasure(name="examinations_a_visit", percent=False, share=False),
]
"""The first three are means over the rounds of all visits; the others are how many rounds a visit has."""


def reliability_rows(one: Reliability, visits: Sequence[Visit], file: str, *, seed: int) -> Iterator[ItemRow]:
    """Yields the shares of each visit's rounds, and how many they are; a visit that failed has none."""
    at = trace_places(file, visits)
    for visit in visits:
        rounds = [each for each in one.rounds if each.case == visit.case]
        verdicts = [each.verdict for each in one.judgements if each.case == visit.case and each.verdict is not None]
        values, weights = mean_of_parts({
            "relevance": [100.0 * (verdict.relevant == "yes") for verdict in verdicts],
            "consistency": [100.0 * (verdict.consistent == "yes") for verdict in verdicts],
            "accuracy": [100.0 * each.reached for each in rounds if each.ordered],
        })  # fmt: skip
        counts = {
            "questions_a_visit": float(len(rounds)),
            "examinations_a_visit": float(sum(each.reached for each in rounds)),
        }
        failed = visit.end is End.FAILED
        yield ItemRow(
            item=visit.case,
            values={} if failed else values | counts,
            weights={} if failed else weights,
            model=one.doctor,
            seed=seed,
            end=str(visit.end),
            at=at[visit.case],
        )


def reliability_output(result: ReliabilityResult, attacks: Sequence[Attacked], about: Mapping[str, Any]) -> Output:
    """Returns what a user gets of an evaluation and the attacks, with how they were held."""

    def show(screen: Console) -> None:
        _show_doctors(screen, result)
        _show_attacks(screen, attacks, about["cases"])
        told = f"patient: {about['patient']}; examiner: {about['examiner']}; {about['cases']} cases"
        screen.print(f"{told}; seed: {about['seed']}")

    # The visits are in the traces.
    fields = {name: getattr(result, name) for name in result.__struct_fields__ if name != "visits"}
    files = {name: f"doctor-{number}.jsonl" for number, name in enumerate(result.visits, start=1)}
    return Output(
        document=msgspec.to_builtins({**about, **fields, "attack": attacks}),
        show=show,
        document_file="reliability.json",
        files={files[name]: (visit.trace.lines() for visit in visits) for name, visits in result.visits.items()},
        written="Traces and result: {}",
        failed=sum(one.failed for one in result.doctors),
        n=sum(map(len, result.visits.values())),
        rows=[
            row
            for one in result.doctors
            for row in reliability_rows(one, result.visits[one.doctor], files[one.doctor], seed=about["seed"])
        ],
        measures=MEASURES,
    )


def _show_doctors(screen: Console, result: ReliabilityResult) -> None:
    """Prints the table: a doctor a row, with intervals, and what is outside of the means beside."""
    columns = ("doctor", "visits", "#QA", "Rel", "Con", "#Test", "Acc", "ordered", "false")
    rows = (
        (
            plain(one.doctor),
            str(one.visits),
            str(one.qa),
            _cell(one.relevance),
            _cell(one.consistency),
            str(one.tests),
            _cell(one.accuracy),
            str(one.ordered),
            str(one.false),
        )
        for one in result.doctors
    )
    screen.print(table("reliability, % [95 % interval]", columns, rows))
    if result.judge:
        judged = f"judge: {result.judge}, version {result.judge_version}, prompts {result.prompts}"
    else:
        judged = "Rel and Con need a judge: --judge MODEL"
    screen.print(plain(judged), style="dim")
    for one in result.doctors:
        lost = {"visits failed": one.failed} if one.failed else {}
        lost |= {f"judgements {name}": n for name, n in {**one.unreadable, **one.unanswered}.items()}
        if lost:
            told = ", ".join(f"{n} {name}" for name, n in lost.items())
            screen.print(plain(f"{one.doctor}, outside of the means: {told}"), style="yellow")
    screen.print()


def _cell(value: Estimate | None) -> str:
    if value is None or value.mean is None:
        return NOTHING
    ends = "" if value.low is None else f" [{value.low:.1f}, {value.high:.1f}]"
    parts = {"": value.mean, "low": value.low, "high": value.high, "n": value.n}
    return ShownFigure(f"{value.mean:.1f}{ends} ({value.n})", parts)


def _show_attacks(screen: Console, attacks: Sequence[Attacked], cases: int) -> None:
    """Prints, for each reader and language, how many requests disclosed something."""
    if not attacks:
        return
    columns = ("reader", "language", "requests", "disclosed", "unread", "names dropped")
    rows = (
        (
            plain(one.reader),
            one.language,
            str(one.requests),
            str(one.disclosed),
            str(sum(one.unread.values())),
            number(one.dropped, ","),
        )
        for one in attacks
    )
    screen.print(table(f"requests that fish, each against {cases} records", columns, rows, left=2))
    for one in attacks:
        for request, finding in one.examples:
            screen.print(plain(f"disclosed to {one.reader}: {request!r}: {finding}"), style="red", soft_wrap=True)
    screen.print()
