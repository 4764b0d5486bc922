"""`polyclinic consult` and `polyclinic replay`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from polyclinic.cli.minds import (
    BaseUrlOption,
    ConcurrencyOption,
    DirectorOption,
    DoctorOption,
    DoctorsOption,
    ExaminerOption,
    JournalOption,
    KeyOption,
    MaxCostOption,
    MaxRoundsOption,
    MaxTokensOption,
    MindOptions,
    NoDisputesOption,
    OrderOption,
    PatientOption,
    PriceOption,
    TemperatureOption,
    open_minds,
    show_usage,
)
from polyclinic.errors import BadInput, BudgetSpent, PlayFailure, PolyclinicError, UserError

if TYPE_CHECKING:
    from rich.console import Console

    from polyclinic.cases.case import Case
    from polyclinic.events import Event, Order
    from polyclinic.knowledge.knowledge import Knowledge
    from polyclinic.models.ledger import Ledger
    from polyclinic.players.minds import Minds
    from polyclinic.visits.visit import TeamVisit, Visit

V = TypeVar("V")

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
    doctors: DoctorsOption = None,
    director: DirectorOption = "rules",
    no_dispute_resolution: NoDisputesOption = False,
    order: OrderOption = "parallel",
    max_rounds: MaxRoundsOption = 4,
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

    With --doctors several see the patient each alone, and then settle what they disagree on.

    Research and teaching only; never for the care of real people.
    """
    from polyclinic.cases.loaders import find_case, read_cases
    from polyclinic.events import Order
    from polyclinic.files import check_writable, write_text
    from polyclinic.knowledge.knowledge import read_knowledge
    from polyclinic.terminal.screen import console, print_json

    path, case_id = split_case(case)
    if out is not None:
        check_writable(out, unlike=path)
    discussion = (director, no_dispute_resolution, order, max_rounds)
    if doctors and doctor != "rules":
        raise UserError(f"--doctor {doctor} and --doctors {' '.join(doctors)}; give one of the two")
    if not doctors and discussion != ("rules", False, "parallel", 4):
        raise UserError(
            "--director, --no-dispute-resolution, --order and --max-rounds need a discussion; give --doctors MIND MIND"
        )
    minds = MindOptions(
        doctor=doctor,
        patient=patient,
        examiner=examiner,
        director=director,
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
    team = None
    if doctors:
        team = Team(doctors, order=Order(order), max_rounds=max_rounds, disputes=not no_dispute_resolution)
    seen = asyncio.run(
        _see(cases, minds, knowledge, team=team, max_turns=max_turns, one_step=one_step, live=one, quiet=json)
    )
    if not json:
        if not one:
            show_visits(console(), seen.visits, knowledge)
        show_usage(console(sys.stderr), seen.ledger)
    if out is not None and seen.visits:
        write_text(out, "".join(trace.lines() for visit in seen.visits for trace in visit.traces))
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


class Team(NamedTuple):
    """Several doctors, by their minds, and how they discuss."""

    doctors: list[str]
    order: Order
    max_rounds: int
    disputes: bool


class Seen(NamedTuple):
    """What came of a run: the visits that are over, what the models cost, and what stopped it before its end."""

    visits: Sequence[Visit | TeamVisit]
    ledger: Ledger
    stopped: PolyclinicError | None = None


async def _see(
    cases: list[Case],
    options: MindOptions,
    knowledge: Knowledge,
    *,
    team: Team | None,
    max_turns: int,
    one_step: bool,
    live: bool,
    quiet: bool,
) -> Seen:
    from polyclinic.cli.replay import show_end
    from polyclinic.terminal.screen import console
    from polyclinic.visits.visit import confer, see

    async with open_minds(options, knowledge, doctors=team.doctors if team is not None else ()) as opened:
        how: dict[str, Any] = {"max_turns": max_turns, "in_one_step": one_step}
        if team is not None:
            how.update(order=team.order, max_rounds=team.max_rounds, disputes=team.disputes)
        screen = console() if live and not quiet else None
        if team is None:
            (minds,) = opened.minds.values()

            async def one(case: Case) -> Visit | TeamVisit:
                watch = None if screen is None else partial(_show, screen)
                return await see(case, minds, **how, watch=watch)
        else:
            chosen = [opened.minds[name] for name in team.doctors]

            async def one(case: Case) -> Visit | TeamVisit:
                from polyclinic.cli.team import Stage

                watch = None if screen is None else Stage(screen, len(chosen)).watch
                return await confer(case, chosen, **how, watch=watch)

        if screen is None:
            visits, stopped = await _all(cases, one, quiet=quiet)
            return Seen(visits, opened.ledger, stopped)
        visit = await one(cases[0])
        show_end(screen, visit, knowledge)
        return Seen([visit], opened.ledger)


def _show(screen: Console, event: Event) -> None:
    from polyclinic.cli.show import show_event

    show_event(screen, event)


async def see_all(
    cases: list[Case], minds: Minds, *, max_turns: int = 10, one_step: bool = False, quiet: bool = False
) -> tuple[list[Visit], PolyclinicError | None]:
    """Lets the doctor see every patient, with a progress bar.

    Returns:
        The visits that are over, in the order of the cases, and what stopped the run before its end, if anything did.
    """
    from polyclinic.visits.visit import see

    async def one(case: Case) -> Visit:
        return await see(case, minds, max_turns=max_turns, in_one_step=one_step)

    return await _all(cases, one, quiet=quiet)


async def _all(
    cases: list[Case], one: Callable[[Case], Awaitable[V]], *, quiet: bool
) -> tuple[list[V], PolyclinicError | None]:
    from polyclinic.terminal.screen import progress

    # Visits do not depend on one another; how many run at once only bounds the memory of those that wait.
    limit = asyncio.Semaphore(_AT_ONCE)
    with progress("consulting", len(cases), quiet=quiet) as advance:

        async def limited(case: Case) -> V:
            async with limit:
                visit = await one(case)
            advance()
            return visit

        tasks = [asyncio.create_task(limited(case)) for case in cases]
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


def show_visits(screen: Console, visits: Sequence[Visit | TeamVisit], knowledge: Knowledge) -> None:
    """Prints the table of visits."""
    from polyclinic.cli.show import show_table
    from polyclinic.cli.team import show_team_visits
    from polyclinic.metrics.accuracy import verdict
    from polyclinic.visits.visit import Visit

    alone = [visit for visit in visits if isinstance(visit, Visit)]
    if len(alone) < len(visits):
        show_team_visits(screen, [visit for visit in visits if not isinstance(visit, Visit)], knowledge)
        return
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
            for v in alone
        ),
    )


def _first_failure(visit: Visit | TeamVisit) -> str:
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
