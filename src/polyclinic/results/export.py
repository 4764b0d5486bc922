"""Tables as files for other tools: CSV, Markdown, LaTeX, Parquet, JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.errors import MissingExtra, UserError
from polyclinic.files import whole, write_text
from polyclinic.frames import cell
from polyclinic.results.typeset import latex_row, latex_text, markdown_text

Rows = Sequence[Mapping[str, Any]]


class TableLayout(StrEnum):
    """A kind of file."""

    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"
    PARQUET = "parquet"
    JSON = "json"


def as_text(rows: Rows, layout: TableLayout) -> str:
    """Returns rows as a text in the layout; Parquet is none.

    Raises:
        UserError: it is no text.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    match layout:
        case TableLayout.CSV:
            out = io.StringIO()
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(map(cell, columns))
            writer.writerows([[cell("" if row.get(c) is None else row[c]) for c in columns] for row in rows])
            return out.getvalue()
        case TableLayout.MARKDOWN:
            return _markdown(columns, [_shown(row, columns) for row in rows])
        case TableLayout.LATEX:
            return _latex(columns, [_shown(row, columns) for row in rows], rows)
        case TableLayout.JSON:
            return msgspec.json.format(msgspec.json.encode(list(rows)), indent=2).decode() + "\n"
    raise UserError("parquet is no text; name a file for it: --out FILE.parquet")


def write_table(path: Path, rows: Rows, layout: TableLayout) -> None:
    """Writes rows as a file.

    Raises:
        MissingExtra: Parquet, without what writes it.
        BadInput: the file cannot be written.
    """
    if layout is not TableLayout.PARQUET:
        write_text(path, as_text(rows, layout))
        return
    try:
        import pyarrow as arrow  # noqa: PLC0415
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("Parquet needs pyarrow: pip install 'polyclinic[parquet]'") from None
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with whole(path) as temporary:
        parquet.write_table(arrow.table({c: [row.get(c) for row in rows] for c in columns}), temporary)


def _shown(row: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    return [_text(row.get(name)) for name in columns]


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(map(markdown_text, cells)) + " |\n"

    return line(columns) + "|" + "---|" * len(columns) + "\n" + "".join(map(line, rows))


def _latex(columns: Sequence[str], rows: Sequence[Sequence[str]], values: Rows) -> str:
    side = "".join("l" if any(isinstance(row.get(name), str) for row in values) else "r" for name in columns)

    def line(cells: Sequence[str]) -> str:
        return latex_row([*map(latex_text, cells)]) + "\n"

    body = "".join(map(line, rows))
    return f"\\begin{{tabular}}{{{side}}}\n\\toprule\n{line(columns)}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"
