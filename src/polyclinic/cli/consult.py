"""`polyclinic consult` and `polyclinic replay`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyclinic.errors import BadInput, PlayFailure

if TYPE_CHECKING:
    from rich.console import Console

    from polyclinic.cases.case import Case
    from polyclinic.knowledge.knowledge import Knowledge
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
    doctor: Annotated[str, typer.Option(help="The doctor's mind: rules, scripted:FILE.")] = "rules",
    patient: Annotated[str, typer.Option(help="The patient's mind: rules, scripted:FILE.")] = "rules",
    examiner: Annotated[str, typer.Option(help="The examiner's mind: rules.")] = "rules",
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
) -> None:
    """One doctor sees one patient, printed as it goes; without #ID, every case of the file.

    Research and teaching only; never for the care of real people.
    """
    from polyclinic.cases.loaders import find_case, read_cases
    from polyclinic.files import check_writable
    from polyclinic.knowledge.knowledge import read_knowledge
    from polyclinic.players.minds import Minds

    path, case_id = split_case(case)
    if out is not None:
        check_writable(out, unlike=path)
    knowledge = read_knowledge()
    minds = Minds(doctor=doctor, patient=patient, examiner=examiner, knowledge=knowledge, seed=seed)
    if case_id is not None:
        visits = [
            _see_one(
                find_case(path, case_id, layout=layout),
                minds,
                knowledge,
                max_turns=max_turns,
                one_step=one_step,
                quiet=json,
            )
        ]
    else:
        visits = see_all(
            list(read_cases(path, layout=layout)), minds, knowledge, max_turns=max_turns, one_step=one_step, quiet=json
        )
    if out is not None:
        from polyclinic.files import write_text

        write_text(out, "".join(visit.trace.lines() for visit in visits))
        if not json:
            typer.echo(f"Trace: {out}. See it again with: polyclinic replay {out}", err=True)
    if json:
        from polyclinic.cli.output import print_json

        documents = [visit.document() for visit in visits]
        print_json(documents[0] if case_id is not None else documents)
    failed = [visit for visit in visits if visit.report is None]
    if len(failed) * 100 > max_failures * len(visits):
        problem = "the visit failed" if len(visits) == 1 else f"{len(failed)} of {len(visits)} visits failed"
        raise PlayFailure(f"{problem} ({_first_failure(failed[0])})")


def _see_one(case: Case, minds: Minds, knowledge: Knowledge, *, max_turns: int, one_step: bool, quiet: bool) -> Visit:
    from polyclinic.visit import see

    if quiet:
        return asyncio.run(see(case, minds, max_turns=max_turns, in_one_step=one_step))
    from polyclinic.cli.output import console
    from polyclinic.cli.show import show_event, show_outcome
    from polyclinic.events import Reported, Revealed
    from polyclinic.metrics.accuracy import verdict

    screen = console()
    visit = asyncio.run(
        see(case, minds, max_turns=max_turns, in_one_step=one_step, watch=lambda e: show_event(screen, e))
    )
    revealed = visit.trace.last(Revealed)
    assert revealed is not None  # noqa: S101
    show_outcome(screen, visit.trace.last(Reported), revealed, verdict(visit.report, visit.truth, knowledge))
    return visit


def see_all(
    cases: list[Case],
    minds: Minds,
    knowledge: Knowledge,
    *,
    max_turns: int = 10,
    one_step: bool = False,
    quiet: bool,
) -> list[Visit]:
    """Lets the doctor see every patient, with a progress bar, and prints the table of the visits."""
    from polyclinic.cli.output import console, progress
    from polyclinic.visit import see

    async def all_of_them() -> list[Visit]:
        # Visits do not depend on one another; how many run at once only bounds the memory of those that wait.
        limit = asyncio.Semaphore(_AT_ONCE)
        with progress("consulting", len(cases), quiet=quiet) as advance:

            async def one(case: Case) -> Visit:
                async with limit:
                    visit = await see(case, minds, max_turns=max_turns, in_one_step=one_step)
                advance()
                return visit

            return list(await asyncio.gather(*map(one, cases)))

    visits = asyncio.run(all_of_them())
    if not quiet:
        _show_visits(console(), visits, knowledge)
    return visits


def _show_visits(screen: Console, visits: list[Visit], knowledge: Knowledge) -> None:
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
    from polyclinic.cli.show import show_event, show_outcome
    from polyclinic.events import Reported, Revealed, Trace
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
        revealed = recorded.last(Revealed)
        if revealed is not None:
            from polyclinic.metrics.accuracy import verdict

            visit = revisit(recorded)
            show_outcome(screen, recorded.last(Reported), revealed, verdict(visit.report, visit.truth, knowledge))
