"""Plays that come to plain numbers: means, paired comparisons, table, document and rows are made of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeVar

import msgspec
from rich.console import Console
from rich.text import Text

from polyclinic.errors import PlayFailure
from polyclinic.evaluations.against import show_differences
from polyclinic.evaluations.evaluation import Play, Plays
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.run.output import Output
from polyclinic.statistics.uncertainty import Difference, Estimate, estimate, holm, paired_difference, share_estimate
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import few_line, interval, mean_and_error, table

Item = TypeVar("Item")
Who = TypeVar("Who")


class MeasuredItem(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one play by measure, or the name of the failure that ended it."""

    item: str
    values: dict[str, float] = {}
    failure: str = ""


class MeasuredEntrant(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one entrant: of each item, and their mean by measure."""

    name: str
    means: dict[str, Estimate]
    failed: int
    items: tuple[MeasuredItem, ...]


class MeasuredDifference(msgspec.Struct, frozen=True, kw_only=True):
    """An entrant's values less another's, on the items of both; Holm's correction is over all of an evaluation."""

    measure: str
    entrant: str
    less: str
    difference: Difference
    p_holm: float | None = None


class MeasuredResult(msgspec.Struct, frozen=True, kw_only=True):
    """The values of all entrants, and how they compare."""

    entrants: tuple[MeasuredEntrant, ...]
    comparisons: tuple[MeasuredDifference, ...]


def measured(
    title: str,
    items: Sequence[Item],
    players: Mapping[str, Who],
    *,
    measures: Sequence[ItemMeasure],
    play: Callable[[Item, Who], Awaitable[Mapping[str, float]]],
    name: Callable[[Item], str] = lambda item: str(getattr(item, "id", item)),
    seed: int = 0,
) -> Plays[Item, Who, MeasuredItem, MeasuredItem, MeasuredResult]:
    """Returns plays whose results are summed up, compared, printed and kept.

    Args:
        title: stands above the table.
        items: what is put to every player, such as cases.
        players: by name.
        measures: what `play` returns values of.
        play: puts an item to a player, and returns the values by measure, a share as 0 or 100. A PlayFailure that it
            raises is counted, and has no value.
        name: returns an item's name.
        seed: of the bootstrap.
    """

    async def put(item: Item, player: Who) -> MeasuredItem:
        try:
            return MeasuredItem(item=name(item), values=dict(await play(item, player)))
        except PlayFailure as failure:
            return MeasuredItem(item=name(item), failure=f"{type(failure).__name__}: {failure}")

    async def same(item: Item, player: Who, played: MeasuredItem) -> MeasuredItem:
        return played

    async def summarise(plays: Mapping[str, Sequence[Play[Any, Any, Any, MeasuredItem]]]) -> MeasuredResult:
        values = {
            (entrant, one.name): {
                play.scored.item: play.scored.values[one.name] for play in theirs if one.name in play.scored.values
            }
            for entrant, theirs in plays.items()
            for one in measures
        }
        entrants = []
        for entrant, theirs in plays.items():
            items = tuple(play.scored for play in theirs)
            means = {}
            for one in measures:
                of_items = list(values[entrant, one.name].values())
                means[one.name] = share_estimate(of_items) if one.share else estimate(of_items, seed=seed)
            failed = sum(bool(item.failure) for item in items)
            entrants.append(MeasuredEntrant(name=entrant, means=means, failed=failed, items=items))
        found = []
        for measure in (one.name for one in measures):
            for first, second in combinations(plays, 2):
                before, after = values[first, measure], values[second, measure]
                both = [item for item in after if item in before]
                less = paired_difference([after[item] for item in both], [before[item] for item in both], seed=seed)
                found.append(MeasuredDifference(measure=measure, entrant=second, less=first, difference=less))
        corrected = holm([one.difference.p for one in found])
        compared = (msgspec.structs.replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True))
        return MeasuredResult(entrants=tuple(entrants), comparisons=tuple(compared))

    def report(result: MeasuredResult) -> Output:
        items = [(entrant.name, one) for entrant in result.entrants for one in entrant.items]
        failures = [one.failure for _, one in items if one.failure]
        return Output(
            document={"entrants": result.entrants, "comparisons": result.comparisons},
            show=lambda screen: _show(screen, title, result, measures),
            written="Summary: {}",
            failed=len(failures),
            n=len(items),
            plays="plays",
            failures=f"the first: {failures[0]}" if failures else "",
            rows=[
                ItemRow(item=one.item, values=one.values, model=entrant, seed=seed, end=one.failure or "over")
                for entrant, one in items
            ],
            measures=measures,
        )

    return Plays(
        items=items, players=players, play=put, score=same, summarise=summarise, report=report, sums_up_parts=True
    )


def _show(screen: Console, title: str, result: MeasuredResult, measures: Sequence[ItemMeasure]) -> None:
    shown = table(title, ("", "measure", "mean", "95 % interval", "n", "failed"), left=2)
    for entrant in result.entrants:
        for measure in measures:
            mean = entrant.means[measure.name]
            called = f"{measure.name} %" if measure.percent else measure.name
            cells = (mean_and_error(mean), interval(mean), str(mean.n), str(entrant.failed))
            shown.add_row(Text(plain(entrant.name)), called, *cells)
    screen.print(shown)
    if few := few_line([mean.n for one in result.entrants for mean in one.means.values()], "item"):
        screen.print(few, style="dim")
    screen.print()
    rows = [((one.measure, one.entrant, one.less), one.difference, one.p_holm) for one in result.comparisons]
    show_differences(screen, "on the items of both", ("measure", "", "less"), rows)
