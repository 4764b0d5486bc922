"""What every evaluation is: items, who plays them, what a play is worth, and what all of it comes to.

A room of `benchmarks` states these four once, as functions. The command line (`cli.evaluation`) holds the evaluation
with them for several players beside one another; the tasks of Inspect (`evals`) are made of the same functions.
Methods on exams are players one after another (`exams.runs`): what one may take depends on what another took.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from polyclinic.cases.case_share import CaseShare
from polyclinic.errors import AccessLost, PolyclinicError, RunStopped, UnknownModel, WrongKey
from polyclinic.files import write_json, write_text
from polyclinic.models.kept_calls import AskedFor, asked_by_player
from polyclinic.players.patient_trust import PatientTrust, trust_fields
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.tasks import AT_ONCE, interruptible, run_until_error

if TYPE_CHECKING:
    from rich.console import Console

    from polyclinic.visits.team import TeamVisit
    from polyclinic.visits.visit import Visit

Item = TypeVar("Item")
Who = TypeVar("Who")
Played = TypeVar("Played")
Scored = TypeVar("Scored")
Summary = TypeVar("Summary")


class StoppedEarly(RunStopped):
    """The evaluation ended before its end.

    Attributes:
        summary: of the plays that were over, None where none can be made.
        why: what ended it.
    """

    def __init__(self, why: RunStopped, over: str = "", *, summary: Any = None) -> None:
        self.summary = summary
        self.why: RunStopped = why.why if isinstance(why, StoppedEarly) else why
        super().__init__(f"{why}; {over}" if over else str(why))


@dataclass(frozen=True)
class Play(Generic[Item, Who, Played, Scored]):
    """One item, who played it, what came of it, and what that is worth."""

    item: Item
    player: Who
    played: Played
    scored: Scored


@dataclass(frozen=True, kw_only=True)
class Benchmark(Generic[Item, Who, Played, Scored, Summary]):
    """An evaluation.

    Attributes:
        items: what is put to every player.
        play: puts an item to a player; that the player failed is part of what it returns, and not raised.
        score: says what a play is worth, and may ask a judge.
        summarise: sums up the plays of every player, in the order of the items.
        at_once: how many plays run at a time.
        sums_up_parts: whether `summarise` can be given some of the plays, not of all players the same.
    """

    items: Sequence[Item]
    play: Callable[[Item, Who], Awaitable[Played]]
    score: Callable[[Item, Who, Played], Awaitable[Scored]]
    summarise: Callable[[Mapping[str, Sequence[Play[Item, Who, Played, Scored]]]], Awaitable[Summary]]
    at_once: int = AT_ONCE
    sums_up_parts: bool = False

    async def hold(self, players: Mapping[str, Who], *, advance: Callable[[], None] = lambda: None) -> Summary:
        """Puts every item to every player, all at once, and calls `advance` when one is played and scored.

        Raises:
            WrongKey: an endpoint wants another key, and nothing is over.
            UnknownModel: it has no such model, and nothing is over.
            StoppedEarly: the run has cost what it may cost, somebody stopped it, or a model cannot be asked any more.
        """

        async def one(name: str, item: Item) -> tuple[str, Play[Item, Who, Played, Scored]]:
            player = players[name]
            played = await self.play(item, player)
            play = Play(item, player, played, await self.score(item, player, played))
            advance()
            return name, play

        makes = (partial(one, name, item) for name in players for item in self.items)
        over, stopped = await run_until_error(makes, at_once=self.at_once)
        if over and isinstance(stopped, (WrongKey, UnknownModel)):
            stopped = AccessLost(str(stopped))
        if stopped is not None and not isinstance(stopped, RunStopped):
            raise stopped
        plays: dict[str, list[Play[Item, Who, Played, Scored]]] = {name: [] for name in players}
        for name, play in over:
            plays[name].append(play)
        if stopped is None:
            return await self.summarise(plays)
        told = f"{len(over)} of {len(players) * len(self.items)} are over"
        raise StoppedEarly(stopped, told, summary=await self._so_far(plays)) from None

    async def _so_far(self, plays: Mapping[str, Sequence[Play[Item, Who, Played, Scored]]]) -> Summary | None:
        """Sums up what is over, where that can be done without asking anybody."""
        if not self.sums_up_parts or not any(plays.values()):
            return None
        try:
            with interruptible(lambda: False):
                return await self.summarise(plays)
        except (PolyclinicError, ArithmeticError, LookupError, ValueError):
            return None  # a judge may not be asked any more, or too little is over


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a user gets of an evaluation.

    Attributes:
        document: what `--json` prints; the folder of `--out` holds it as well.
        files: the other files there: their texts, piece by piece, by name.
        written: says what stands in the folder; "" says nothing.
        failed: how many of what was played failed, of `n`; 0 of 0 where failures are not judged by their share.
        plays: what was played.
        failures: why what failed did, by the kinds of failure; "" says nothing.
        rows: item by item what came of it, for `polyclinic.results`; measures: what they have values of.
        asked_for: for which row a call was made.
        departures: what was other than in the paper that is followed.
    """

    document: Mapping[str, Any]
    show: Callable[[Console], None]
    document_file: str = "summary.json"
    files: Mapping[str, Iterable[str]] = field(default_factory=dict)
    written: str = "Traces and summary: {}"
    failed: int = 0
    n: int = 0
    plays: str = "visits"
    failures: str = ""
    rows: Sequence[ItemRow] = ()
    measures: Sequence[ItemMeasure] = ()
    asked_for: AskedFor = asked_by_player
    departures: Sequence[str] = ()

    def with_trust(self, trust: PatientTrust | None) -> Output:
        """Returns the same with how far the patient is to be trusted; as it is where nothing is to be said of that."""
        if trust is None:
            return self

        def show(screen: Console) -> None:
            self.show(screen)
            screen.print(f"\n{trust.line}", style="yellow")

        return replace(self, document={**self.document, **trust_fields(trust)}, show=show)

    def with_case_shares(self, shares: Sequence[CaseShare]) -> Output:
        """Returns the same with how many of the records of its case files are used, and which are not."""
        if not shares:
            return self

        def show(screen: Console) -> None:
            self.show(screen)
            for share in shares:
                if share.left_out:
                    screen.print(f"\n{share}; {len(share.left_out)} left out", style="yellow")

        return replace(self, document={**self.document, "cases_used": msgspec.to_builtins(list(shares))}, show=show)

    def write(self, folder: Path) -> None:
        """Writes the document and the files.

        Raises:
            BadInput: the folder cannot be written to.
        """
        for name, pieces in self.files.items():
            write_text(folder / name, "".join(pieces))
        write_json(folder / self.document_file, self.document)


def trace_places(file: str, visits: Iterable[Visit | TeamVisit]) -> dict[str, str]:
    """Returns by case where its visit begins in a file of traces, as `FILE:LINE`."""
    places, line = {}, 1
    for visit in visits:
        places[visit.case] = f"{file}:{line}"
        line += sum(map(len, visit.traces))
    return places


def first_failure(visits: Iterable[Visit | TeamVisit]) -> str:
    """Returns why the first visit that failed did, "" where none did."""
    from polyclinic.events import Failed  # noqa: PLC0415 - for those that failed alone

    for visit in visits:
        failed = visit.trace.last(Failed)
        if visit.report is None and failed is not None:
            return f"the first, {visit.case}: {failed.problem}"
    return ""


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Returns for each name a file's, without its ending: a mind's name may hold strokes and colons."""
    given: dict[str, str] = {}
    for name in names:
        safe = re.sub(r"[^\w.-]+", "-", name).strip(".-") or "doctor"
        free = (one for one in chain([safe], (f"{safe}-{n}" for n in count(2))) if one not in given.values())
        given[name] = next(free)
    return given
