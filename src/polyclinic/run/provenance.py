"""What a run was and what came of it, as its folder keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from polyclinic.cases.case_share import CaseShare
from polyclinic.cases.shipped import SHIPPED
from polyclinic.models.ledger import AskedFor, KeptCall, Ledger, asked_by_player
from polyclinic.models.session import ModelSettings
from polyclinic.plugins import code_of
from polyclinic.protocols.following import changes_in
from polyclinic.protocols.study_plan import PublishedValue
from polyclinic.results.folder import CALLS, ItemMeasure, ItemRow, RunRecord, write_record
from polyclinic.results.provenance import (
    asked_models,
    call_sums,
    command_words,
    data_files,
    now,
    own_code,
    server_sums,
    versions,
    without_secrets,
)
from polyclinic.results.reading import RunResults
from polyclinic.run.invocation import Invocation

T = TypeVar("T")


def _version_of_memory(options: dict[str, Any]) -> dict[str, str]:
    """Returns which version of a memory the doctors of a command read; nothing where it names none."""
    from polyclinic.memory.opening import version_at  # noqa: PLC0415 - few commands read a memory

    return {"memory_version": version_at(Path(options["memory"]))} if options.get("memory") else {}


def record_of_study(
    this: Invocation,
    results: Sequence[RunResults],
    *,
    title: str,
    paper: str,
    published: Sequence[PublishedValue],
    left: str = "",
) -> RunRecord:
    """Returns what a study was, from what its runs were; `left` names those that are not done yet."""
    records = [one.record for one in results]
    return RunRecord(
        kind=this.kind,
        command=command_words(this.words),
        configuration=without_secrets(this.options),
        versions=versions(),
        finished=now(),
        data=_each_once(file for one in records for file in one.data),
        code=_each_once(code for one in records for code in one.code),
        models=_each_once(model for one in records for model in one.models),
        measures=_each_once(measure for one in records for measure in one.measures),
        calls=[call for one in records for call in one.calls],
        stopped=f"not done yet: {left}" if left else "",
        title=title,
        paper=paper,
        published=list(published),
    )


def _stem(cases: str) -> str:
    """Returns what a set of cases is called: its file without its ending."""
    return cases if cases in SHIPPED else Path(cases).stem


def _each_once(things: Iterable[T]) -> list[T]:
    found: list[T] = []
    for thing in things:
        if thing not in found:
            found.append(thing)
    return found


def _with_calls(rows: Sequence[ItemRow], ledger: Ledger, asked_for: AskedFor) -> Sequence[ItemRow]:
    """Returns the rows with what the calls for each item came to, where they do not say so themselves."""
    if ledger.calls is None or not ledger.calls.n or any(row.calls for row in rows):
        return rows
    made: dict[tuple[str, str, str], list[KeptCall]] = {}
    for call in ledger.calls:
        made.setdefault(asked_for(call), []).append(call)
    nothing: list[KeptCall] = []
    return [
        _summed(row, [call for of in {row.set, ""} for call in made.get((row.model, of, row.item), nothing)])
        for row in rows
    ]


def _summed(row: ItemRow, calls: Sequence[KeptCall]) -> ItemRow:
    costs = [call.cost for call in calls if call.cost is not None]
    return msgspec.structs.replace(
        row,
        calls=len(calls),
        tokens=sum(call.tokens_in + call.tokens_out for call in calls),
        cost=sum(costs) if costs else None,
        seconds=round(sum(call.seconds for call in calls), 3),
    )


def write_results(
    folder: Path,
    this: Invocation,
    rows: Sequence[ItemRow],
    measures: Sequence[ItemMeasure],
    *,
    seed: int,
    models: ModelSettings,
    ledger: Ledger,
    stopped: str = "",
    failed: str = "",
    files: Sequence[str] = (),
    departures: Sequence[str] = (),
    asked_for: AskedFor = asked_by_player,
    cases: Sequence[CaseShare] = (),
) -> None:
    """Writes what was run and what came of it, item by item, into the folder of a run that has written `files` too."""
    own = this.kind.removeprefix("eval ")
    configuration = {"evaluation": own} if code_of(own, "evaluations") else {}
    configuration |= this.options | _version_of_memory(this.options)
    stem = _stem(str(this.options.get("cases") or ""))
    rows = [row if row.set else msgspec.structs.replace(row, set=stem) for row in _with_calls(rows, ledger, asked_for)]
    asked = asked_models(
        ledger,
        models.said,
        base_urls=models.base_urls,
        temperature=models.temperature,
        price=models.price,
        concurrency=models.concurrency,
        timeout=models.timeout,
    )
    record = RunRecord(
        kind=this.kind,
        command=command_words(this.words),
        configuration=without_secrets(configuration),
        versions=versions(),
        finished=now(),
        seed=seed,
        data=data_files(this.files),
        code=own_code(configuration),
        cases=list(cases),
        models=asked,
        measures=list(measures),
        calls=call_sums(ledger),
        servers=server_sums(ledger),
        stopped=stopped,
        failed=failed,
        files=list(files),
        departures=_each_once([*departures, *changes_in(str(this.options.get("protocol") or ""))]),
    )
    if ledger.calls is not None and ledger.calls.n:
        ledger.calls.write(folder / CALLS)
    write_record(folder, record, rows)
