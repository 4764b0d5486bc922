"""`polyclinic consult` and `polyclinic replay`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from polyclinic.cli.minds import (
    BaseUrlOption,
    ConcurrencyOption,
    DoctorOption,
    ExaminerOption,
    JournalOption,
    KeyOption,
    MaxCostOption,
    MaxTokensOption,
    MindOptions,
    PatientOption,
    PriceOption,
    TemperatureOption,
    open_minds,
    show_usage,
)
from polyclinic.errors import BadInput, BudgetSpent, PlayFailure, PolyclinicError

if TYPE_CHECKING:
    from rich.console import Console

    from polyclinic.cases.case import Case
    from polyclinic.knowledge.knowledge import Knowledge
    from polyclinic.models.ledger import Ledger
    from polyclinic.players.minds import Minds
    from polyclinic.visit import Visit

CaseOption = Annotated[
    str,
    typer.Option(
        "--case",
        help="FILE, or FILE#ID for one case of it. 'shipped' and 'shipped-zh' are the cases that come with polyclinic.",
        metavar="FILE[#ID]",
    ),
]
LayoutOption = Annotated[
    str | None,
    typer.Option(help="The file's layout: polyclinic, agentclinic, ai-hospital, aie, tor. Recognised where left out."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else.")]


_AT_ONCE = 256


def consult(
    case: CaseOption,
    layout: LayoutOption = None,
    doctor: DoctorOption = "rules",
    patient: PatientOption = "rules",
    examiner: ExaminerOption = "rules",
    max_turns: Annotated[int, typer.Option(min=1, help="How often the doctor may speak.")] = 10,
    one_step: Annotated[
        bool, typer.Option("--one-step", help="No dialogue: the doctor reads the whole record and reports.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same trace, byte for byte.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the trace here, as JSON lines.", metavar="TRACE")] = None,
    json: JsonOption = False,
    max_failures: Annotated[
        float, typer.Option(min=0, max=100, help="Share of failed visits, in percent, above which the run has failed.")
    ] = 5.0,
    base_url: BaseUrlOption = None,
    api_key_env: KeyOption = "OPENAI_API_KEY",
    concurrency: ConcurrencyOption = None,
    temperature: TemperatureOption = None,
    journal: JournalOption = None,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    price: PriceOption = None,
) -> None:
    """One doctor sees one patient, printed as it goes; without #ID, every case of the file.

    Research and teaching only; never for the care of real people.
    """
    from polyclinic.cases.loaders import find_case, read_cases
    from polyclinic.cli.output import console, print_json
    from polyclinic.files import check_writable, write_text
    from polyclinic.knowledge.knowledge import read_knowledge

    path, case_id = split_case(case)
    if out is not None:
        check_writable(out, unlike=path)
    minds = MindOptions(
        doctor=doctor,
        patient=patient,
        examiner=examiner,
        seed=seed,
        base_url=base_url,
        api_key_env=api_key_env,
        concurrency=concurrency,
        temperature=temperature,
        journal=journal,
        max_tokens=max_tokens,
        max_cost=max_cost,
        price=price,
    )
    one = case_id is not None
    cases = list(read_cases(path, layout=layout)) if case_id is None else [find_case(path, case_id, layout=layout)]
    knowledge = read_knowledge()
    seen = asyncio.run(_see(cases, minds, knowledge, max_turns=max_turns, one_step=one_step, live=one, quiet=json))
    if not json:
        if not one:
            show_visits(console(), seen.visits, knowledge)
        show_usage(console(sys.stderr), seen.ledger)
    if out is not None and seen.visits:
        write_text(out, "".join(visit.trace.lines() for visit in seen.visits))
        if not json:
            typer.echo(f"Trace: {out}. See it again with: polyclinic replay {out}", err=True)
    if json and seen.visits:
        documents = [visit.document() for visit in seen.visits]
        print_json(documents[0] if one else documents)
    if seen.stopped is not None:
        if len(cases) > 1 and isinstance(seen.stopped, BudgetSpent):
            again = "the same command goes on from there" if journal else "with --journal FILE a run can go on"
            raise BudgetSpent(f"{seen.stopped}; {len(seen.visits)} of {len(cases)} visits are done, and {again}")
        raise seen.stopped
    failed = [visit for visit in seen.visits if visit.report is None]
    if len(failed) * 100 > max_failures * len(seen.visits):
        problem = "the visit failed" if len(cases) == 1 else f"{len(failed)} of {len(seen.visits)} visits failed"
        raise PlayFailure(f"{problem} ({_first_failure(failed[0])})")


class Seen(NamedTuple):
    """What came of a run: the visits that are over, what the models cost, and what stopped it before its end."""

    visits: list[Visit]
    ledger: Ledger
    stopped: PolyclinicError | None = None


async def _see(
    cases: list[Case],
    options: MindOptions,
    knowledge: Knowledge,
    *,
    max_turns: int,
    one_step: bool,
    live: bool,
    quiet: bool,
) -> Seen:
    async with open_minds(options, knowledge) as opened:
        (minds,), ledger = opened.minds.values(), opened.ledger
        if live and not quiet:
            visits, stopped = [await _watch(cases[0], minds, knowledge, max_turns=max_turns, one_step=one_step)], None
        else:
            visits, stopped = await see_all(cases, minds, max_turns=max_turns, one_step=one_step, quiet=quiet)
        return Seen(visits, ledger, stopped)


async def _watch(case: Case, minds: Minds, knowledge: Knowledge, *, max_turns: int, one_step: bool) -> Visit:
    from polyclinic.cli.output import console
    from polyclinic.cli.show import show_event, show_outcome
    from polyclinic.events import Reported, Revealed
    from polyclinic.metrics.accuracy import verdict
    from polyclinic.visit import see

    screen = console()
    visit = await see(
        case, minds, max_turns=max_turns, in_one_step=one_step, watch=lambda event: show_event(screen, event)
    )
    revealed = visit.trace.last(Revealed)
    assert revealed is not None  # noqa: S101
    show_outcome(screen, visit.trace.last(Reported), revealed, verdict(visit.report, visit.truth, knowledge))
    return visit


async def see_all(
    cases: list[Case], minds: Minds, *, max_turns: int = 10, one_step: bool = False, quiet: bool = False
) -> tuple[list[Visit], PolyclinicError | None]:
    """Lets the doctor see every patient, with a progress bar.

    Returns:
        The visits that are over, in the order of the cases, and what stopped the run before its end, if anything did.
    """
    from polyclinic.cli.output import progress
    from polyclinic.visit import see

    # Visits do not depend on one another; how many run at once only bounds the memory of those that wait.
    limit = asyncio.Semaphore(_AT_ONCE)
    with progress("consulting", len(cases), quiet=quiet) as advance:

        async def one(case: Case) -> Visit:
            async with limit:
                visit = await see(case, minds, max_turns=max_turns, in_one_step=one_step)
            advance()
            return visit

        tasks = [asyncio.create_task(one(case)) for case in cases]
        done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    errors = [error for task in done if not task.cancelled() and (error := task.exception()) is not None]
    for error in errors:
        if not isinstance(error, PolyclinicError):
            raise error
    visits = [task.result() for task in tasks if task in done and task.exception() is None]
    return visits, next((error for error in errors if isinstance(error, PolyclinicError)), None)


def show_visits(screen: Console, visits: list[Visit], knowledge: Knowledge) -> None:
    """Prints the table of visits."""
    from polyclinic.cli.show import show_table
    from polyclinic.metrics.accuracy import verdict

    show_table(
        screen,
        (
            (
                v.case,
                v.turns,
                v.end,
                verdict(v.report, v.truth, knowledge),
                v.report.diagnoses[0] if v.report is not None and v.report.diagnoses else None,
                "; ".join(d.name for d in v.truth.diagnoses),
            )
            for v in visits
        ),
    )


def _first_failure(visit: Visit) -> str:
    from polyclinic.events import Failed

    failure = visit.trace.last(Failed)
    return f"case {visit.case}: {failure.error}: {failure.problem}" if failure is not None else visit.case


def split_case(text: str) -> tuple[Path, str | None]:
    """Splits `FILE#ID`; a file whose own name holds a # is taken as it is.

    Raises:
        BadInput: nothing stands before or behind the #.
    """
    from polyclinic.cases.shipped import shipped_path

    file, mark, case_id = text.rpartition("#")
    if not mark or Path(text).exists():
        return shipped_path(text), None
    if not file or not case_id:
        raise BadInput(
            f"--case {text!r} lacks {'an id behind' if file else 'a file before'} the '#'; give FILE#ID or FILE"
        )
    return shipped_path(file), case_id


def replay(
    trace: Annotated[Path, typer.Argument(help="A trace that `polyclinic consult --out` wrote.", metavar="TRACE")],
    json: JsonOption = False,
) -> None:
    """Show recorded visits again."""
    from polyclinic.cli.output import console, print_json
    from polyclinic.cli.show import show_choice, show_event, show_outcome
    from polyclinic.events import Chosen, Reported, Revealed, Trace
    from polyclinic.knowledge.knowledge import read_knowledge
    from polyclinic.visit import revisit

    traces = Trace.read(trace)
    if json:
        documents = [revisit(t).document() for t in traces]
        print_json(documents[0] if len(documents) == 1 else documents)
        return
    knowledge = read_knowledge()
    screen = console(file=sys.stdout)
    for recorded in traces:
        for event in recorded:
            show_event(screen, event)
        revealed, chosen = recorded.last(Revealed), recorded.last(Chosen)
        if revealed is not None and chosen is not None:
            show_choice(screen, chosen, revealed)
        elif revealed is not None:
            from polyclinic.metrics.accuracy import verdict

            visit = revisit(recorded)
            show_outcome(screen, recorded.last(Reported), revealed, verdict(visit.report, visit.truth, knowledge))
