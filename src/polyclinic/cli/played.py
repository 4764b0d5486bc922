"""Visits in which a person plays: one after the other, the last line taken back where wanted, and the score."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
from rich.console import Console

from polyclinic.cases.case import Case
from polyclinic.cli.chart import WORDS
from polyclinic.cli.show import language_of, show_end
from polyclinic.errors import PersonLeft, PolyclinicError, UserError
from polyclinic.events import Role
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.names import Names
from polyclinic.language.language import MARKS, Language
from polyclinic.players.human.desk import Desk, LineTakenBack
from polyclinic.players.mind_names import HUMAN
from polyclinic.players.minds import Minds
from polyclinic.terminal.chinese import ChineseText
from polyclinic.terminal.screen import plain
from polyclinic.visits.team import TeamVisit
from polyclinic.visits.visit import Visit
from polyclinic.web.chair.scoring import PlayScore, Scorer

AnyVisit = Visit | TeamVisit


def desk_of(session: Path | None, minds: Sequence[str]) -> tuple[Desk, bool]:
    """Returns where a person plays, and whether one does; a `UserError` where nobody would type what is kept."""
    played = HUMAN in minds
    if session is not None and not played:
        raise UserError("--session keeps what a person types; play the doctor or the patient: --doctor human")
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
    scorer, scores = Scorer(knowledge, Names(knowledge)), list[PlayScore | None]()
    for case, visit in zip(cases, visits, strict=False):
        if isinstance(visit, TeamVisit) or visit.report is None or minds.names[Role.DOCTOR] != HUMAN:
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
