"""`polyclinic replay`: recorded visits, shown again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from msgspec import to_builtins

from polyclinic.benchmarks.tor.page import page
from polyclinic.benchmarks.tor.picture import picture
from polyclinic.benchmarks.tor.recorded import holds_meetings, read_meetings
from polyclinic.cli.meeting_view import show_meeting
from polyclinic.cli.options import FILE, Force, Json, check_new
from polyclinic.cli.replay_run import replay_run
from polyclinic.cli.show import show_end
from polyclinic.cli.team import TeamView
from polyclinic.errors import UserError
from polyclinic.events import Convened, Opened, Revealed, Trace
from polyclinic.files import write_text
from polyclinic.hospital.record.run_file import RUN
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.results.folder import RECORD, traces_in
from polyclinic.terminal.screen import console, note, print_json
from polyclinic.terminal.tables import counted
from polyclinic.visits.revisit import revisit_all


def replay(
    trace: Annotated[
        Path,
        Parameter(
            help="A trace that 'polyclinic consult --out' wrote, meetings of 'polyclinic eval tor --out', or the "
            "folder of a run of the hospital."
        ),
    ],
    /,
    *,
    record: Annotated[
        str | None, Parameter(metavar="ID", help="Of meetings, only that on this record; the first for --svg.")
    ] = None,
    visit: Annotated[str | None, Parameter(metavar="ID", help="Of a run, this visit.")] = None,
    resident: Annotated[
        str | None, Parameter(metavar="NAME", help="Of a run, all visits of this resident, by name or id.")
    ] = None,
    html: Annotated[Path | None, FILE, Parameter(help="Draw meetings as a page, beside the record.")] = None,
    svg: Annotated[Path | None, FILE, Parameter(help="Draw the final tree of a meeting as a picture.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Shows the visits of a trace, or prints them as they were printed; of meetings, how the trees grew.

    Of a run of the hospital ('polyclinic run --out DIR') it lists the visits, or shows one from its beginning to its
    end: who waited for what, what was said when, what was found, given, and what came of it.
    """
    of_meetings = record is not None or html is not None or svg is not None
    trace = trace if of_meetings else _only_trace(trace)
    if trace.is_dir():
        if of_meetings:
            raise UserError("--record, --html and --svg are for meetings of 'polyclinic eval tor --out', not for a run")
        replay_run(trace, visit=visit, resident=resident, json=json)
        return
    if visit is not None or resident is not None:
        raise UserError(f"--visit and --resident are for the folder of 'polyclinic run --out'; {trace} is none")
    if holds_meetings(trace):
        _meetings(trace, record, html, svg, force=force, json=json)
        return
    if of_meetings:
        raise UserError(f"--record, --html and --svg are for meetings of 'polyclinic eval tor --out'; {trace} is none")
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
            for again in revisit_all(of_team if recorded.last(Convened) is not None else [recorded]):
                show_end(screen, again, knowledge)
        of_team.clear()


def _only_trace(folder: Path) -> Path:
    """Returns the trace in the folder of an evaluation; anything else as it is."""
    if not (folder / RECORD).exists() or (folder / RUN).exists():
        return folder
    found = traces_in(folder)
    if len(found) > 1:
        raise UserError(f"{folder} holds {len(found)} traces; name one of them: {', '.join(map(str, found))}")
    return found[0]


def _meetings(file: Path, record: str | None, html: Path | None, svg: Path | None, *, force: bool, json: bool) -> None:
    """Shows meetings, or draws them."""
    meetings = [one for one in read_meetings(file) if record in (None, one.id)]
    if not meetings:
        raise UserError(f"no meeting on record {record!r} in {file}")
    knowledge = read_knowledge()
    for out in (html, svg):
        if out is not None:
            check_new(out, force=force)
    if html is not None:
        write_text(html, page(meetings, knowledge, title=f"Tree-of-Reasoning: {file.name}"))
        note(f"{counted(len(meetings), 'meeting')}: {html}")
    if svg is not None:
        write_text(svg, picture(meetings[0], knowledge))
        note(f"the tree of record {meetings[0].id}: {svg}")
    if json:
        print_json(to_builtins(meetings, order="deterministic"))
    elif html is None and svg is None:
        for meeting in meetings:
            show_meeting(console(), meeting, knowledge)
