"""`polyclinic consult`: a doctor, or several, see the patients of a case file."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec
from cyclopts import Parameter
from rich.console import Console

from polyclinic.cases.case import Case
from polyclinic.cli.chart import WORDS
from polyclinic.cli.one_case import cases_named, split_case
from polyclinic.cli.show import language_of, show_end, show_event, show_visits
from polyclinic.errors import BudgetSpent, PersonLeft, PlayFailure, PolyclinicError, StoppedByHand, UserError
from polyclinic.evaluations.case_pictures import lacking_pictures, note_pictures, pictures_seen
from polyclinic.events import Event, Failed, Order, Role
from polyclinic.files import check_writable, write_text
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.knowledge.names import Names
from polyclinic.language.language import MARKS, Language
from polyclinic.memory.options import FORGETFUL, MemoryOptions
from polyclinic.players.human.desk import Desk, LineTakenBack
from polyclinic.players.mind_names import HUMAN
from polyclinic.players.minds import Cast, Minds, open_minds
from polyclinic.players.patient_trust import trust_fields
from polyclinic.run import options
from polyclinic.run.storing import answers_of
from polyclinic.tasks import run_until_error
from polyclinic.terminal.chinese import ChineseText
from polyclinic.terminal.screen import console, note, plain, print_json, progress
from polyclinic.terminal.tables import counted
from polyclinic.terminal.usage import show_usage
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.visit import Visit, see

if TYPE_CHECKING:
    from polyclinic.evaluations.visit_score import PlayScore
    from polyclinic.visits.team import TeamVisit

AnyVisit: TypeAlias = "Visit | TeamVisit"


def desk_of(session: Path | None, minds: Sequence[str]) -> tuple[Desk, bool]:
    """Returns where a person plays, and whether one does; a `UserError` where nobody would type what is kept."""
    played = HUMAN in minds
    if session is not None and not played:
        raise UserError("run.session keeps what a person types; play the doctor or the patient: --doctor human")
    return Desk(session=session), played


async def hold_in_turn(
    holds: Sequence[Callable[[], Awaitable[AnyVisit]]], desk: Desk, language: Language
) -> tuple[list[AnyVisit], PolyclinicError | None]:
    """Holds visits one after the other; returns those that were over before an error of ours, with that error.

    A visit of which the last line is taken back is held once more, with all lines before it.
    """
    visits: list[AnyVisit] = []
    while len(visits) < len(holds):
        try:
            visits.append(await holds[len(visits)]())
        except LineTakenBack:
            taken = desk.take_back()
            words = _words(language)
            desk.show(words.taken_back.format(line=taken) if taken else words.nothing_taken_back)
            desk.rewind()
            visits.clear()
        except PolyclinicError as error:
            if isinstance(error, PersonLeft) and not visits:
                raise
            return visits, error
    return visits, None


async def score_played(
    cases: Sequence[Case], visits: Sequence[AnyVisit], minds: Minds, desk: Desk, knowledge: Knowledge
) -> list[PlayScore | None]:
    """Scores the visits in which a person was the doctor, as the page does; None for those of others, and of teams."""
    from polyclinic.evaluations.visit_score import Scorer  # noqa: PLC0415 - only where a person plays

    scorer = Scorer(knowledge, Names(knowledge))
    scores: list[PlayScore | None] = []
    for case, visit in zip(cases, visits, strict=False):
        if not isinstance(visit, Visit) or visit.report is None or minds.names[Role.DOCTOR] != HUMAN:
            scores.append(None)
            continue
        hints = desk.hints(f"{HUMAN} {case.id}")
        scores.append(await scorer.score(case, visit, minds, doctor=HUMAN, hints=hints, conversation=False))
    return scores


class _PlayedWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    needed: str
    needed_missed: str
    helpful: str
    helpful_missed: str
    not_indicated: str
    other: str
    danger_missed: str
    danger_unreported: str
    points: str
    part: str
    parts: dict[str, str]
    hints: str
    judged: str
    taken_back: str
    nothing_taken_back: str


_words = WORDS.section("played", _PlayedWords)


def show_played(
    screen: Console, visits: Sequence[AnyVisit], scores: Sequence[PlayScore | None], knowledge: Knowledge
) -> None:
    """Prints what came of visits beside what is so, and what they are worth."""
    for visit, score in zip(visits, scores, strict=True):
        show_end(screen, visit, knowledge, expected=None if score is None else score.expected)
        if score is not None:
            _show_score(screen, score, language_of(visit))


def _show_score(screen: Console, score: PlayScore, language: Language) -> None:
    """Prints which examinations were had and missed, which danger signs, and the points.

    Of examinations nothing is said where the knowledge does not hold the disease.
    """
    words, marks, chosen = _words(language), MARKS[language], score.stewardship
    judged = (
        (words.needed, chosen.needed),
        (words.needed_missed, chosen.needed_missed),
        (words.helpful, chosen.helpful),
        (words.helpful_missed, chosen.helpful_missed),
        (words.not_indicated, chosen.not_indicated),
        (words.other, chosen.other),
    )
    signs = ((words.danger_missed, score.danger.missed), (words.danger_unreported, score.danger.unreported))
    for said, names in (*(judged if chosen.judged else ()), *signs):
        if names:
            _line(screen, said + marks.colon, marks.item.join(names))
    for aspect in score.aspects:
        if aspect.analysis:
            _line(screen, f"{words.parts[aspect.aspect.value]} {aspect.grade or ''}{marks.colon}", aspect.analysis)
    parts = [
        words.part.format(name=words.parts[name], got=got, most=most)
        for name, (got, most) in score.points.parts.items()
    ]
    if score.points.hints:
        parts.append(words.hints.format(count=score.points.hints))
    told = words.points.format(total=score.points.total)
    _line(screen, told, f"{marks.semicolon}{marks.comma.join(parts)}" if parts else "")
    screen.print(ChineseText(words.judged, style="dim"))


def _line(screen: Console, head: str, told: str) -> None:
    line = ChineseText(head, style="bold")
    line.append(plain(told), style="not bold")
    screen.print(line)


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
    strict: options.StrictSetting = False,
    doctor: options.Doctor = "rules",
    patient: options.Patient = "rules",
    examiner: options.Examiner = "rules",
    max_turns: options.MaxTurns = MAX_TURNS,
    one_step: Annotated[bool, Parameter(help="Show the doctor the whole record, without a dialogue.")] = False,
    seed: Annotated[options.Seed, Parameter(help="Random seed; the same seed gives the same trace.")] = 0,
    out: Annotated[Path | None, options.A_FILE, Parameter(help="File for the trace, as JSON lines.")] = None,
    json: options.Json = False,
    team: options.TeamOptions = options.TEAM,
    max_failures: options.MaxFailures = 5.0,
    library: options.Library = options.LIBRARY,
    memory: options.Memory = FORGETFUL,
    pictures: options.Pictures = None,
    models: options.Models = options.MODELS,
    reuse: options.Reuse = None,
    session: options.Session = None,
) -> None:
    """Sees the patients, prints what happens, and writes the traces, also where the models have cost what they may."""
    path, one = _case_file(case)
    if out is not None:
        check_writable(out, unlike=path, begins=_TRACE)
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
        journal=answers_of(options.BesideFile(out=out, reuse=reuse)),
        library=library,
        memory=memory,
        desk=desk,
        languages={one.presentation.language for one in cases},
        pictures=shown,
    )
    async with opening as opened:
        _note_memory(memory)
        minds = [opened.minds[name] for name in doctors]

        async def hold(case: Case, screen: Console | None = None) -> Visit | TeamVisit:
            if not team.doctors:
                watch = None if screen is None else partial(show_event, screen)
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
                watch=None if screen is None else _stage(screen, len(minds)),
            )

        stopped = None
        if played:
            language = cases[0].presentation.language
            visits, stopped = await hold_in_turn([partial(hold, case) for case in cases], desk, language)
            if not json:
                show_played(screen, visits, await score_played(cases, visits, minds[0], desk, knowledge), knowledge)
        elif one and not json:
            visits, stopped = await run_until_error([partial(hold, cases[0], screen)])
            if visits:
                show_end(screen, visits[0], knowledge)
        else:
            with progress("consulting", len(cases), quiet=json) as advance:
                visits, stopped = await run_until_error((partial(hold, case) for case in cases), advance=advance)
    held = not one_step and any(visit.report is not None for visit in visits)
    trust = opened.patient_trust if held else None
    if trust is not None:
        note(trust.line)
    if not json:
        if not one:
            show_visits(screen, visits, knowledge)
        show_usage(console(sys.stderr), opened.session.ledger)
    if out is not None and visits:
        _write(out, visits, quiet=json)
    documents = [{**visit.document(), **trust_fields(trust)} for visit in visits]
    document = documents[0] if one and documents else documents
    if json and visits:
        print_json(document)
    if stopped is not None:
        raise _goes_on(stopped, len(visits), len(cases), kept=out is not None)
    _check_failures(visits, max_failures)


def _stage(screen: Console, doctors: int) -> Callable[[int, Event], None]:
    from polyclinic.cli.team import Stage  # noqa: PLC0415 - only of several doctors

    return Stage(screen, doctors).watch


def _note_memory(memory: MemoryOptions) -> None:
    if memory.memory is not None:
        from polyclinic.evaluations.memory_knowledge import say_other_knowledge  # noqa: PLC0415

        say_other_knowledge(memory)


def _goes_on(stopped: PolyclinicError, done: int, of: int, *, kept: bool) -> PolyclinicError:
    """Returns what ended the visits, of a spent budget or somebody's stop with how they go on."""
    if not isinstance(stopped, BudgetSpent | StoppedByHand):
        return stopped
    again = "the same command goes on from there" if kept else "with --out FILE a run can go on"
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
            "--director, team.order, team.max-rounds and team.no-dispute-resolution need a discussion; "
            "give --doctors MIND MIND"
        )
    return team.named or [doctor]


_TRACE = b'{"event":'


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
