"""Tables as files for other tools: CSV, Markdown, LaTeX."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from rich.cells import cell_len

from polyclinic.errors import UserError
from polyclinic.files import check_writable, write_text
from polyclinic.frames import csv_text
from polyclinic.results.printed import PrintedTable
from polyclinic.terminal.screen import console, plain
from polyclinic.terminal.tables import column_groups, counted

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "{''}", "`": "{`}", "–": "--", "—": "---", "…": r"\ldots{}", "±": r"$\pm$",
    "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\rightarrow$", "−": r"$-$", "α": r"$\alpha$",
    "β": r"$\beta$", "κ": r"$\kappa$", "τ": r"$\tau$", "µ": r"$\mu$", "μ": r"$\mu$",
    "\0": "{}",
})  # fmt: skip
_WITH_ENDS = re.compile(r"(\S+) \[(\S+), (\S+)\]")
_LATIN = re.compile(r"[\x00-\x7f\u00a1-\u017f]*")
"""Letters that pdfLaTeX sets with the encoding T1."""

_MARKDOWN = re.compile(r"[\\`*\[\]<>|~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|^(?:#|[-+](?=\s|$))")
_HEAD = r"% \usepackage[T1]{fontenc} \usepackage{booktabs,graphicx}"
_LETTERS = (
    "\n% pdfLaTeX lacks some of these letters: XeLaTeX or LuaLaTeX, and a font that has them"
    " (Chinese: \\usepackage{ctex})"
)
_FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
"""Makes a table as narrow as the page or the column where it is wider."""

_WIDEST = 115  # letters of a row that can still be read when they are as wide as a page


def markdown_text(text: str) -> str:
    """Returns a text as it may stand in a cell of Markdown: nothing in it is markup."""
    return _MARKDOWN.sub(lambda found: f"\\{found[0]}", _line(text))


def latex_text(text: str) -> str:
    """Returns a text as it may stand in a cell of LaTeX: nothing in it is a command."""
    return re.sub("-(?=-)", "-\0", _line(text)).translate(_LATEX)


def _line(text: str) -> str:
    """Returns a text in one line, without control characters."""
    return " ".join(plain(text).split())


def as_markdown(tables: Sequence[PrintedTable]) -> str:
    """Returns tables as Markdown, each with its notes below."""
    parts = []
    for table in tables:
        lines = [f"**{markdown_text(table.title)}**", ""] if table.title else []
        rule = ["---"] * table.left + ["---:"] * (len(table.columns) - table.left)
        cells = [[*map(markdown_text, row[: table.left]), *row[table.left :]] for row in table.rows]
        rows = [[*map(markdown_text, table.columns)], rule, *cells]
        parts.append("\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n")
        parts += [markdown_text(note) + "\n" for note in table.notes]
    return "\n".join(parts)


def as_latex(tables: Sequence[PrintedTable]) -> str:
    """Returns tables as floats of LaTeX that are no wider than the text, each with its notes below.

    A table that would be too small to read becomes several, each with the labels.
    """
    floats = [_float(part) for table in tables for part in _parts(table)]
    return "\n".join([_HEAD + ("" if all(_LATIN.fullmatch(one) for one in floats) else _LETTERS), *floats])


def _parts(table: PrintedTable) -> list[PrintedTable]:
    """Returns a table in parts that are narrow enough to read; the notes are below the last."""
    sizes = [max(map(cell_len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    room = _WIDEST - sum(size + 2 for size in sizes[: table.left])
    groups = column_groups(dict(list(enumerate(sizes))[table.left :]), room) or [[]]

    def part(row: Sequence[str], group: Sequence[int]) -> tuple[str, ...]:
        return (*row[: table.left], *(row[at] for at in group))

    return [
        table._replace(
            columns=part(table.columns, group),
            rows=tuple(part(row, group) for row in table.rows),
            notes=table.notes if group is groups[-1] else (),
        )
        for group in groups
    ]


def _float(table: PrintedTable) -> str:
    lines = [r"\begin{table}[tbp]", r"\centering", r"\small"]
    if table.title:
        lines.append(rf"\caption{{{latex_text(table.title)}}}")
    sides = "l" * table.left + "r" * (len(table.columns) - table.left)
    lines += [_FIT, rf"\begin{{tabular}}{{{sides}}}", r"\toprule"]
    lines += [_latex_row([*map(latex_text, table.columns)]), r"\midrule"]
    for row in table.rows:
        lines.append(_latex_row([*map(latex_text, row[: table.left]), *map(_latex_number, row[table.left :])]))
    lines += [r"\bottomrule", r"\end{tabular}}"]
    if table.notes:
        told = ". ".join(latex_text(note).removesuffix(".") for note in table.notes)
        lines.append(rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {told}.}}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _latex_row(cells: Sequence[str]) -> str:
    # A star or a bracket here would be an option of the end of the row above.
    begin = "{}" if cells[0].startswith(("*", "[")) else ""
    return begin + " & ".join(cells) + r" \\"


def _latex_number(cell: str) -> str:
    """Returns a number, with its interval in small letters; a minus is no hyphen."""
    found = _WITH_ENDS.fullmatch(cell)
    text, *ends = [
        f"${one[0]}${latex_text(one[1:])}" if one.startswith(("-", "+")) else latex_text(one)
        for one in (found.groups() if found else [cell])
    ]
    return rf"{text} {{\footnotesize [{', '.join(ends)}]}}" if ends else text


Rows = Sequence[Mapping[str, Any]]


class TableLayout(StrEnum):
    """A kind of file."""

    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


_ENDINGS = {".csv": TableLayout.CSV, ".md": TableLayout.MARKDOWN, ".tex": TableLayout.LATEX}


def write_tables(
    tables: Sequence[PrintedTable],
    rows: Rows,
    layout: TableLayout | None,
    out: Path | None,
    *,
    otherwise: TableLayout | None = None,
) -> None:
    """Prints or writes tables as Markdown or LaTeX, or plain rows as CSV.

    `otherwise` is the layout if neither `layout` nor the name of the file gives one.
    """
    layout = layout or _ENDINGS.get("" if out is None else out.suffix.lower(), otherwise)
    if layout is None:
        raise UserError(f"{out}: its ending says no layout; name one with --format, or end it in {', '.join(_ENDINGS)}")
    if layout is not TableLayout.CSV and not tables:
        raise UserError(f"{layout.value} is no layout to print plain rows in; use csv, or --json")
    typeset = {TableLayout.MARKDOWN: as_markdown, TableLayout.LATEX: as_latex}
    text = typeset[layout](tables) if layout in typeset else as_csv(rows)
    if out is None:
        sys.stdout.write(text)
        return
    check_writable(out)
    write_text(out, text)
    console().print(f"{counted(len(rows), 'row')}: {out}")


def as_csv(rows: Rows) -> str:
    """Returns plain rows as CSV."""
    return csv_text(list(dict.fromkeys(name for row in rows for name in row)), rows)
