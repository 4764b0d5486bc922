"""What bears one name and is not the same: sets of other content, runs that were set otherwise, a study's many runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from polyclinic.results.folder import DataFile, ItemMeasure, ItemRow, RunRecord
from polyclinic.results.reading import STUDY, RunResults, runs_of_study
from polyclinic.results.settings import differences

_PUT = ("questions", "cases", "test")  # options whose files hold the items


class RowsEntrant(NamedTuple):
    """Who was put to which set, by the names in the folders."""

    set: str
    model: str
    method: str

    @classmethod
    def of(cls, row: ItemRow) -> RowsEntrant:
        """Returns whose row it is."""
        return cls(row.set, row.model, row.method)


class _MeasureScale(NamedTuple):
    """What values of a measure mean."""

    percent: bool
    less_is_better: bool

    @classmethod
    def of(cls, measure: ItemMeasure) -> _MeasureScale:
        return cls(measure.percent, measure.less_is_better)

    @property
    def shown(self) -> str:
        """The scale in words, where evaluations of one kind differ in it."""
        return f"{'percent' if self.percent else 'number'}{', less is better' if self.less_is_better else ''}"


def told_apart(results: Sequence[RunResults]) -> list[RunResults]:
    """Returns results in which one name is one thing; of a study beside others, its runs.

    Sets that bear one name, and were read from files of other content, are sets of their own, named by their files,
    where the same item stands in several of them: it is not the same. Where no item does, they are parts of one set.
    Where runs that name an entrant alike were set otherwise, its method says how. Measures that bear one name and are
    not of one scale, as a grade and a percentage, are named with the evaluation that they are of.
    """
    runs = [run for one in results for run in (runs_of_study(one) if len(results) > 1 else (one,))]
    return _methods_apart(_sets_apart(_measures_apart(runs)))


def _measures_apart(results: Sequence[RunResults]) -> list[RunResults]:
    scales: dict[str, dict[_MeasureScale, str]] = {}
    for one in results:
        for measure in one.record.measures:
            kind = one.record.kind.rpartition(" ")[2]
            scales.setdefault(measure.name, {}).setdefault(_MeasureScale.of(measure), kind)
    named = {
        name: {
            scale: f"{name} ({kind if len(set(by.values())) == len(by) else scale.shown})" for scale, kind in by.items()
        }
        for name, by in scales.items()
        if len(by) > 1
    }
    return [_renamed(one, named) for one in results] if named else [*results]


def _renamed(one: RunResults, named: Mapping[str, Mapping[_MeasureScale, str]]) -> RunResults:
    new = {each.name: named[each.name][_MeasureScale.of(each)] for each in one.record.measures if each.name in named}
    if not new:
        return one
    record = msgspec.structs.replace(
        one.record,
        measures=[msgspec.structs.replace(each, name=new.get(each.name, each.name)) for each in one.record.measures],
        published=[
            msgspec.structs.replace(each, measure=new.get(each.measure, each.measure)) for each in one.record.published
        ],
    )
    rows = [
        msgspec.structs.replace(
            row,
            values={new.get(name, name): value for name, value in row.values.items()},
            weights={new.get(name, name): value for name, value in row.weights.items()},
        )
        for row in one.rows
    ]
    return one._replace(record=record, rows=rows)


def _sets_apart(results: Sequence[RunResults]) -> list[RunResults]:
    contents = [_content(one.record) for one in results]
    holding: dict[str, dict[tuple[str, ...], set[str]]] = {}
    for one, content in zip(results, contents, strict=True):
        for row in one.rows if content else ():
            holding.setdefault(row.set, {}).setdefault(content, set()).add(row.item)
    files = {content: _put(one.record)[0] for one, content in zip(results, contents, strict=True) if content}
    named = {
        name: _names(name, {content: files[content] for content in by_content})
        for name, by_content in holding.items()
        if len(set().union(*by_content.values())) < sum(map(len, by_content.values()))
    }

    def rows(one: RunResults, content: tuple[str, ...]) -> Iterator[ItemRow]:
        for row in one.rows:
            name = named.get(row.set, {}).get(content, row.set)
            yield row if name == row.set else msgspec.structs.replace(row, set=name)

    return [
        one._replace(rows=[*rows(one, content)]) if named else one
        for one, content in zip(results, contents, strict=True)
    ]


def _put(record: RunRecord) -> list[DataFile]:
    """Returns the files that hold what was put to the entrants."""
    return sorted((one for one in record.data if one.option in _PUT), key=lambda one: (one.option, one.file))


def _content(record: RunRecord) -> tuple[str, ...]:
    """Returns by what the items are known; empty where nobody says, as in what is shipped."""
    return tuple(one.sha256 for one in _put(record))


def _names(name: str, files: Mapping[tuple[str, ...], DataFile]) -> dict[tuple[str, ...], str]:
    """Returns how a set of each content is called: by its file, by what is in it, or by both."""
    stems = [PurePath(file.file).stem for file in files.values()]
    differ = len(set(stems)) == len(stems)
    shown = {}
    for content, file in files.items():
        stem, digest = PurePath(file.file).stem, file.sha256[:6]
        shown[content] = f"{name} ({stem if differ else digest if stem == name else f'{stem} {digest}'})"
    return shown


def _methods_apart(results: Sequence[RunResults]) -> list[RunResults]:
    holding: dict[RowsEntrant, dict[str, dict[int, set[str]]]] = {}
    for number, one in enumerate(results):
        for row in one.rows:
            kinds = holding.setdefault(RowsEntrant.of(row), {})
            kinds.setdefault(one.record.kind, {}).setdefault(number, set()).add(row.item)
    told: dict[tuple[int, RowsEntrant], str] = {}
    for entrant, kinds in holding.items():
        for runs in _of_one_kind(kinds):
            # Parts of a set lie in files of their own; an item of the same name in two files is not the same.
            shared = len(set().union(*runs.values())) < sum(map(len, runs.values()))
            records = [results[number].record for number in runs]
            apart = differences(records, entrant.model, entrant.method, data=shared) if len(runs) > 1 else [""]
            told |= {(number, entrant): said for number, said in zip(runs, apart, strict=True) if said}

    def rows(number: int) -> Iterator[ItemRow]:
        for row in results[number].rows:
            said = told.get((number, RowsEntrant.of(row)))
            method = ", ".join(filter(None, (row.method, said)))
            yield msgspec.structs.replace(row, method=method) if said else row

    return [one._replace(rows=[*rows(number)]) if told else one for number, one in enumerate(results)]


def _of_one_kind(kinds: Mapping[str, dict[int, set[str]]]) -> Iterable[dict[int, set[str]]]:
    """Returns runs, by the kind of what they measure; of a study whose runs are gone nobody knows which it is."""
    if STUDY in kinds:
        return [{number: items for runs in kinds.values() for number, items in runs.items()}]
    return kinds.values()
