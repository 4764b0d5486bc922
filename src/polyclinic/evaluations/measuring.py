"""What is measured of items: one declaration of the measures makes means, comparisons, rows, document and table.

An item comes to values by the name of the measure: a number, or several numbers if the mean is over all of them of all
items. A measure without a value was not measured.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeVar

import msgspec
from rich.console import Console

from polyclinic.errors import PlayFailure
from polyclinic.evaluations.evaluation import Play, Plays
from polyclinic.events import End, Failed
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.run.output import Output, file_names
from polyclinic.statistics.comparison import Compared, compare_values, of_means
from polyclinic.statistics.uncertainty import Estimate, estimate, share_estimate
from polyclinic.terminal.tables import (
    DETECTABLE,
    DIFFERENCE_COLUMNS,
    Column,
    cell,
    difference_cells,
    few_line,
    interval,
    table,
    table_of,
)
from polyclinic.visits.team import TeamVisit
from polyclinic.visits.visit import Visit

V = TypeVar("V", bound=Visit | TeamVisit)
Item = TypeVar("Item")
Who = TypeVar("Who")

Value = float | list[float]
"""A value of an item, or several."""


def item_row(values: Mapping[str, Value], **facts: Any) -> ItemRow:
    """Returns the row of an item: several values are their mean, weighted by how many they are."""
    several = {name: value for name, value in values.items() if isinstance(value, list)}
    means = {name: sum(some) / len(some) for name, some in several.items() if some}
    single = {name: value for name, value in values.items() if not isinstance(value, list)}
    return ItemRow(values=single | means, weights={name: float(len(several[name])) for name in means}, **facts)


def output_of_visits(
    visits: Mapping[str, Sequence[V]],
    facts: Callable[[str, V], Mapping[str, Any]],
    *,
    seed: int,
    names: Mapping[str, str] | None = None,
    **output: Any,
) -> Output:
    """Returns the output of each entrant's visits: a file of traces, and for each visit a row with its place there.

    Args:
        visits: by entrant.
        facts: returns the `values` of a visit by measure, and other fields of its row.
        seed: of the run.
        names: of the files, without the file type; by default the entrants'.
        output: all else, as in `Output`. By default those visits failed that say so.
    """
    names, rows, files = file_names(visits) if names is None else names, [], dict[str, Iterable[object]]()
    for name, theirs in visits.items():
        file, line = f"{names[name]}.jsonl", 1
        files[file] = [event for visit in theirs for trace in visit.traces for event in trace]
        for visit in theirs:
            known: dict[str, Any] = {"item": visit.case, "model": name, "seed": seed, "at": f"{file}:{line}"}
            rows.append(item_row(**known, **facts(name, visit)))
            line += sum(map(len, visit.traces))
    every = [visit for theirs in visits.values() for visit in theirs]
    problems = (
        f"the first, {visit.case}: {failed.problem}"
        for visit in every
        if visit.report is None and (failed := visit.trace.last(Failed)) is not None
    )
    failures = {"failed": sum(visit.end is End.FAILED for visit in every), "failures": next(problems, "")}
    known_output: dict[str, Any] = {"n": len(rows), "rows": rows, **failures, **output}
    return Output(**known_output | {"files": files | output.get("files", {})})


def estimates(
    measures: Iterable[ItemMeasure],
    items: Iterable[tuple[str, Mapping[str, Value]]],
    *,
    pooled_shares: Collection[str] = (),
    seed: int = 0,
) -> dict[str, Estimate]:
    """Returns the mean of each measure over the values of all items.

    Args:
        measures: what is measured.
        items: the name and the values of each item.
        pooled_shares: measures with several values of an item that are 0 or 100 each.
        seed: of the bootstrap.
    """
    items, means = list(items), {}
    for one in measures:
        parts = [
            (item, part)
            for item, values in items
            if (value := values.get(one.name)) is not None
            for part in (value if isinstance(value, list) else [value])
        ]
        numbers, clusters = [part for _, part in parts], [item for item, _ in parts]
        if one.share or one.name in pooled_shares:
            means[one.name] = share_estimate(numbers, clusters=clusters)
        else:
            means[one.name] = estimate(numbers, clusters=clusters, seed=seed)
    return means


def picked(of: object, *names: str) -> dict[str, Any]:
    """Returns attributes by name, for a document."""
    return {name: getattr(of, name) for name in names}


def show_compared(
    screen: Console,
    title: str,
    compared: Sequence[Compared],
    columns: Mapping[str, Column],
    *,
    test: str = "sign-flip test",
    form: str = "+.2f",
) -> None:
    """Prints comparisons, if there are any; `columns` say what is compared, and `test` what the p values are from."""
    if not compared:
        return
    cells = {
        heading: lambda one, place=place: difference_cells(one.difference, one.p_holm, form)[place]
        for place, heading in enumerate(DIFFERENCE_COLUMNS)
    }
    screen.print(table_of(title, compared, {**columns, **cells}, left=len(columns)))
    corrected = f"; Holm's correction is over all {len(compared)} rows" if len(compared) > 1 else ""
    screen.print(f"p: {test}{corrected}; {DETECTABLE}", style="dim")


class MeasuredItem(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one play by measure, or the name of the failure that ended it."""

    item: str
    values: dict[str, Value] = {}
    failure: str = ""


class MeasuredEntrant(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one entrant: of each item, and their mean by measure."""

    name: str
    means: dict[str, Estimate]
    failed: int
    items: tuple[MeasuredItem, ...]


class MeasuredDifference(Compared, frozen=True, kw_only=True, rename={"first": "entrant", "second": "less"}):
    """An entrant's values less another's."""

    first: str
    second: str


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
    play: Callable[[Item, Who], Awaitable[Mapping[str, Value]]],
    name: Callable[[Item], str] = lambda item: str(getattr(item, "id", item)),
    seed: int = 0,
) -> Plays[Item, Who, MeasuredItem, MeasuredItem, MeasuredResult]:
    """Returns plays whose results are summed up, compared, printed and kept.

    Args:
        title: stands above the table.
        items: what is put to every player, such as cases.
        players: by name.
        measures: what `play` returns values of.
        play: puts an item to a player, and returns the values by measure, a share as 0 or 100; a list if an item has
            several. A PlayFailure that it raises is counted, and has no value.
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
        entrants = []
        for entrant, theirs in plays.items():
            items = tuple(play.scored for play in theirs)
            means = estimates(measures, ((one.item, one.values) for one in items), seed=seed)
            failed = sum(bool(one.failure) for one in items)
            entrants.append(MeasuredEntrant(name=entrant, means=means, failed=failed, items=items))
        values = {
            one.name: {each.item: item_row(each.values, item=each.item).values for each in one.items}
            for one in entrants
        }
        pairs, names = ((second, first) for first, second in combinations(plays, 2)), [one.name for one in measures]
        compared = compare_values(MeasuredDifference, values, names, pairs, lambda _: of_means(seed))
        return MeasuredResult(entrants=tuple(entrants), comparisons=compared)

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
                item_row(one.values, item=one.item, model=entrant, seed=seed, end=one.failure or "over")
                for entrant, one in items
            ],
            measures=measures,
        )

    return Plays(items=items, players=players, play=put, score=same, summarise=summarise, report=report)


def _show(screen: Console, title: str, result: MeasuredResult, measures: Sequence[ItemMeasure]) -> None:
    shown = table(title, ("", "measure", "mean", "95 % interval", "n", "failed"), left=2)
    for entrant in result.entrants:
        for measure in measures:
            mean = entrant.means[measure.name]
            called = f"{measure.name} %" if measure.percent else measure.name
            shown.add_row(*map(cell, (entrant.name, called, mean, interval(mean), mean.n, entrant.failed)))
    screen.print(shown)
    if few := few_line([mean.n for one in result.entrants for mean in one.means.values()], "item"):
        screen.print(few, style="dim")
    screen.print()
    show_compared(
        screen, "on the items of both", result.comparisons, {"measure": "measure", "": "first", "less": "second"}
    )
