"""One table of many runs: models, methods and sets, each with its measures, their uncertainty and their cost.

Every two entrants of a set are compared on the items of both.

Sets of other content and runs with other settings that bear one name are told apart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import combinations
from pathlib import PurePath
from typing import Any

import msgspec

from polyclinic.errors import UserError, meant
from polyclinic.frames import Tabular
from polyclinic.models.settings import ASIDE
from polyclinic.results.folder import (
    STUDY,
    ItemMeasure,
    ItemRow,
    RunRecord,
    RunResults,
    grouped,
    read_calls,
    runs_of_study,
)
from polyclinic.statistics.comparison import Compared
from polyclinic.statistics.uncertainty import (
    Difference,
    Estimate,
    estimate,
    holm,
    paired_difference,
    ratio,
    share_difference,
    share_estimate,
)

_SAYS_NOTHING = ASIDE | frozenset(
    "model method doctor doctors settings seed seeds replicas limit sample everything id only questions cases journal "
    "verdicts figures resume html model_file made_of force strict share workers lookahead fork metric measures "
    "truncated thoughts correlate".split()
)
"""Of a configuration, at any depth: what no single answer depends on, or what rows say themselves."""

_LONGEST = 32


def differences(records: Sequence[RunRecord], model: str, method: str, *, data: bool) -> list[str]:
    """Returns the settings in which each run differs from the others, as "temperature=0"; "" for none.

    The parameters and code of this model and method count, and with `data` the content of the files.
    """
    every = [dict(_settings(one, model, method, data=data)) for one in records]
    names = dict.fromkeys(name for one in every for name in one)
    apart = [name for name in names if len({one.get(name, "") for one in every}) > 1]
    return [", ".join(f"{name}={one.get(name, '') or 'none'}" for name in apart) for one in every]


def _settings(record: RunRecord, model: str, method: str, *, data: bool) -> Iterator[tuple[str, str]]:
    yield from _leaves(record.configuration, "")
    for asked in record.models:
        if asked.name == model:
            yield from _leaves(asked.parameters, "")
    for code in record.code:
        if code.option not in _SAYS_NOTHING or code.name == model or method.startswith(code.name):
            version = ", ".join(filter(None, (code.package, code.sha256[:6])))
            yield f"code of {PurePath(code.name).name}", version
    if data:
        for file in record.data:
            yield file.option, f"{PurePath(file.file).name} {file.sha256[:6]}"


def _leaves(values: Mapping[str, Any], above: str) -> Iterator[tuple[str, str]]:
    """Yields what stands deepest, by its path; nothing of what is not set."""
    for name, value in values.items():
        if name in _SAYS_NOTHING:
            continue
        if isinstance(value, dict):
            yield from _leaves(value, f"{above}{name}.")
        elif value is not None and value is not False and value not in ("", [], {}):
            yield f"{above}{name}", _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, list) and all(isinstance(one, dict) and "said" in one for one in value):
        value = "; ".join(str(one["said"]) for one in value)  # events, in the words in which they were given
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    text = " ".join(text.split())
    digest = hashlib.blake2b(text.encode(), digest_size=2).hexdigest()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 8]}… {digest}"


_PUT = ("questions", "cases", "test")  # options whose files hold the items


class JoinedEntrant(msgspec.Struct, frozen=True, order=True):
    """Who was put to which set: a model or a mind, and how it answered."""

    set: str
    model: str
    method: str

    @classmethod
    def of(cls, row: ItemRow) -> JoinedEntrant:
        """Returns whose row it is."""
        return cls(row.set, row.model, row.method)

    @property
    def label(self) -> str:
        """Model and method, as far as there are both."""
        return ", ".join(filter(None, (self.model, self.method)))


def told_apart(results: Sequence[RunResults]) -> list[RunResults]:
    """Returns results in which one name is one thing; of a study beside others, its runs.

    Sets that bear one name, and were read from files of other content, are sets of their own, named by their files,
    where the same item stands in several of them: it is not the same. Where no item does, they are parts of one set.
    Where runs that name an entrant alike were set otherwise, its method says how. Measures that bear one name and are
    not of one scale, as a grade and a percentage, are named with the evaluation that they are of.
    """
    runs = [run for one in results for run in (runs_of_study(one) if len(results) > 1 else (one,))]
    return _methods_apart(_sets_apart(_measures_apart(runs)))


def _scale(measure: ItemMeasure) -> str:
    """Returns what values of a measure mean."""
    return f"{'percent' if measure.percent else 'number'}{', less is better' if measure.less_is_better else ''}"


def _measures_apart(results: Sequence[RunResults]) -> list[RunResults]:
    kinds: dict[str, dict[str, str]] = {}
    for one in results:
        for measure in one.record.measures:
            kinds.setdefault(measure.name, {}).setdefault(_scale(measure), one.record.kind.rpartition(" ")[2])
    named = {
        (name, scale): f"{name} ({kind if len(set(by.values())) == len(by) else scale})"
        for name, by in kinds.items()
        for scale, kind in by.items()
        if len(by) > 1
    }
    return [_renamed(one, named) for one in results]


def _renamed(one: RunResults, named: Mapping[tuple[str, str], str]) -> RunResults:
    """Returns results with names for measures by name and scale."""
    new = {each.name: name for each in one.record.measures if (name := named.get((each.name, _scale(each))))}
    if not new:
        return one
    replace = msgspec.structs.replace
    record = replace(
        one.record,
        measures=[replace(each, name=new.get(each.name, each.name)) for each in one.record.measures],
        published=[replace(each, measure=new.get(each.measure, each.measure)) for each in one.record.published],
    )

    def keys(values: Mapping[str, float]) -> dict[str, float]:
        return {new.get(name, name): value for name, value in values.items()}

    rows = [replace(row, values=keys(row.values), weights=keys(row.weights)) for row in one.rows]
    return one._replace(record=record, rows=rows)


def _sets_apart(results: Sequence[RunResults]) -> list[RunResults]:
    # The content of a set is that of the files with its items; nothing is known of what is shipped.
    files = [
        sorted((file for file in one.record.data if file.option in _PUT), key=lambda file: (file.option, file.file))
        for one in results
    ]
    contents = [tuple(file.sha256 for file in put) for put in files]
    first_files = {content: put[0] for content, put in zip(contents, files, strict=True) if put}
    items: dict[str, dict[tuple[str, ...], set[str]]] = {}
    for one, content in zip(results, contents, strict=True):
        for row in one.rows if content else ():
            items.setdefault(row.set, {}).setdefault(content, set()).add(row.item)
    named: dict[tuple[str, tuple[str, ...]], str] = {}
    for name, by_content in items.items():
        if len(set().union(*by_content.values())) == sum(map(len, by_content.values())):
            continue  # no item is in two of them: they are parts of one set
        stems = [PurePath(first_files[content].file).stem for content in by_content]
        for content, stem in zip(by_content, stems, strict=True):
            digest = first_files[content].sha256[:6]
            both = digest if stem == name else f"{stem} {digest}"
            named[name, content] = f"{name} ({stem if len(set(stems)) == len(stems) else both})"

    def apart_in(content: tuple[str, ...], row: ItemRow) -> ItemRow:
        name = named.get((row.set, content))
        return row if name is None else msgspec.structs.replace(row, set=name)

    return [
        one._replace(rows=[apart_in(content, row) for row in one.rows])
        for one, content in zip(results, contents, strict=True)
    ]


def _methods_apart(results: Sequence[RunResults]) -> list[RunResults]:
    # Items by entrant, kind and run. The kinds of the runs of a study are unknown: it is compared with all.
    unknown = {JoinedEntrant.of(row) for one in results if one.record.kind == STUDY for row in one.rows}
    items: dict[tuple[JoinedEntrant, str], dict[int, set[str]]] = {}
    for number, one in enumerate(results):
        for row in one.rows:
            entrant = JoinedEntrant.of(row)
            kind = "" if entrant in unknown else one.record.kind
            items.setdefault((entrant, kind), {}).setdefault(number, set()).add(row.item)
    settings: dict[tuple[int, JoinedEntrant], str] = {}
    for (entrant, _), runs in items.items():
        if len(runs) > 1:
            # Parts of a set have files of their own; an item of the same name in two files is not the same.
            shared = len(set().union(*runs.values())) < sum(map(len, runs.values()))
            records = [results[number].record for number in runs]
            apart = differences(records, entrant.model, entrant.method, data=shared)
            settings |= {(number, entrant): how for number, how in zip(runs, apart, strict=True) if how}

    def apart_in(number: int, row: ItemRow) -> ItemRow:
        how = settings.get((number, JoinedEntrant.of(row)))
        return msgspec.structs.replace(row, method=", ".join(filter(None, (row.method, how)))) if how else row

    return [one._replace(rows=[apart_in(number, row) for row in one.rows]) for number, one in enumerate(results)]


_RESAMPLES = 2_000  # of a table of many numbers
_SUMS = ("calls", "shared", "round_trips", "tokens", "cost", "seconds")  # of an item, and in a table their means


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
    n: int = 0
    failed: int = 0
    calls: float = 0
    round_trips: float = 0
    tokens: float = 0
    cost: float | None = None
    seconds: float = 0
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
    notes += [*_notes_on_items(results, by_entrant), *stopped, *_notes_on_names(results)]
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
            items = found.setdefault(JoinedEntrant.of(row), {})
            before = items.get((row.item, row.seed))
            others = set() if before is None else before.values.keys() - measures
            twice += before is not None and (not others or len(others) < len(before.values))
            items[row.item, row.seed] = row if before is None or not others else _together(before, row, others)
    return found, twice


def _together(before: ItemRow, row: ItemRow, others: Set[str]) -> ItemRow:
    """Returns what two benchmarks measured on one case: of the first what the second does not measure.

    Their calls are those of both, unless a part of the first is measured again: then the first has both already.
    """
    again = len(others) < len(before.values)
    sums: dict[str, Any] = {}
    for name in () if again else _SUMS:
        known = [value for one in (before, row) if (value := getattr(one, name)) is not None]
        sums[name] = sum(known) if known else None
    return msgspec.structs.replace(
        before if again else row,
        values={**{name: before.values[name] for name in others}, **row.values},
        weights={**{name: one for name, one in before.weights.items() if name in others}, **row.weights},
        **sums,
    )


def chosen_measures(results: Sequence[RunResults], wanted: Sequence[str]) -> list[str]:
    """Returns the measures that are wanted, all in the order of the runs where none is named."""
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


def is_share(results: Sequence[RunResults], name: str) -> bool:
    """Whether a measure is the share of items of which something is so.

    The runs say so; if they do not, or disagree, it is one whose values are all 0 or 100. Means of parts may happen to
    be that, too.
    """
    said = {measure.share for one in results for measure in one.record.measures if measure.name == name}
    values = {row.values[name] for one in results for row in one.rows if name in row.values}
    return values <= {0.0, 100.0} and said != {False}


def _row(entrant: JoinedEntrant, rows: Sequence[ItemRow], shares: Mapping[str, bool]) -> JoinedRow:
    n, priced = max(len(rows), 1), _priced(rows)
    costs = [row.cost for row in priced if row.cost is not None]
    measures = {name: measured(rows, name, share=share) for name, share in shares.items()}
    means = {name: sum(getattr(row, name) for row in rows) / n for name in _SUMS if name != "cost"}
    return JoinedRow(
        **msgspec.structs.asdict(entrant),
        seeds=tuple(sorted({row.seed for row in rows})),
        measures={name: one for name, one in measures.items() if one.n},
        n=sum(bool(row.values) for row in rows),
        failed=sum(not row.values for row in rows),
        cost=sum(costs) / len(priced) if costs else None,
        **means,
    )


def _priced(rows: Sequence[ItemRow]) -> list[ItemRow]:
    """Returns the items whose cost is known: with a price, or without a call."""
    return [row for row in rows if row.cost is not None or not row.calls]


def _notes_on_items(results: Sequence[RunResults], by_entrant: Mapping[JoinedEntrant, Items]) -> Iterator[str]:
    """Says which numbers are not of all items, and which are not of calls to a model."""
    held: dict[JoinedEntrant, dict[str, set[tuple[str, int]]]] = {}
    for one in results:
        for row in one.rows:
            if row.values:
                kinds = held.setdefault(JoinedEntrant.of(row), {})
                kinds.setdefault(one.record.kind, set()).add((row.item, row.seed))
    for entrant, kinds in held.items():
        if len({len(items) for items in kinds.values()}) > 1:
            told = ", ".join(f"{len(items):,} of {kind}" for kind, items in kinds.items())
            yield f"{entrant.set}, {entrant.label}: n is of all together; items: {told}"
    for entrant, of_entrant in by_entrant.items():
        rows = [*of_entrant.values()]
        known = len(_priced(rows))
        if known < len(rows) and any(row.cost is not None for row in rows):
            yield f"{entrant.set}, {entrant.label}: the cost is that of the {known} of {len(rows)} items with a price"
    for one in results:
        replayed, calls = (sum(getattr(call, name) for call in one.record.calls) for name in ("replayed", "calls"))
        if replayed:
            told = f"{replayed:,} of {calls:,} calls were answered from a journal"
            yield f"{one.called}: {told}; tokens and cost are those of then, and s is not what a model took"


def _published(results: Sequence[RunResults], wanted: Sequence[str]) -> list[JoinedRow]:
    """Returns what papers print beside the sets of the runs."""
    sets = {row.set for one in results for row in one.rows}
    found: dict[JoinedEntrant, dict[str, Estimate]] = {}
    for value in (value for one in results for value in one.record.published):
        if value.set in sets and value.measure in wanted:
            printed = Estimate(mean=value.value, stderr=None, low=None, high=None, n=0)
            found.setdefault(JoinedEntrant(value.set, value.model, value.method), {})[value.measure] = printed
    return [
        JoinedRow(**msgspec.structs.asdict(entrant), seeds=(), measures=measures, published=True)
        for entrant, measures in found.items()
    ]


def _notes_on_names(results: Sequence[RunResults]) -> Iterator[str]:
    """Yields which figures of a paper have no set here, and which models of one name may not be the same."""
    sets = {row.set for one in results for row in one.rows}
    published = dict.fromkeys(value.set for one in results for value in one.record.published)
    if missing := [name for name in published if name not in sets]:
        yield f"the paper's figures of {', '.join(missing)} are left out: no run here is of that set"
    asked = [one for run in results for one in run.record.models if one.base_url]
    for name, of_name in grouped(asked, lambda one: one.name).items():
        if len(at := dict.fromkeys(" ".join(one.base_url) for one in of_name)) > 1:
            yield f"{name}: runs asked it at {'; '.join(at)}, which is taken for the same model"


def flat_rows(table: JoinedTable) -> list[dict[str, Any]]:
    """Returns the table as plain rows: a measure's mean under its name, then its interval and n."""
    rows = []
    for row in table.rows:
        flat: dict[str, Any] = {"set": row.set, "model": row.model, "method": row.method}
        for name in table.measures:
            one = row.measures.get(name)
            flat[name] = getattr(one, "mean", None)
            flat |= {f"{name}_{part}": getattr(one, part, None) for part in ("stderr", "low", "high", "n")}
        flat |= {"published": row.published, "items": row.n, "failed": row.failed}
        flat |= {"seeds": " ".join(map(str, row.seeds)), **{name: getattr(row, name) for name in _SUMS}}
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


class ResultsDifference(Compared, frozen=True, kw_only=True):
    """Two entrants of a set in one measure; p is corrected by Holm for all comparisons of the table."""

    set: str


class ResultsComparison(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """All comparisons."""

    rows: tuple[ResultsDifference, ...]


def compare_results(
    results: Sequence[RunResults], *, measures: Sequence[str] = (), baseline: str | None = None, seed: int = 0
) -> ResultsComparison:
    """Compares every two entrants of each set, or each with the baseline, item by item and seed by seed.

    Args:
        results: as `read_results` reads them.
        measures: which, of sets that have them; by default the chief one of the runs of each set.
        baseline: a model, a method, or both as the table names them.
        seed: of the bootstrap.
    """
    results = told_apart(results)
    chosen_measures(results, measures)
    wanted = _wanted(results, measures)
    entrants, _ = gathered(results)
    pairs = [
        (first, second)
        for name in dict.fromkeys(one.set for one in entrants)
        for first, second in _pairs([one for one in entrants if one.set == name], baseline)
    ]
    if not pairs:
        if baseline is not None and len(entrants) > 1:
            there = list(dict.fromkeys(name for one in entrants for name in (one.model, one.method, one.label) if name))
            raise UserError(f"no baseline {baseline!r}{meant(baseline, there)}; there are: {'; '.join(there)}")
        raise UserError(f"nothing to compare: {len(entrants)} of one set; name folders with two of the same set")
    shares = {name: is_share(results, name) for name in {one for names in wanted.values() for one in names}}
    found = [
        (first, second, name, _difference(entrants[first], entrants[second], name, seed, share=shares[name]))
        for first, second in pairs
        for name in wanted[first.set]
    ]
    corrected = holm([difference.p for *_, difference in found])
    rows = [
        ResultsDifference(
            set=first.set, measure=name, first=first.label, second=second.label, difference=difference, p_holm=p
        )
        for (first, second, name, difference), p in zip(found, corrected, strict=True)
    ]
    return ResultsComparison(rows=tuple(rows))


def _wanted(results: Sequence[RunResults], measures: Sequence[str]) -> dict[str, list[str]]:
    """Returns the measures in which a set's entrants are compared: those named that it has, else its chief ones."""
    found: dict[str, dict[str, None]] = {}
    for one in results:
        for name, rows in grouped(one.rows, lambda row: row.set).items():
            there = set[str]().union(*(row.values for row in rows))
            named = [measure for measure in measures or one.measures if measure in there]
            found.setdefault(name, {}).update(dict.fromkeys(named if measures else named[:1]))
    return {name: [*these] for name, these in found.items()}


def difference_rows(compared: ResultsComparison) -> list[dict[str, Any]]:
    """Returns comparisons as plain rows."""
    names = ("set", "measure", "first", "second", "p_holm")
    return [
        {name: getattr(row, name) for name in names} | msgspec.structs.asdict(row.difference) for row in compared.rows
    ]


def _pairs(entrants: Sequence[JoinedEntrant], baseline: str | None) -> list[tuple[JoinedEntrant, JoinedEntrant]]:
    if baseline is None:
        return [(second, first) for first, second in combinations(entrants, 2)]
    against = [one for one in entrants if baseline in (one.model, one.method, one.label)]
    # Named by its method alone, each model is held against its own.
    return [
        (one, base)
        for base in against
        for one in entrants
        if one not in against and (len(against) == 1 or one.model == base.model or one.method == base.method)
    ]


def _difference(first: Items, second: Items, name: str, seed: int, *, share: bool) -> Difference:
    both = [key for key, row in first.items() if name in row.values and key in second and name in second[key].values]
    mine, theirs = [first[key].values[name] for key in both], [second[key].values[name] for key in both]
    cases: list[Hashable] = [first[key].cluster for key in both]
    clusters = None if len(set(cases)) == len(cases) else cases
    if share and len(both) > 1:
        rights = [[one > 0 for one in some] for some in (mine, theirs)]
        return share_difference(*rights, clusters=clusters, seed=seed)
    return paired_difference(mine, theirs, clusters=clusters, resamples=_RESAMPLES, seed=seed)
