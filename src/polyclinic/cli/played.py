"""Visits in which a person plays: one after the other, the last line taken back where wanted, and what was missed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from polyclinic.cli.show import show_end
from polyclinic.errors import PersonLeft, PolyclinicError, UserError
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.names import Names
from polyclinic.metrics.stewardship import stewardship
from polyclinic.players.human.desk import Desk, LineTakenBack
from polyclinic.players.minds import HUMAN
from polyclinic.terminal.screen import plain
from polyclinic.visits.team import TeamVisit
from polyclinic.visits.visit import Visit

AnyVisit = Visit | TeamVisit


def desk_of(session: Path | None, minds: Sequence[str]) -> tuple[Desk, bool]:
    """Returns where a person plays, and whether one does; a `UserError` where nobody would type what is kept."""
    played = HUMAN in minds
    if session is not None and not played:
        raise UserError("--session keeps what a person types; play the doctor or the patient: --doctor human")
    return Desk(session=session), played


async def hold_in_turn(
    holds: Sequence[Callable[[], Awaitable[AnyVisit]]], desk: Desk
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
            desk.show(f"Taken back: {taken}" if taken else "There is nothing to take back.")
            desk.rewind()
            visits.clear()
        except PolyclinicError as error:
            if isinstance(error, PersonLeft) and not visits:
                raise
            return visits, error
    return visits, None


def show_played(screen: Console, visits: Sequence[AnyVisit], knowledge: Knowledge) -> None:
    """Prints what came of visits beside what is so, and what was missed."""
    for visit in visits:
        show_end(screen, visit, knowledge)
        _show_missed(screen, visit, knowledge)


def _show_missed(screen: Console, visit: AnyVisit, knowledge: Knowledge) -> None:
    """Prints which examinations the disease needs and were not had, and which were had for nothing.

    Nothing is said of a disease that the knowledge does not hold.
    """
    chosen = stewardship(visit.traces, visit.truth.diagnoses, knowledge, Names(knowledge))
    if not chosen.disease:
        return
    for said, ids in (
        ("had, and needed", chosen.needed),
        ("needed, and not had", chosen.needed_missed),
        ("would have helped", chosen.helpful_missed),
        ("not indicated, and had", chosen.not_indicated),
    ):
        if ids:
            names = ", ".join(knowledge.examinations[id].name.en for id in ids)
            screen.print(Text.assemble((f"{said}: ", "bold"), plain(names)))
