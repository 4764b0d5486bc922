"""Results as rows: a line to read, a table in a notebook, a frame of pandas or polars."""

from __future__ import annotations

import csv
import importlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from html import escape
from typing import Any, Literal, get_args

import msgspec

from polyclinic.errors import MissingExtra, UserError

Library = Literal["pandas", "polars"]

_SHOWN = 200  # rows of a table in a notebook
_LETTERS = 80  # of a text in a line
_CELL = 2000  # letters of a text in a table


# Spreadsheets of East Asia read the signs of full width as the others, and some pass over blanks before them.
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
_NUMBER = re.compile(r"[+-]?[\d.]+(?:e[+-]?\d+)?(?: to [+-]?[\d.]+)?", re.IGNORECASE)


def cell(value: Any) -> Any:
    """Returns what may stand in a cell of a CSV file: a text that a spreadsheet would run gets a `'` before it."""
    runs = isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value.strip())
    return f"'{value}" if runs else value


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], delimiter: str = ",") -> str:
    """Returns rows as CSV; what a row lacks is empty."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(map(cell, columns))
    writer.writerows([cell(row.get(name)) for name in columns] for row in rows)
    return out.getvalue()


def cell_text(written: str) -> str:
    """Returns what a cell that `cell` made was made from."""
    return written[1:] if written[:1] == "'" and _FORMULA.match(written[1:]) else written


class Tabular:
    """What can be shown as rows: the first list of results that it holds, or else itself."""

    __slots__ = ()

    def as_rows(self) -> list[dict[str, Any]]:
        """Returns the result as rows: plain values by name, the parts of a part after a dot (`accuracy.mean`)."""
        fields = (getattr(self, name) for name in getattr(self, "__struct_fields__", ()))
        lists = (one for one in fields if isinstance(one, tuple) and one and isinstance(one[0], msgspec.Struct))
        return [flat(one) for one in next(lists, (self,))]

    def to_frame(self, library: Library | None = None) -> Any:
        """Returns the rows as a data frame."""
        return to_frame(self.as_rows(), library)

    def __repr__(self) -> str:
        parts = ((name, getattr(self, name)) for name in getattr(self, "__struct_fields__", ()))
        return f"{type(self).__name__}({', '.join(f'{name}={_in_short(value)}' for name, value in parts)})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.as_rows())


def flat(value: Any) -> dict[str, Any]:
    """Returns the plain values of a struct or a mapping, those of its parts under `part.name`.

    Lists of words, and of what has a name, are joined by semicolons; other lists are left out.
    """
    if isinstance(value, msgspec.Struct):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    row: dict[str, Any] = {}
    for name, part in value.items():
        if isinstance(part, msgspec.Struct | Mapping):
            row |= {f"{name}.{inner}": one for inner, one in flat(part).items()}
        elif isinstance(part, Enum):
            row[str(name)] = part.value
        elif part is None or isinstance(part, str | int | float):
            row[str(name)] = part
        elif isinstance(part, tuple | list | frozenset):
            words = [one if isinstance(one, str) else getattr(one, "name", None) for one in part]
            if all(isinstance(word, str) for word in words):
                row[str(name)] = "; ".join(map(str, words))
    return row


def to_frame(rows: Iterable[Mapping[str, Any]], library: Library | None = None) -> Any:
    """Returns rows as a data frame of pandas or polars, whichever is installed; a value that a row lacks is missing."""
    if library is not None and library not in get_args(Library):
        raise UserError(f"no data frame of {library!r}; allowed: {', '.join(get_args(Library))}")
    given = list(rows)
    columns = list(dict.fromkeys(name for row in given for name in row))
    for name in (library,) if library else ("pandas", "polars"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return module.DataFrame({column: [row.get(column) for row in given] for column in columns})
    wanted = library or "pandas"
    package = "'polyclinic[frames]'" if wanted == "pandas" else wanted
    raise MissingExtra(f"{wanted} makes the data frame, and it is not installed: pip install {package}")


def html_table(caption: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns rows as a table of HTML, at most 200 of them. What they say is text, and never markup."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    body = "".join(f"<tr>{''.join(_cell('td', row.get(name)) for name in columns)}</tr>" for row in rows[:_SHOWN])
    rest = f"<p>and {len(rows) - _SHOWN} more rows: to_frame()</p>" if len(rows) > _SHOWN else ""
    head = f"<tr>{''.join(_cell('th', name) for name in columns)}</tr>"
    return f"<table><caption>{escape(caption)}</caption><thead>{head}</thead><tbody>{body}</tbody></table>{rest}"


def _cell(tag: str, value: Any) -> str:
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"<{tag}>{escape(text[:_CELL])}{' …' if len(text) > _CELL else ''}</{tag}>"


def _in_short(value: Any) -> str:
    if isinstance(value, Enum):
        return repr(value.value)
    if isinstance(value, str):
        return repr(value if len(value) <= _LETTERS else value[: _LETTERS - 2] + " …")
    if value is None or isinstance(value, int | float):
        return repr(value)
    if isinstance(value, msgspec.Struct):
        return f"<{type(value).__name__}>"
    return f"<{len(value)}>" if hasattr(value, "__len__") else f"<{type(value).__name__}>"
