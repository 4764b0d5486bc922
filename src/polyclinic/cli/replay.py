"""`polyclinic replay`: recorded visits, shown again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.cli.options import Json
from polyclinic.cli.show import show_end
from polyclinic.cli.team import TeamView
from polyclinic.events import Convened, Opened, Revealed, Trace
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.terminal.screen import console, print_json
from polyclinic.visits.revisit import revisit_all


def replay(
    trace: Annotated[Path, Parameter(help="A trace that 'polyclinic consult --out' wrote.")],
    /,
    *,
    json: Json = False,
) -> None:
    """Shows the visits of a trace, or prints them as they were printed."""
    traces = Trace.read(trace)
    if json:
        documents = [visit.document() for visit in revisit_all(traces)]
        print_json(documents[0] if len(documents) == 1 else documents)
        return
    knowledge, screen = read_knowledge(), console()
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
