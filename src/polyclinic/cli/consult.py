"""`polyclinic consult`: a doctor, or several, see the patients of a case file."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from polyclinic.cases.case import Case
from polyclinic.cli import options
from polyclinic.cli.memory_knowledge import say_other_knowledge
from polyclinic.cli.one_case import cases_named, split_case
from polyclinic.cli.pictures import lacking_pictures, note_pictures, pictures_seen
from polyclinic.cli.played import desk_of, hold_in_turn, score_played, show_played
from polyclinic.cli.show import show_end, show_event, show_visits
from polyclinic.cli.storing import keep_outcome
from polyclinic.cli.team import Stage
from polyclinic.cli.trust import note_trust
from polyclinic.errors import BudgetSpent, PlayFailure, PolyclinicError, StoppedByHand, UserError
from polyclinic.events import Failed, Order
from polyclinic.files import check_writable, write_text
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.options import FORGETFUL
from polyclinic.players.opening import Cast, open_minds
from polyclinic.players.patient_trust import trust_fields
from polyclinic.stopping import is_stopped
from polyclinic.tasks import interruptible, run_until_error
from polyclinic.terminal.screen import console, note, print_json, progress
from polyclinic.terminal.tables import counted
from polyclinic.terminal.usage import show_usage
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.team import TeamVisit, confer
from polyclinic.visits.visit import Visit, see


async def consult(
    *,
    case: Annotated[
        str,
        Parameter(
            metavar="FILE#ID",
            help="FILE, or FILE#ID for one case of it. 'shipped' and 'shipped-zh' are the cases that come with "
            "polyclinic.",
        ),
    ],
    layout: options.Layout = None,
    strict: options.Strict = False,
    doctor: options.Doctor = "rules",
    patient: options.Patient = "rules",
    examiner: options.Examiner = "rules",
    max_turns: options.MaxTurns = MAX_TURNS,
    one_step: Annotated[bool, Parameter(help="No dialogue: the doctor reads the whole record and reports.")] = False,
    seed: Annotated[options.Seed, Parameter(help="The same seed gives the same trace, byte for byte.")] = 0,
    out: Annotated[Path | None, Parameter(metavar="TRACE", help="Write the trace here, as JSON lines.")] = None,
    json: options.Json = False,
    team: options.TeamOptions = options.TEAM,
    max_failures: options.MaxFailures = 5.0,
    library: options.Library = options.LIBRARY,
    memory: options.Memory = FORGETFUL,
    pictures: options.Pictures = None,
    models: options.Models = options.MODELS,
    kept: options.KeptOptions = options.NOWHERE,
    session: options.Session = None,
) -> None:
    """Sees the patients, prints what happens, and writes the traces, also where the models have cost what they may."""
    path, one = _case_file(case)
    if out is not None:
        check_writable(out, unlike=path, nor=kept.journal, begins=_TRACE)
    doctors = _doctors(doctor, team)
    shown = pictures_seen(path, doctors, models, pictures)
    cases = cases_named(case, layout, strict=strict, needs=lacking_pictures(shown))
    note_pictures(path, cases, doctors, models, pictures)
    knowledge, screen = read_knowledge(), console()
    desk, played = desk_of(session, [patient, *doctors])
    cast = Cast(patient=patient, examiner=examiner, director=team.director)
    opening = open_minds(
        doctors,
        cast,
        models,
        knowledge=knowledge,
        seed=seed,
        journal=kept.answers,
        library=library,
        memory=memory,
        desk=desk,
        languages={one.presentation.language for one in cases},
        pictures=shown,
    )
    async with opening as opened:
        say_other_knowledge(memory)
        minds = [opened.minds[name] for name in doctors]

        async def hold(case: Case, screen: Console | None = None) -> Visit | TeamVisit:
            if not team.doctors:
                watch = None if screen is None else partial(show_event, screen)
                return await see(case, minds[0], max_turns=max_turns, in_one_step=one_step, watch=watch)
            return await confer(
                case,
                minds,
                max_turns=max_turns,
                in_one_step=one_step,
                order=team.order or Order.PARALLEL,
                max_rounds=team.max_rounds,
                disputes=not team.no_dispute_resolution,
                watch=None if screen is None else Stage(screen, len(minds)).watch,
            )

        stopped = None
        if played:
            language = cases[0].presentation.language
            visits, stopped = await hold_in_turn([partial(hold, case) for case in cases], desk, language)
            if not json:
                show_played(screen, visits, await score_played(cases, visits, minds[0], desk, knowledge), knowledge)
        elif one and not json:
            with interruptible(is_stopped):
                visits, stopped = await run_until_error([partial(hold, cases[0], screen)])
            if visits:
                show_end(screen, visits[0], knowledge)
        else:
            with interruptible(is_stopped), progress("consulting", len(cases), quiet=json) as advance:
                visits, stopped = await run_until_error((partial(hold, case) for case in cases), advance=advance)
    held = not one_step and any(visit.report is not None for visit in visits)
    trust = note_trust(opened.patient_trust if held else None)
    if not json:
        if not one:
            show_visits(screen, visits, knowledge)
        show_usage(console(sys.stderr), opened.session.ledger)
    if out is not None and visits:
        _write(out, visits, quiet=json)
    documents = [{**visit.document(), **trust_fields(trust)} for visit in visits]
    document = documents[0] if one and documents else documents
    with _traces(visits) as traces:
        ledger = opened.session.ledger
        keep_outcome(kept, document, models=models, ledger=ledger, seed=seed, files=[traces], stopped=stopped)
    if json and visits:
        print_json(document)
    if stopped is not None:
        raise _goes_on(stopped, len(visits), len(cases), kept=kept.answers is not None)
    _check_failures(visits, max_failures)


def _goes_on(stopped: PolyclinicError, done: int, of: int, *, kept: bool) -> PolyclinicError:
    """Returns what ended the visits, of a spent budget or somebody's stop with how they go on."""
    if not isinstance(stopped, BudgetSpent | StoppedByHand):
        return stopped
    again = "the same command goes on from there" if kept else "with --journal FILE a run can go on"
    return type(stopped)(f"{stopped}; {done} of {counted(of, 'visit')} {'is' if of == 1 else 'are'} done, and {again}")


def _case_file(case: str) -> tuple[Path, bool]:
    """Returns the file, and whether one case of it is named."""
    path, case_id = split_case(case)
    return path, case_id is not None


def _doctors(doctor: str, team: options.TeamOptions) -> list[str]:
    """Returns who sees the patients; a `UserError` where the options contradict one another."""
    if team.doctors and doctor != "rules":
        raise UserError(f"--doctor {doctor} and --doctors {' '.join(team.named)}; give one of the two")
    if not team.doctors and team != options.TEAM:
        raise UserError(
            "--director, --no-dispute-resolution, --order and --max-rounds need a discussion; give --doctors MIND MIND"
        )
    return team.named or [doctor]


_TRACE = b'{"event":'


@contextmanager
def _traces(visits: Sequence[Visit | TeamVisit]) -> Iterator[Path]:
    """Yields a file of all traces, which then goes away."""
    with tempfile.TemporaryDirectory(prefix="polyclinic-") as scratch:
        path = Path(scratch) / "traces.jsonl"
        _write(path, visits, quiet=True)
        yield path


def _write(out: Path, visits: Sequence[Visit | TeamVisit], *, quiet: bool) -> None:
    write_text(out, "".join(trace.sealed() for visit in visits for trace in visit.traces))
    if not quiet:
        note(f"Trace: {out}. See it again with: polyclinic replay {out}")


def _check_failures(visits: Sequence[Visit | TeamVisit], max_failures: float) -> None:
    failed = [visit for visit in visits if visit.report is None]
    if len(failed) * 100 > max_failures * len(visits):
        failure = failed[0].trace.last(Failed)
        first = failed[0].case
        if failure is not None:
            first = f"case {first}: {failure.error}: {failure.problem}"
        problem = "the visit failed" if len(visits) == 1 else f"{len(failed)} of {len(visits)} visits failed"
        raise PlayFailure(f"{problem} ({first})")
