"""Tables of results as files, or on stdout for another program."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from polyclinic.cli.options import FILE
from polyclinic.errors import UserError
from polyclinic.files import check_writable, write_text
from polyclinic.results.export import TableLayout, as_text, write_table
from polyclinic.results.printed import PrintedTable
from polyclinic.results.typeset import as_latex, as_markdown
from polyclinic.terminal.screen import console, plain
from polyclinic.terminal.tables import counted

To = Annotated[
    TableLayout | None,
    Parameter(
        help="Write it as it is shown, for Markdown or LaTeX, or its plain rows as CSV, JSON or Parquet; by default "
        "what --out ends in."
    ),
]
NewTable = Annotated[Path | None, FILE, Parameter(help="Where to write it; by default it is printed.")]

_ENDINGS = {".md": TableLayout.MARKDOWN, ".tex": TableLayout.LATEX}
_ENDINGS |= {f".{one}": one for one in (TableLayout.CSV, TableLayout.JSON, TableLayout.PARQUET)}


def write_tables(
    tables: Sequence[PrintedTable],
    rows: Sequence[Mapping[str, Any]],
    to: TableLayout | None,
    out: Path | None,
    *,
    otherwise: TableLayout | None = None,
) -> None:
    """Writes tables as people read them where the layout is for people, and there are any; else plain rows.

    `otherwise` is the layout where neither `to` nor the name of the file says one.

    Raises:
        UserError: nothing says the layout.
        BadInput: the file cannot be written.
    """
    layout = to or _ENDINGS.get("" if out is None else out.suffix.lower(), otherwise)
    if layout is None:
        raise UserError(f"{out}: its ending says no layout; name one with --to, or end it in {', '.join(_ENDINGS)}")
    if out is not None:
        check_writable(out)
    typeset = {TableLayout.MARKDOWN: as_markdown, TableLayout.LATEX: as_latex}.get(layout)
    if out is None:
        sys.stdout.write(as_text(rows, layout) if typeset is None or not tables else typeset(tables))
        return
    if typeset is None or not tables:
        write_table(out, rows, layout)
    else:
        write_text(out, typeset(tables))
    console().print(plain(f"{counted(len(rows), 'row')}: {out}"))
