"""`polyclinic knowledge compare`: what names of diseases are to one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from polyclinic.cli.sessions import judge_session
from polyclinic.judging.disease_names import compare_by_model
from polyclinic.judging.model_judging import UntilStopped, failures
from polyclinic.metrics.disease_names import (
    RELATIONS,
    ComparedPair,
    agreement_with_labels,
    compare_by_rules,
    read_name_pairs,
)
from polyclinic.run import options
from polyclinic.run.output import DOCUMENT, Output, finish
from polyclinic.run.run import Run
from polyclinic.statistics.agreement import Agreement
from polyclinic.stopping import is_stopped
from polyclinic.terminal.figures import ShownFigure
from polyclinic.terminal.screen import note, plain
from polyclinic.terminal.tables import counted, table

_SIGNS = {"same": "=", "narrower": "is a kind of", "broader": "has as a kind", "different": "≠"}
_LONGEST = 80  # characters of a name in the table; `--json` has all


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CompareOptions(options.RunOptions):
    """The options of a comparison of names, which has no seed and no workers."""

    batch_api: options.BatchApi = False
    seed: Annotated[int, Parameter(parse=False)] = 0
    on: Annotated[options.On, Parameter(parse=False)] = None


_COMPARE = CompareOptions()


async def compare(
    file: Path,
    /,
    *,
    judge: Annotated[str | None, Parameter(metavar="MODEL")] = None,
    how: CompareOptions = _COMPARE,
) -> None:
    """Prints what each name a is to b: same, narrower (a is a kind of b), broader, different.

    Args:
        file: JSON lines {"a", "b"}, names of diseases in English or Chinese; "relation" in a line is what people say,
            and is compared.
        judge: A model that decides in place of the rules.
    """
    pairs, run = read_name_pairs(file), Run(how, what="comparison")
    opening = judge_session(run, judge, named="disease names", episode="disease names", batch_api=how.batch_api)
    async with opening as (model, ledger):
        if model is None:
            compared = compare_by_rules(pairs)
        else:
            until = UntilStopped(is_stopped=is_stopped)
            with run.progress("comparing", len(pairs)) as advance:
                temperature = how.models.temperature
                compared = await compare_by_model(pairs, until.of(model), temperature=temperature, advance=advance)
            if until.stopped is not None:
                missing = f"{len(compared)} of {counted(len(pairs), 'pair')} are compared"
                run.stopped = type(until.stopped)(f"{until.stopped}; {missing}")
    agreed = agreement_with_labels(compared)
    if how.json and agreed is not None:
        note(_agreement_line(agreed))
    unreadable, failed = failures(compared)
    if judge is not None and (unreadable or failed):
        note(f"without a relation: {', '.join(f'{n} {name}' for name, n in (unreadable | failed).items())}")
    rows = []
    for one in compared:
        row: dict[str, Any] = {"a": one.a, "b": one.b, "relation": one.relation}
        row |= {"label": one.labels[0], "agrees": one.agrees} if one.labels else {}
        rows.append(row | ({"error": one.error} if one.error else {}))
    output = Output(
        document=rows,
        show=lambda screen: _show(screen, compared, agreed),
        document_file=DOCUMENT,
        written="",
        failed=sum(failed.values()),
        n=len(pairs),
        plays="questions to the judge",
        failures=", ".join(failed),
    )
    finish(run, output, ledger, purposes=False)


def _show(screen: Console, compared: Sequence[ComparedPair], agreed: Agreement | None) -> None:
    rows = (
        (_short(one.a), _SIGNS.get(one.relation or "", "?"), _short(one.b), one.relation or one.error)
        for one in compared
    )
    screen.print(table(None, ("a", "", "b", "relation"), rows, left=4))
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
