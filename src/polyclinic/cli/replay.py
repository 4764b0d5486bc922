"""`polyclinic replay`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from polyclinic.knowledge.knowledge import Knowledge
    from polyclinic.visits.visit import TeamVisit, Visit


def replay(
    trace: Annotated[Path, typer.Argument(help="A trace that `polyclinic consult --out` wrote.", metavar="TRACE")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else.")] = False,
) -> None:
    """Show recorded visits again."""
    from polyclinic.cli.team import TeamView
    from polyclinic.events import Convened, Opened, Revealed, Trace
    from polyclinic.knowledge.knowledge import read_knowledge
    from polyclinic.terminal.screen import console, print_json
    from polyclinic.visits.visit import revisit_all

    traces = Trace.read(trace)
    if json:
        documents = [visit.document() for visit in revisit_all(traces)]
        print_json(documents[0] if len(documents) == 1 else documents)
        return
    knowledge = read_knowledge()
    screen = console(file=sys.stdout)
    of_team: list[Trace] = []
    for recorded in traces:
        view = TeamView(screen)
        for event in recorded:
            view.show(event)
        # A doctor's visit in a team is shown without the truth; that comes when the team has discussed it.
        of_team.append(recorded)
        opened = recorded.last(Opened)
        if opened is not None and opened.doctor:
            continue
        if recorded.last(Revealed) is not None:
            for visit in revisit_all(of_team if recorded.last(Convened) is not None else [recorded]):
                show_end(screen, visit, knowledge)
        of_team.clear()


def show_end(screen: Console, visit: Visit | TeamVisit, knowledge: Knowledge) -> None:
    """Prints what came of a visit beside what is so."""
    from polyclinic.cli.show import show_choice, show_outcome
    from polyclinic.cli.team import show_team_outcome
    from polyclinic.events import Chosen, Reported, Revealed
    from polyclinic.metrics.accuracy import verdict
    from polyclinic.visits.visit import TeamVisit

    revealed, chosen = visit.trace.last(Revealed), visit.trace.last(Chosen)
    assert revealed is not None  # noqa: S101
    if isinstance(visit, TeamVisit):
        show_team_outcome(screen, visit, knowledge)
    elif chosen is not None:
        show_choice(screen, chosen, revealed)
    else:
        show_outcome(screen, visit.trace.last(Reported), revealed, verdict(visit.report, visit.truth, knowledge))
