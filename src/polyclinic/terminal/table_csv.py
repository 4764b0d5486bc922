"""The tables of a command as one CSV file for programs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.table import Table

from polyclinic.frames import cell
from polyclinic.terminal.figures import NOTHING, ShownFigure, Value

TABLE = "table"
"""The first column, which says of which table a row is."""

_ABOUT_INTERVALS = re.compile(r"\s*(?:\[(?:95 %)[^\]]*\]|\(?95 % interval\)?|± se)")
_EMPTY = {NOTHING, "·", ""}


class PlainTable(NamedTuple):
    """A table of plain values."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]


def plain_table(shown: Table) -> PlainTable:
    """Returns a table for people as one of plain values.

    Each number is as it was before it was rounded; of an interval `low` and `high` have columns of their own, named by
    the number to the left that it is of, and what is missing is empty.
    """
    names: list[str] = []
    values: list[list[Value]] = []
    left = ""
    for column in shown.columns:
        cells = list(column.cells)
        parts = list(dict.fromkeys(part for one in cells if isinstance(one, ShownFigure) for part in one.parts))
        said = _text(column.header)
        head = _ABOUT_INTERVALS.sub("", said).strip()
        if "" not in parts and any(not isinstance(one, ShownFigure) and _text(one) not in _EMPTY for one in cells):
            parts.insert(0, "")
        for part in parts or [""]:
            of = head or (left if parts and (part or "95" in said) else "label")
            names.append(_unused(f"{of} {part}".strip(), names))
            values.append([_part(one, part) for one in cells])
        left = head or left
    title = getattr(shown, "called", "") or ("" if shown.title is None else _text(shown.title))
    return PlainTable(title, tuple(names), list(zip(*values, strict=True)))


def one_csv(tables: Sequence[PlainTable]) -> str:
    """Returns tables as one CSV: a header first, then every row, the title of its table before it.

    A column that a table has not is empty in its rows.
    """
    columns = tuple(dict.fromkeys(name for one in tables for name in one.columns))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(cell, (_unused(TABLE, columns), *columns)))
    for one in tables:
        for row in one.rows:
            there = dict(zip(one.columns, row, strict=True))
            writer.writerow(map(cell, (one.title, *(there.get(name) for name in columns))))
    return out.getvalue()


def _part(one: object, part: str) -> Value:
    if isinstance(one, ShownFigure):
        return one.parts.get(part)
    told = _text(one)
    return None if part or told in _EMPTY else told


def _text(one: object) -> str:
    return " ".join(str(getattr(one, "plain", one)).split())


def _unused(name: str, used: Sequence[str]) -> str:
    """Returns the name, with a number behind it where it stands there already."""
    return next(one for one in _numbered(name) if one not in used)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name} {number}"
        number += 1
