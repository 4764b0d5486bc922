"""`polyclinic consult`: a doctor, or several, see the patients of a case file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from polyclinic.cases.case import Case
from polyclinic.cli.chart import WORDS
from polyclinic.cli.show import Stage, VisitView, language_of, show_end, show_visits
from polyclinic.errors import PlayFailure, PolyclinicError, RunStopped, UserError
from polyclinic.evaluations.case_pictures import cases_with_pictures
from polyclinic.events import Failed, Order, Role
from polyclinic.files import check_writable, write_text
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.knowledge.names import names_of
from polyclinic.language.language import MARKS, Language
from polyclinic.memory.options import FORGETFUL
from polyclinic.players.human.desk import Desk
from polyclinic.players.mind_names import HUMAN
from polyclinic.players.minds import Cast, Minds, open_minds
from polyclinic.players.patient_trust import trust_fields
from polyclinic.run import options
from polyclinic.run.case_files import cases_named, split_case
from polyclinic.run.invocation import NOT_INVOKED
from polyclinic.run.run import resume_hint
from polyclinic.run.storing import answers_of
from polyclinic.tasks import AT_ONCE, run_until_error
from polyclinic.terminal.screen import console, note, print_json, progress
from polyclinic.terminal.tables import counted
from polyclinic.terminal.usage import show_usage
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.visit import Visit, see

if TYPE_CHECKING:
    from polyclinic.evaluations.visit_score import PlayScore
    from polyclinic.visits.team import TeamVisit


_words = WORDS.section("played", dict[str, Any])


def _show_score(screen: Console, score: PlayScore, language: Language) -> None:
    """Prints which examinations were had and missed, which danger signs, and the points.

    Of examinations nothing is said where the knowledge does not hold the disease.
    """
    words, marks, chosen = _words(language), MARKS[language], score.stewardship
    lists = ("needed", "needed_missed", "helpful", "helpful_missed", "not_indicated", "other")
    judged = [(words[name], getattr(chosen, name)) for name in lists] if chosen.judged else []
    judged += [(words["danger_missed"], score.danger.missed), (words["danger_unreported"], score.danger.unreported)]
    for said, names in judged:
        if names:
            _line(screen, said + marks.colon, marks.item.join(names))
    for aspect in score.aspects:
        if aspect.analysis:
            _line(screen, f"{words['parts'][aspect.aspect.value]} {aspect.grade or ''}{marks.colon}", aspect.analysis)
    parts = [
        words["part"].format(name=words["parts"][name], got=got, most=most)
        for name, (got, most) in score.points.parts.items()
    ]
    if score.points.hints:
        parts.append(words["hints"].format(count=score.points.hints))
    told = words["points"].format(total=score.points.total)
    _line(screen, told, f"{marks.semicolon}{marks.comma.join(parts)}" if parts else "")
    screen.print(words["judged"], style="dim")


def _line(screen: Console, head: str, told: str) -> None:
    screen.print(Text.assemble((head, "bold"), told))


async def consult(
    case: Annotated[str, Parameter(metavar="FILE#ID")],
    /,
    *,
    layout: options.Layout = None,
    strict: options.StrictSetting = False,
    doctor: options.Doctor = "rules",
    patient: options.Patient = "rules",
    examiner: options.Examiner = "rules",
    max_turns: options.MaxTurns = MAX_TURNS,
    one_step: bool = False,
    seed: options.Seed = 0,
    out: Annotated[Path | None, options.A_FILE] = None,
    json: options.Json = False,
    team: options.TeamOptions = options.TEAM,
    max_failures: options.MaxFailures = 5.0,
    library: options.Library = options.LIBRARY,
    memory: options.Memory = FORGETFUL,
    pictures: options.Pictures = None,
    models: options.Models = options.MODELS,
    reuse: options.Reuse = None,
    invocation: options.Invoked = NOT_INVOKED,
    session: options.Session = None,
) -> None:
    """Sees the patients, prints what happens, and writes the traces, also where the models have cost what they may.

    Args:
        case: FILE, or FILE#ID for one case of it. 'shipped' and 'shipped-zh' are the cases that come with polyclinic.
        one_step: Show the doctor the whole record, without a dialogue.
        out: File for the trace, as JSON lines.
    """
    path, case_id = split_case(case)
    one = case_id is not None
    if out is not None:
        check_writable(out, unlike=path, begins=_TRACE)
    doctors = _doctors(doctor, team)
    read = partial(cases_named, case, layout, strict=strict)
    cases, shown = cases_with_pictures(lambda needs: read(needs=needs), path, doctors, models, pictures)
    knowledge, screen = read_knowledge(), console()
    desk = options.open_desk(options.SessionOption(session=session), [patient, *doctors])
    kept = options.BesideFile(out=out, reuse=reuse, invocation=invocation)
    opening = open_minds(
        doctors,
        Cast(patient=patient, examiner=examiner, director=team.director),
        models,
        knowledge=knowledge,
        seed=seed,
        journal=answers_of(kept),
        library=library,
        memory=memory,
        desk=desk,
        languages={one.presentation.language for one in cases},
        pictures=shown,
    )
    async with opening as opened:
        if memory.memory is not None:
            from polyclinic.evaluations.memory_knowledge import say_other_knowledge  # noqa: PLC0415

            say_other_knowledge(memory)
        minds = [opened.minds[name] for name in doctors]
        played = HUMAN in (patient, *doctors)
        watched = screen if one and not json and not played else None

        async def hold(case: Case) -> Visit | TeamVisit:
            if not team.doctors:
                watch = None if watched is None else VisitView(watched).show
                return await see(case, minds[0], max_turns=max_turns, in_one_step=one_step, watch=watch)
            from polyclinic.visits.team import confer  # noqa: PLC0415 - only of several doctors

            return await confer(
                case,
                minds,
                max_turns=max_turns,
                in_one_step=one_step,
                order=team.order or Order.PARALLEL,
                max_rounds=team.max_rounds,
                disputes=not team.no_dispute_resolution,
                watch=None if watched is None else Stage(watched, len(minds)).watch,
            )

        if played:  # one patient at a time; where a line is taken back, the visit is held once more
            holds = [partial(desk.play, case.id, partial(hold, case)) for case in cases]
        else:
            holds = [partial(hold, case) for case in cases]
        with progress("consulting", len(cases), quiet=json or one or played) as advance:
            visits, stopped = await run_until_error(holds, at_once=1 if played else AT_ONCE, advance=advance)
        if not json and (one or played):
            for seen, visit in zip(cases, visits, strict=False):
                await _show_end(screen, seen, visit, minds[0], desk, knowledge)
    held = not one_step and any(visit.report is not None for visit in visits)
    trust = opened.patient_trust if held else None
    if trust is not None:
        note(trust.line)
    if not json:
        if not one:
            show_visits(screen, visits, knowledge)
        show_usage(console(sys.stderr), opened.session.ledger)
    if out is not None and visits:
        write_text(out, "".join(trace.sealed() for visit in visits for trace in visit.traces))
        if not json:
            note(f"Trace: {out}. See it again with: polyclinic replay {out}")
    documents = [{**visit.document(), **trust_fields(trust)} for visit in visits]
    if json and visits:
        print_json(documents[0] if one else documents)
    _check_end(visits, stopped, len(cases), kept, max_failures)


def _doctors(doctor: str, team: options.TeamOptions) -> list[str]:
    """Returns the doctors; a `UserError` where the options contradict one another."""
    if team.doctors and doctor != "rules":
        raise UserError(f"--doctor {doctor} and --doctors {' '.join(team.named)}; give one of the two")
    if not team.doctors and team != options.TEAM:
        raise UserError(
            "--director, team.order, team.max-rounds and team.no-dispute-resolution need a discussion; "
            "give --doctors MIND MIND"
        )
    return team.named or [doctor]


def _check_end(
    visits: Sequence[Visit | TeamVisit],
    stopped: PolyclinicError | None,
    n: int,
    kept: options.KeptOptions,
    max_failures: float,
) -> None:
    """Raises what ended the visits early, or that more of them failed than allowed."""
    if isinstance(stopped, RunStopped):
        done = f"{len(visits)} of {counted(n, 'visit')} {'is' if n == 1 else 'are'} done"
        raise resume_hint(type(stopped)(f"{stopped}; {done}"), kept, "consultation")
    if stopped is not None:
        raise stopped
    failed = [visit for visit in visits if visit.report is None]
    if len(failed) * 100 > max_failures * len(visits):
        problem = "the visit failed" if len(visits) == 1 else f"{len(failed)} of {len(visits)} visits failed"
        failure = failed[0].trace.last(Failed)
        why = "" if failure is None else f": {failure.error}: {failure.problem}"
        raise PlayFailure(f"{problem} (case {failed[0].case}{why})")


_TRACE = b'{"event":'


async def _show_end(
    screen: Console, case: Case, visit: Visit | TeamVisit, minds: Minds, desk: Desk, knowledge: Knowledge
) -> None:
    """Prints what came of a visit, and the score of a person who was the doctor, as the page does."""
    if not isinstance(visit, Visit) or visit.report is None or minds.names[Role.DOCTOR] != HUMAN:
        show_end(screen, visit, knowledge)
        return
    from polyclinic.evaluations.visit_score import Scorer  # noqa: PLC0415 - only where a person plays

    scorer, hints = Scorer(knowledge, names_of(knowledge)), desk.hints(f"{HUMAN} {case.id}")
    score = await scorer.score(case, visit, minds, doctor=HUMAN, hints=hints, conversation=False)
    show_end(screen, visit, knowledge, expected=score.expected)
    _show_score(screen, score, language_of(visit))
