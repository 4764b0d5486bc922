"""`polyclinic knowledge compare`: what names of diseases are to one another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from polyclinic.cli.sessions import open_judge
from polyclinic.errors import PlayFailure, RunStopped
from polyclinic.judging.disease_names import compare_by_model
from polyclinic.judging.model_judging import UntilStopped, failures
from polyclinic.metrics.disease_names import (
    RELATIONS,
    ComparedPair,
    agreement_with_labels,
    compare_by_rules,
    read_name_pairs,
)
from polyclinic.models.ledger import Ledger
from polyclinic.run import options
from polyclinic.run.batching import check_batches
from polyclinic.run.output import keep_outcome
from polyclinic.run.run import resume_hint
from polyclinic.run.storing import check_place
from polyclinic.statistics.agreement import Agreement
from polyclinic.stopping import is_stopped
from polyclinic.terminal.figures import ShownFigure
from polyclinic.terminal.screen import console, note, plain, print_json, progress
from polyclinic.terminal.tables import counted, table

_SIGNS = {"same": "=", "narrower": "is a kind of", "broader": "has as a kind", "different": "≠"}
_LONGEST = 80  # characters of a name in the table; `--json` has all


async def compare(
    file: Annotated[
        Path,
        Parameter(
            help='JSON lines {"a", "b"}, names of diseases in English or Chinese; "relation" in a line is what people '
            "say, and is compared."
        ),
    ],
    /,
    *,
    judge: Annotated[
        str | None,
        Parameter(metavar="MODEL", help="A model that decides in place of the rules."),
    ] = None,
    json: options.Json = False,
    max_failures: options.MaxFailures = 5.0,
    models: options.Models = options.MODELS,
    batch_api: options.BatchApi = False,
    kept: options.KeptOptions = options.NOWHERE,
) -> None:
    """Prints what each name a is to b: same, narrower (a is a kind of b), broader, different."""
    pairs = read_name_pairs(file)
    batches = check_batches(kept, [judge], wanted=batch_api)
    check_place(kept)
    stopped: RunStopped | None = None
    if judge is None:
        compared, ledger = compare_by_rules(pairs), Ledger()
    else:
        run, until = options.RunOptions(**vars(kept), json=json, models=models), UntilStopped(is_stopped=is_stopped)
        named = {"named": "disease names", "episode": "disease names"}
        async with open_judge(judge, run, **named, what="comparison", batches=batches) as (asked, ledger):
            with progress("comparing", len(pairs), quiet=json) as advance:
                reader, temperature = until.of(asked), models.temperature
                compared = await compare_by_model(pairs, reader, temperature=temperature, advance=advance)
        stopped = until.stopped
    agreed = agreement_with_labels(compared)
    unreadable, failed = failures(compared)
    rows = [_row(one) for one in compared]
    keep_outcome(kept, rows, models=models, ledger=ledger, stopped=stopped)
    if stopped is not None:
        note("stopped early; what is over:")
    if json:
        print_json(rows)
        if agreed is not None:
            note(_agreement_line(agreed))
    else:
        _show(console(), compared, agreed)
    if judge is not None and (unreadable or failed):
        lost = ", ".join(f"{n} {name}" for name, n in (unreadable | failed).items())
        note(f"without a relation: {lost}")
    if stopped is not None:
        missing = f"{len(compared)} of {counted(len(pairs), 'pair')} are compared"
        raise resume_hint(type(stopped)(f"{stopped}; {missing}"), kept, "comparison")
    if 100 * sum(failed.values()) > max_failures * len(pairs):
        problem = f"{sum(failed.values())} of {len(pairs)} questions to the judge failed ({', '.join(failed)})"
        raise PlayFailure(f"{problem}, more than run.max-failures {max_failures:g} allows")


def _row(one: ComparedPair) -> dict[str, Any]:
    row: dict[str, Any] = {"a": one.a, "b": one.b, "relation": one.relation}
    if one.labels:
        row |= {"label": one.labels[0], "agrees": one.agrees}
    return row | ({"error": one.error} if one.error else {})


def _show(screen: Console, compared: Sequence[ComparedPair], agreed: Agreement | None) -> None:
    shown = table(None, ("a", "", "b", "relation"), left=4)
    for one in compared:
        relation = one.relation or ""
        shown.add_row(_short(one.a), _SIGNS.get(relation, "?"), _short(one.b), relation or one.error)
    screen.print(shown)
    counts = ", ".join(f"{sum(one.relation == name for one in compared)} {name}" for name in RELATIONS)
    screen.print(f"{counted(len(compared), 'pair')}: {counts}", style="bold")
    if agreed is None:
        return
    screen.print(_agreement_line(agreed))
    missed = [one for one in compared if one.labels and not one.agrees and not one.failed]
    if missed:
        rows = ((_short(one.a), _short(one.b), one.labels[0], one.relation or one.error) for one in missed)
        screen.print(table("not as people say", ("a", "b", "people", "here"), rows, left=4))


def _short(name: str) -> str:
    line = plain(" ".join(name.split()))
    return line if len(line) <= _LONGEST else ShownFigure(f"{line[: _LONGEST - 1]}…", {"": line})


def _agreement_line(agreed: Agreement) -> str:
    interval = f" (95 % interval {agreed.low:.1f} to {agreed.high:.1f})" if agreed.low is not None else ""
    kappa = "" if agreed.kappa is None else f"; kappa {agreed.kappa:.2f}"
    return f"as people say: {agreed.percent:.1f} % of {agreed.n}{interval}{kappa}"
