"""The output of a run, written and printed: a document, tables, files, and a row for each item."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from polyclinic.cases.case_share import CaseShare
from polyclinic.cases.shipped import SHIPPED
from polyclinic.errors import BadInput, PlayFailure
from polyclinic.files import whole
from polyclinic.models.ledger import AskedFor, KeptCall, Ledger, asked_by_player
from polyclinic.models.settings import ModelSettings
from polyclinic.players.patient_trust import PatientTrust, trust_fields
from polyclinic.plugins import code_of
from polyclinic.protocols.following import changes_in
from polyclinic.results.folder import CALLS, ITEMS, RECORD, ItemMeasure, ItemRow, RunRecord, replacing
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
from polyclinic.run.invocation import Invocation
from polyclinic.run.run import AGAIN, Run, resume_hint
from polyclinic.run.storing import keep_results, results_folder
from polyclinic.terminal.screen import console, note, print_json
from polyclinic.terminal.usage import show_usage

if TYPE_CHECKING:
    from rich.console import Console


DOCUMENT = "document.json"
"""The document of a command that writes no other results."""

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, kw_only=True)
class Output:
    """The output of an evaluation.

    Attributes:
        files: the other files there, by name: pieces of text, and records that become a JSON line each.
    """

    document: Any  # what `--json` prints, an object or a list; the folder of `--out` holds it as well
    show: Callable[[Console], None] = lambda _: None  # prints the tables
    document_file: str = "summary.json"
    files: Mapping[str, Iterable[object]] = field(default_factory=dict)
    written: str = "Traces and summary: {}"  # the line printed about the folder, if any; `{}` is its path
    failed: int = 0  # how many of `n` plays failed; 0 of 0 if their share is not judged
    n: int = 0
    plays: str = "visits"  # the name of the plays
    failures: str = ""  # why they failed, if known
    rows: Sequence[ItemRow] = ()  # the results by item; `measures` are the measures of their values
    measures: Sequence[ItemMeasure] = ()
    asked_for: AskedFor = asked_by_player  # returns the row that a call belongs to
    departures: Sequence[str] = ()  # differences from the paper that is followed

    def beside(self, document: Mapping[str, Any], show: Callable[[Console], None]) -> Output:
        """Returns the output with more in its document and below its tables."""

        def both(screen: Console) -> None:
            self.show(screen)
            show(screen)

        return replace(self, document={**self.document, **document}, show=both)

    def with_trust(self, trust: PatientTrust | None) -> Output:
        """Returns the output with how reliable the simulated patient is, if that is known."""
        if trust is None:
            return self
        return self.beside(trust_fields(trust), lambda screen: screen.print(f"\n{trust.line}", style="yellow"))

    def with_case_shares(self, shares: Sequence[CaseShare]) -> Output:
        """Returns the output with how many records of its case files are used, and which are not."""
        if not shares:
            return self

        def show(screen: Console) -> None:
            for share in shares:
                if share.left_out:
                    screen.print(f"\n{share}; {len(share.left_out)} left out", style="yellow")

        return self.beside({"cases_used": msgspec.to_builtins(list(shares))}, show)


def short_names(files: Sequence[str | Path]) -> list[str]:
    """Returns the shortest ends of paths, without file types, that differ; the paths themselves if none do."""
    paths = [Path(file).with_suffix("").parts for file in files]
    for parts in range(1, max(map(len, paths), default=1) + 1):
        names = ["/".join(path[-parts:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [str(file) for file in files]


def json_line(one: object) -> str:
    """Returns something as a line of JSON; sets, which have no order of their own, are sorted."""
    return msgspec.json.encode(one, order="deterministic").decode() + "\n"


def safe_name(name: str) -> str:
    """Returns a name that a file may have; those of methods and minds may contain slashes and blanks."""
    return re.sub(r"[^\w.-]+", "-", name).strip(".-")


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Returns a file name for each name, without the file type."""
    given: dict[str, str] = {}
    for name in names:
        safe = safe_name(name) or "doctor"
        free = (one for one in chain([safe], (f"{safe}-{n}" for n in count(2))) if one not in given.values())
        given[name] = next(free)
    return given


def finish(run: Run, output: Output, ledger: Ledger, *, purposes: bool = True, failure: str = "") -> None:
    """Writes and prints the results, and what the models cost, by role and purpose or by role alone.

    `failure` says that more failed than allowed, if the output does not count it.

    Raises:
        RunStopped: the run was stopped; the message says how to resume it.
        PlayFailure: more failed than allowed.
    """
    config, stopped = run.config, run.stopped
    if stopped is not None:
        note("stopped early; what is over:")
        output = replace(output, document=_with(output.document, stopped=str(stopped)), failed=0)
        failure = ""
    elif not failure and output.failed * 100 > config.max_failures * output.n:
        why = f": {output.failures}" if output.failures else ""
        allowed = f"run.max-failures allows {config.max_failures:g} %"
        failure = f"{output.failed} of {output.n} {output.plays} failed{why}; {allowed}"
    output = output.with_case_shares(run.case_shares)
    if servers := server_sums(ledger):
        output = replace(output, document=_with(output.document, servers=msgspec.to_builtins(servers)))
    with results_folder(config) as folder:
        if folder is not None:
            with replacing(folder) as place:
                write_results(
                    place,
                    config.invocation,
                    output,
                    seed=config.seed,
                    models=config.models,
                    ledger=ledger,
                    stopped="" if stopped is None else str(stopped),
                    failed=failure,
                    cases=run.case_shares,
                )
        if config.json:
            print_json(output.document)
        else:
            output.show(console())
            show_usage(console(sys.stderr), ledger, purposes=purposes)
            if config.folder is not None and output.written:
                note(output.written.format(config.folder))
        if folder is not None:
            keep_results(config.database, folder)
    if stopped is not None:
        raise resume_hint(stopped, config, run.what)
    if failure:
        raise PlayFailure(f"{failure}; {AGAIN}" if config.out is not None else failure)


def _with(document: Any, **more: object) -> Any:
    """Returns a document with more in it; a list stays as it is."""
    return {**document, **more} if isinstance(document, Mapping) else document


def write_results(
    folder: Path,
    this: Invocation,
    output: Output,
    *,
    seed: int,
    models: ModelSettings,
    ledger: Ledger,
    stopped: str = "",
    failed: str = "",
    cases: Sequence[CaseShare] = (),
) -> None:
    """Writes the output of a command into a folder, with the record of the run, its items and its calls."""
    for name, pieces in output.files.items():
        _write(folder / name, (one.encode() if isinstance(one, str) else _encode(one) + b"\n" for one in pieces))
    _write(folder / output.document_file, [_document(output.document)])
    if ledger.calls is not None and ledger.calls.n:
        ledger.calls.write(folder / CALLS)
    own = this.kind.removeprefix("eval ")
    configuration = {"evaluation": own} if code_of(own, "evaluations") else {}
    configuration |= this.options
    if this.options.get("memory"):
        from polyclinic.memory.opening import version_at  # noqa: PLC0415 - few commands read a memory

        configuration["memory_version"] = version_at(Path(this.options["memory"]))
    departures = [*output.departures, *changes_in(str(this.options.get("protocol") or ""))]
    record = record_of(
        this,
        configuration,
        seed=seed,
        cases=list(cases),
        models=asked_models(
            ledger,
            models.said,
            base_urls=models.base_urls,
            temperature=models.temperature,
            price=models.price,
            concurrency=models.concurrency,
            timeout=models.timeout,
        ),
        measures=list(output.measures),
        calls=call_sums(ledger),
        servers=server_sums(ledger),
        stopped=stopped,
        failed=failed,
        files=[*output.files, output.document_file],
        departures=list(dict.fromkeys(departures)),
    )
    of_cases = str(this.options.get("cases") or "")
    default_set = of_cases if of_cases in SHIPPED else Path(of_cases).stem
    rows = _with_calls(output.rows, ledger, output.asked_for)
    write_record(folder, record, (row if row.set else msgspec.structs.replace(row, set=default_set) for row in rows))


def record_of(this: Invocation, configuration: Mapping[str, Any], **rest: Any) -> RunRecord:
    """Returns the record of a command, without secrets; `rest` has further fields, and overrides these."""
    known: dict[str, Any] = {
        "kind": this.kind,
        "command": command_words(this.words),
        "configuration": without_secrets(configuration),
        "versions": versions(),
        "finished": now(),
        "data": data_files(this.files),
        "code": own_code(configuration),
    }
    return RunRecord(**known | rest)


def write_record(folder: Path, record: RunRecord, rows: Iterable[ItemRow]) -> None:
    """Writes the record of a run and its items into a folder; a number that is not finite is `BadInput`."""
    lines = []
    for number, row in enumerate(rows, 1):
        for kind, values in (("values", row.values), ("weights", row.weights)):
            for name, value in values.items():
                if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                    problem = f"item {row.item!r}, {kind}[{name!r}] is {value!r}"
                    allowed = "it is a finite number, or left out where there is none"
                    raise BadInput(f"{problem}; {allowed}", path=folder / ITEMS, line=number)
        lines.append(_encode(row) + b"\n")
    _write(folder / ITEMS, lines)
    _write(folder / RECORD, [_document(record)])


def _document(value: object) -> bytes:
    return msgspec.json.format(_encode(value), indent=2) + b"\n"


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    """Writes a whole file or nothing."""
    with whole(path) as temporary, temporary.open("wb") as file:
        file.writelines(pieces)


def _with_calls(rows: Sequence[ItemRow], ledger: Ledger, asked_for: AskedFor) -> Sequence[ItemRow]:
    """Returns the rows with the sums of the calls for each item, unless they have these already."""
    if ledger.calls is None or not ledger.calls.n or any(row.calls for row in rows):
        return rows
    made: dict[tuple[str, str, str], list[KeptCall]] = {}
    for call in ledger.calls:
        made.setdefault(asked_for(call), []).append(call)
    summed = []
    for row in rows:
        calls = [call for of in {row.set, ""} for call in made.get((row.model, of, row.item), ())]
        costs = [call.cost for call in calls if call.cost is not None]
        summed.append(
            msgspec.structs.replace(
                row,
                calls=len(calls),
                tokens=sum(call.tokens_in + call.tokens_out for call in calls),
                cost=sum(costs) if costs else None,
                seconds=round(sum(call.seconds for call in calls), 3),
            )
        )
    return summed
