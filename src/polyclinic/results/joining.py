"""One table of many runs: models, methods and sets, each with its measures, how sure they are, and what they cost."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import msgspec

from polyclinic.errors import UserError, meant
from polyclinic.frames import Tabular
from polyclinic.results.folder import ItemRow, read_calls
from polyclinic.results.reading import RunResults
from polyclinic.results.telling_apart import told_apart
from polyclinic.statistics.uncertainty import Estimate, estimate, ratio, share_estimate

_RESAMPLES = 2_000  # of a table of many numbers


class JoinedEntrant(msgspec.Struct, frozen=True, order=True):
    """Who was put to which set: a model or a mind, and how it answered."""

    set: str
    model: str
    method: str

    @property
    def label(self) -> str:
        """Model and method, as far as there are both."""
        return ", ".join(filter(None, (self.model, self.method)))


class JoinedRow(msgspec.Struct, frozen=True, kw_only=True):
    """How one entrant did.

    Attributes:
        measures: means with intervals: of shares Wilson's, of other numbers by bootstrap, both over cases.
        n: items with a value of the first measure; failed ones have none.
        calls: an item, and so round trips, tokens, cost and seconds; cost is over the items of which it is known, and
            `shared` calls serve others of the run too.
        published: it is what a paper prints, and nobody ran it here.
    """

    set: str
    model: str
    method: str
    seeds: tuple[int, ...]
    measures: dict[str, Estimate]
    n: int
    failed: int
    calls: float
    round_trips: float
    tokens: float
    cost: float | None
    seconds: float
    shared: float = 0
    published: bool = False


class JoinedTable(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """The table, the measures in their order, and what to be told beside it."""

    rows: tuple[JoinedRow, ...]
    measures: tuple[str, ...]
    notes: tuple[str, ...] = ()


def join(results: Sequence[RunResults], *, measures: Sequence[str] = ()) -> JoinedTable:
    """Joins results to one table, a row for each set, model and method.

    Args:
        results: as `read_results` reads them; an item that stands in several is taken from the last.
        measures: only these; all of them by default.

    Raises:
        UserError: nobody measured one of them.
    """
    stopped = [f"{one.called} was stopped early, {one.record.stopped}" for one in results if one.record.stopped]
    results = told_apart(results)
    by_entrant, twice = gathered(results)
    wanted = chosen_measures(results, measures)
    shares = {name: is_share(results, name) for name in wanted}
    rows = [_row(entrant, [*items.values()], shares) for entrant, items in by_entrant.items()]
    rows += _published(results, wanted)
    order = {name: place for place, name in enumerate(dict.fromkeys(row.set for row in rows))}
    rows.sort(key=lambda row: order[row.set])
    notes = [f"{twice} items stand in several folders; the last was taken"] if twice else []
    notes += _items_of_kinds(results)
    notes += _other_servers(results)
    notes += _told_of_calls(results, by_entrant)
    notes += [*stopped, *_other_data(results), *_not_beside(results)]
    return JoinedTable(rows=tuple(rows), measures=tuple(wanted), notes=tuple(notes))


Items = dict[tuple[str, int], ItemRow]
"""By item and seed."""


def gathered(results: Iterable[RunResults]) -> tuple[dict[JoinedEntrant, Items], int]:
    """Returns the items of every entrant of results that are `told_apart`, and how many stood in several folders."""
    found: dict[JoinedEntrant, Items] = {}
    twice = 0
    for one in results:
        measures = frozenset(one.measures)
        for row in one.rows:
            items = found.setdefault(JoinedEntrant(row.set, row.model, row.method), {})
            before = items.get((row.item, row.seed))
            others = set() if before is None else before.values.keys() - measures
            twice += before is not None and (not others or len(others) < len(before.values))
            items[row.item, row.seed] = row if before is None or not others else _together(before, row, others)
    return found, twice


def _together(before: ItemRow, row: ItemRow, others: Set[str]) -> ItemRow:
    """Returns what two benchmarks measured on one case: of the first what the second does not measure.

    Their calls are those of both; where a part of the first is measured anew, those of the first are of both already.
    """
    again = len(others) < len(before.values)
    joined = msgspec.structs.replace(
        before if again else row,
        values={**{name: before.values[name] for name in others}, **row.values},
        weights={**{name: one for name, one in before.weights.items() if name in others}, **row.weights},
    )
    if again:
        return joined
    costs = [one.cost for one in (before, row) if one.cost is not None]
    return msgspec.structs.replace(
        joined,
        calls=before.calls + row.calls,
        shared=before.shared + row.shared,
        round_trips=before.round_trips + row.round_trips,
        tokens=before.tokens + row.tokens,
        cost=sum(costs) if costs else None,
        seconds=before.seconds + row.seconds,
    )


def chosen_measures(results: Sequence[RunResults], wanted: Sequence[str]) -> list[str]:
    """Returns the measures that are wanted, all in the order of the runs where none is named.

    Raises:
        UserError: nobody measured one of them.
    """
    there = list(dict.fromkeys(name for one in results for name in one.measures))
    there += dict.fromkeys(
        value.measure for one in results for value in one.record.published if value.measure not in there
    )
    for name in wanted:
        if name not in there:
            raise UserError(f"no measure {name!r}{meant(name, there)}; there are: {', '.join(there) or 'none'}")
    return list(wanted) or there


def measured(rows: Sequence[ItemRow], name: str, *, share: bool) -> Estimate:
    """Returns the mean of a measure over items, with the interval that is its kind's."""
    having = [row for row in rows if name in row.values]
    values, cases = [row.values[name] for row in having], [row.cluster for row in having]
    clusters: list[Hashable] | None = None if len(set(cases)) == len(cases) else [*cases]
    if share:
        return share_estimate(values, clusters=clusters)
    weights = [row.weights.get(name, 1.0) for row in having]
    if any(weight != 1 for weight in weights):
        parts = [value * weight for value, weight in zip(values, weights, strict=True)]
        return ratio(parts, weights, clusters=clusters, resamples=_RESAMPLES)
    return estimate(values, clusters=clusters, resamples=_RESAMPLES)


def is_share(results: Iterable[RunResults], name: str) -> bool:
    """Whether a measure is the share of items of which something is so.

    That is what the runs say of it; where they do not, or not alike, it is one whose values are all 0 or 100: of a mean
    of parts they may happen to be that, too.
    """
    said: set[bool | None] = set()
    values: set[float] = set()
    for one in results:
        said |= {measure.share for measure in one.record.measures if measure.name == name}
        values.update(row.values[name] for row in one.rows if name in row.values)
    if not values <= {0.0, 100.0}:
        return False
    return said != {False}


def _row(entrant: JoinedEntrant, rows: Sequence[ItemRow], shares: Mapping[str, bool]) -> JoinedRow:
    n = max(len(rows), 1)
    priced = _priced(rows)
    costs = [row.cost for row in priced if row.cost is not None]
    measures = {name: measured(rows, name, share=share) for name, share in shares.items()}
    return JoinedRow(
        set=entrant.set,
        model=entrant.model,
        method=entrant.method,
        seeds=tuple(sorted({row.seed for row in rows})),
        measures={name: one for name, one in measures.items() if one.n},
        n=sum(bool(row.values) for row in rows),
        failed=sum(not row.values for row in rows),
        calls=sum(row.calls for row in rows) / n,
        shared=sum(row.shared for row in rows) / n,
        round_trips=sum(row.round_trips for row in rows) / n,
        tokens=sum(row.tokens for row in rows) / n,
        cost=sum(costs) / len(priced) if costs else None,
        seconds=sum(row.seconds for row in rows) / n,
    )


def _priced(rows: Sequence[ItemRow]) -> list[ItemRow]:
    """Returns the items of which is known what they cost: with a price, or without a call."""
    return [row for row in rows if row.cost is not None or not row.calls]


def _told_of_calls(results: Sequence[RunResults], by_entrant: Mapping[JoinedEntrant, Items]) -> Iterator[str]:
    """Says of which items a cost is no mean of all, and in which runs seconds are none of a model."""
    for entrant, items in by_entrant.items():
        rows = [*items.values()]
        known = len(_priced(rows))
        if known < len(rows) and any(row.cost is not None for row in rows):
            yield f"{entrant.set}, {entrant.label}: the cost is that of the {known} of {len(rows)} items with a price"
    for one in results:
        replayed, calls = (sum(getattr(call, name) for call in one.record.calls) for name in ("replayed", "calls"))
        if replayed:
            told = f"{replayed:,} of {calls:,} calls were answered from a journal"
            yield f"{one.called}: {told}; tokens and cost are those of then, and s is not what a model took"


def _items_of_kinds(results: Sequence[RunResults]) -> Iterator[str]:
    """Says over how many items each evaluation measured an entrant, where several did, and not over as many."""
    held: dict[JoinedEntrant, dict[str, set[tuple[str, int]]]] = {}
    for one in results:
        for row in one.rows:
            if row.values:
                kinds = held.setdefault(JoinedEntrant(row.set, row.model, row.method), {})
                kinds.setdefault(one.record.kind, set()).add((row.item, row.seed))
    for entrant, kinds in held.items():
        if len({len(items) for items in kinds.values()}) > 1:
            told = ", ".join(f"{len(items):,} of {kind}" for kind, items in kinds.items())
            yield f"{entrant.set}, {entrant.label}: n is of all together; items: {told}"


def _published(results: Sequence[RunResults], wanted: Sequence[str]) -> list[JoinedRow]:
    """Returns what papers print beside the sets of the runs."""
    sets = {row.set for one in results for row in one.rows}
    found: dict[JoinedEntrant, dict[str, Estimate]] = {}
    for value in (value for one in results for value in one.record.published):
        if value.set in sets and value.measure in wanted:
            printed = Estimate(mean=value.value, stderr=None, low=None, high=None, n=0)
            found.setdefault(JoinedEntrant(value.set, value.model, value.method), {})[value.measure] = printed
    return [
        JoinedRow(
            set=entrant.set,
            model=entrant.model,
            method=entrant.method,
            seeds=(),
            measures=measures,
            n=0,
            failed=0,
            calls=0,
            round_trips=0,
            tokens=0,
            cost=None,
            seconds=0,
            published=True,
        )
        for entrant, measures in found.items()
    ]


def _not_beside(results: Sequence[RunResults]) -> list[str]:
    """Says which figures of a paper stand beside nothing, as no run is of their set."""
    sets = {row.set for one in results for row in one.rows}
    printed = dict.fromkeys(value.set for one in results for value in one.record.published)
    missing = [name for name in printed if name not in sets]
    return [f"the paper's figures of {', '.join(missing)} are left out: no run here is of that set"] if missing else []


def _other_servers(results: Sequence[RunResults]) -> list[str]:
    """Says which model several addresses answered for: whether it is the same there, nobody knows."""
    servers: dict[str, dict[tuple[str, ...], None]] = {}
    for asked in (model for one in results for model in one.record.models if model.base_url):
        servers.setdefault(asked.name, {})[tuple(asked.base_url)] = None
    return [
        f"{name}: runs asked it at {'; '.join(' '.join(one) for one in at)}, which is taken for the same model"
        for name, at in servers.items()
        if len(at) > 1
    ]


def _other_data(results: Sequence[RunResults]) -> list[str]:
    """Says where one set was read from files that are not the same."""
    hashes: dict[str, set[tuple[str, ...]]] = {}
    for one in results:
        read = tuple(sorted(file.sha256 for file in one.record.data if file.option in ("questions", "cases")))
        for name in {row.set for row in one.rows} if read else ():
            hashes.setdefault(name, set()).add(read)
    return [f"{name}: the runs read files that are not the same" for name, kinds in hashes.items() if len(kinds) > 1]


def flat_rows(table: JoinedTable) -> list[dict[str, Any]]:
    """Returns the table as plain rows: a measure's mean under its name, its interval and n beside."""
    rows = []
    for row in table.rows:
        flat: dict[str, Any] = {"set": row.set, "model": row.model, "method": row.method}
        for name in table.measures:
            one: Mapping[str, Any] = msgspec.structs.asdict(row.measures[name]) if name in row.measures else {}
            flat[name] = one.get("mean")
            flat |= {f"{name}_{part}": one.get(part) for part in ("stderr", "low", "high", "n")}
        flat |= {
            "published": row.published,
            "items": row.n,
            "failed": row.failed,
            "seeds": " ".join(map(str, row.seeds)),
        }
        flat |= {name: getattr(row, name) for name in ("calls", "shared", "round_trips", "tokens", "cost", "seconds")}
        rows.append(flat)
    return rows


def call_rows(results: Iterable[RunResults]) -> Iterator[dict[str, Any]]:
    """Yields every call to a model as a plain row, with its folder."""
    for one in results:
        for call in read_calls(one.folder):
            yield {"folder": one.called, **msgspec.structs.asdict(call)}


def item_rows(results: Iterable[RunResults]) -> Iterator[dict[str, Any]]:
    """Yields every item as a plain row, with its folder; a measure's value under its name."""
    for one in results:
        for row in one.rows:
            flat = {name: getattr(row, name) for name in row.__struct_fields__ if name not in ("values", "weights")}
            weights = {f"{name}_weight": weight for name, weight in row.weights.items()}
            yield {"folder": one.called, **flat, **row.values, **weights}
