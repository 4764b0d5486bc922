"""What this command was asked for: its words, every option with its value, and the files of data among them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from polyclinic.cases.shipped import SHIPPED, shipped_path
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
from polyclinic.run.case_files import case_shares

T = TypeVar("T")

_NOT_READ = ("out", "journal", "html", "figures", "session", "memory")
"""Options whose files are written, or are a store that changes."""


class Configured(NamedTuple):
    """A command: its name, its words, its options, and the files that it reads."""

    kind: str
    words: Sequence[str]
    options: dict[str, Any]
    files: dict[str, Path]


_INVOKED: ContextVar[Configured | None] = ContextVar("invoked", default=None)


@contextmanager
def invoked(kind: str, words: Sequence[str], bound: inspect.BoundArguments) -> Iterator[None]:
    """While it lasts, this is the command that runs: its name, its words, and the values of its options."""
    bound.apply_defaults()
    own = kind.removeprefix("eval ")
    options: dict[str, Any] = {"evaluation": own} if code_of(own, "evaluations") else {}
    files: dict[str, Path] = {}
    for name, value in bound.arguments.items():
        _take(name, value, options, files)
    before = _INVOKED.set(Configured(kind, words, options, files))
    try:
        yield
    finally:
        _INVOKED.reset(before)


def configured() -> Configured:
    """Returns the command that runs; an empty one if Python runs it."""
    return _INVOKED.get() or Configured("", (), {}, {})


def kind_of_command() -> str:
    """Returns the name of the command that runs, such as `eval aie`; "" where Python runs it."""
    return configured().kind


def _take(name: str, value: Any, options: dict[str, Any], files: dict[str, Path]) -> None:
    """Puts an option, or those of a group, among the others."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            _take(field.name, getattr(value, field.name), options, files)
        return
    paths = value if isinstance(value, list | tuple) else [value]
    for number, one in enumerate(paths):
        path = shipped_path(one) if name == "cases" and isinstance(one, str) else one
        path = Path(one) if name == "protocol" and Path(one).is_file() else path
        if isinstance(path, Path) and name not in _NOT_READ and path.exists():
            files[name if number == 0 else f"{name}-{number + 1}"] = path
    options[name] = _plain(value)


def _version_of_memory(options: dict[str, Any]) -> dict[str, str]:
    """Returns which version of a memory the doctors of a command read; nothing where it names none."""
    from polyclinic.memory.opening import version_at  # noqa: PLC0415 - few commands read a memory

    return {"memory_version": version_at(Path(options["memory"]))} if options.get("memory") else {}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def record_of_study(
    results: Sequence[RunResults], *, title: str, paper: str, published: Sequence[PublishedValue], left: str = ""
) -> RunRecord:
    """Returns what a study was, from what its runs were; `left` names those that are not done yet."""
    this, records = configured(), [one.record for one in results]
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
) -> None:
    """Writes what was run and what came of it, item by item, into the folder of a run that has written `files` too.

    Raises:
        BadInput: the folder cannot be written to.
    """
    this = configured()
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
        configuration=without_secrets(this.options | _version_of_memory(this.options)),
        versions=versions(),
        finished=now(),
        seed=seed,
        data=data_files(this.files),
        code=own_code(this.options),
        cases=list(case_shares()),
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
