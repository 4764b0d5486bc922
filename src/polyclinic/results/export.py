"""Tables as files for other tools: CSV, Markdown, LaTeX, Parquet, JSON."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from rich.cells import cell_len

from polyclinic.errors import MissingExtra, UserError
from polyclinic.files import whole, write_text
from polyclinic.frames import cell
from polyclinic.results.printed import PrintedNumber, PrintedRow, PrintedTable
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import column_groups

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "{''}", "`": "{`}", "–": "--", "—": "---", "…": r"\ldots{}", "±": r"$\pm$",
    "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\rightarrow$", "−": r"$-$", "α": r"$\alpha$",
    "β": r"$\beta$", "κ": r"$\kappa$", "τ": r"$\tau$", "µ": r"$\mu$", "μ": r"$\mu$",
    "\0": "{}",
})  # fmt: skip
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
    """Returns tables as Markdown, each number with its interval, and below them what is to be said."""
    parts = []
    for table in tables:
        lines = [f"**{markdown_text(table.title)}**", ""] if table.title else []
        heads = [*map(markdown_text, (*table.labels, *table.heads))]
        lines += [_row(heads), _row(["---" for _ in table.labels] + ["---:" for _ in table.heads])]
        lines += [_row([*map(markdown_text, row.labels), *map(str, row.figures)]) for row in table.rows]
        parts.append("\n".join(lines) + "\n")
        parts += [markdown_text(note) + "\n" for note in table.notes]
    return "\n".join(parts)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_latex(tables: Sequence[PrintedTable]) -> str:
    """Returns tables as floats of LaTeX, no wider than the text; each number has its interval, notes stand below.

    A table that could be read no more if it were made so narrow stands in parts, its labels in each.
    """
    floats = [_float(part) for table in tables for part in _parts(table)]
    told = _HEAD + ("" if all(_LATIN.fullmatch(one) for one in floats) else _LETTERS)
    return "\n".join([told, *floats])


def _parts(table: PrintedTable) -> list[PrintedTable]:
    """Returns a table in parts that are no wider than can be read; notes stand below the last."""

    def width(texts: Iterable[str]) -> int:
        return max(map(cell_len, texts))

    labels = sum(width((name, *(row.labels[at] for row in table.rows))) + 2 for at, name in enumerate(table.labels))
    sizes = {at: width((name, *(str(row.figures[at]) for row in table.rows))) for at, name in enumerate(table.heads)}
    groups = column_groups(sizes, _WIDEST - labels)
    return [
        table._replace(
            heads=tuple(table.heads[at] for at in group),
            rows=tuple(row._replace(figures=tuple(row.figures[at] for at in group)) for row in table.rows),
            notes=table.notes if group is groups[-1] else (),
        )
        for group in groups
    ]


def _float(table: PrintedTable) -> str:
    lines = [r"\begin{table}[tbp]", r"\centering", r"\small"]
    if table.title:
        lines.append(rf"\caption{{{latex_text(table.title)}}}")
    lines += [_FIT, rf"\begin{{tabular}}{{{'l' * len(table.labels)}{'r' * len(table.heads)}}}", r"\toprule"]
    lines += [latex_row([*map(latex_text, (*table.labels, *table.heads))]), r"\midrule"]
    lines += [line for row in table.rows for line in _latex_lines(row)]
    lines += [r"\bottomrule", r"\end{tabular}}"]
    if table.notes:
        told = ". ".join(latex_text(note).removesuffix(".") for note in table.notes)
        lines.append(rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {told}.}}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _latex_lines(row: PrintedRow) -> list[str]:
    cells = [*map(latex_text, row.labels), *map(_latex_figure, row.figures)]
    return [*([r"\midrule"] if row.apart else []), latex_row(cells)]


def latex_row(cells: Sequence[str]) -> str:
    """Returns a row of cells that are LaTeX."""
    # A star or a bracket here would be an option of the end of the row above.
    begin = "{}" if cells[0].startswith(("*", "[")) else ""
    return begin + " & ".join(cells) + r" \\"


def _latex_figure(figure: PrintedNumber) -> str:
    text = _signed(figure.text)
    return rf"{text} {{\footnotesize [{_signed(figure.low)}, {_signed(figure.high)}]}}" if figure.low else text


def _signed(number: str) -> str:
    """Returns a number with a minus, which is no hyphen."""
    if number.startswith(("-", "+")):
        return f"${number[0]}${latex_text(number[1:])}"
    return latex_text(number)


Rows = Sequence[Mapping[str, Any]]


class TableLayout(StrEnum):
    """A kind of file."""

    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"
    PARQUET = "parquet"
    JSON = "json"


def as_text(rows: Rows, layout: TableLayout) -> str:
    """Returns plain rows as CSV or JSON."""
    if layout is TableLayout.JSON:
        return msgspec.json.format(msgspec.json.encode(list(rows)), indent=2).decode() + "\n"
    if layout is not TableLayout.CSV:
        instead = "name a file for it: --out FILE.parquet" if layout is TableLayout.PARQUET else "use csv or json"
        raise UserError(f"{layout.value} is no layout to print plain rows in; {instead}")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(cell, columns))
    writer.writerows([[cell("" if row.get(c) is None else row[c]) for c in columns] for row in rows])
    return out.getvalue()


def write_table(path: Path, rows: Rows, layout: TableLayout) -> None:
    """Writes rows as a file."""
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
