"""Where output goes: results to stdout, everything else to stderr."""

from __future__ import annotations

import io
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from itertools import chain, count
from typing import Any, NamedTuple, TextIO, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from polyclinic.frames import csv_text
from polyclinic.terminal.figures import NOTHING, ShownFigure, Value

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNKNOWN_WIDTH = 80  # letters, where nobody says how wide it is


class Redirected(io.TextIOBase):
    """A standard output on which only one JSON document, or one CSV of all tables, is printed.

    All else that is printed there, as by a user's mind, goes to stderr.
    """

    def __init__(self, out: TextIO, tables: list[PlainTable] | None = None) -> None:
        self.out, self.tables = out, tables

    def write(self, text: str) -> int:
        """Writes to stderr."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """Flushes stderr."""
        sys.stderr.flush()

    def isatty(self) -> bool:
        """Whether stderr is a terminal."""
        return sys.stderr.isatty()


def plain(text: str) -> str:
    """Returns a text as it may stand in a terminal: no control characters, whoever wrote it."""
    return _CONTROL.sub(" ", text.replace("\t", " ")).encode(errors="replace").decode()


class Screen(Console):
    """A console for which a reader that has read enough (`| head`) is nothing wrong.

    Where tables are wanted as CSV, those of stdout are kept for it, and what else goes there is for people on stderr.
    """

    def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:
        """Prints as rich does; a line of text that goes into a file or a pipe is not broken."""
        if isinstance(self.file, Redirected) and (tables := self.file.tables) is not None:
            for one in objects:
                if isinstance(one, Table) and one.show_header:  # without one it is text that is laid out
                    tables.append(plain_table(one))
                elif one:
                    Screen(stderr=True, highlight=False, markup=False).print(one, soft_wrap=soft_wrap, **options)
            return
        if soft_wrap is None and not self.is_terminal and all(isinstance(one, str) for one in objects):
            soft_wrap = True
        super().print(*objects, soft_wrap=soft_wrap, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Renders as rich does, without the control characters of texts, whoever wrote them."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain(segment.text))

    def on_broken_pipe(self) -> None:
        """Says so to whoever runs the program, which then ends in peace."""
        raise BrokenPipeError


def console(file: TextIO | None = None) -> Console:
    """Returns a console on stdout, or on another file.

    Piped into a file it writes plain text, without what a terminal would need: tables as wide as COLUMNS says or else
    80 letters, lines as long as they are.
    """
    out = sys.stdout if file is None else file
    said = os.environ.get("COLUMNS", "")
    width = int(said) if said.isdecimal() and int(said) else _UNKNOWN_WIDTH
    return Screen(file=out, width=None if out.isatty() else width, highlight=False, markup=False, emoji=False)


def note(text: str) -> None:
    """Prints a line for people on stderr, without control characters."""
    print(plain(text), file=sys.stderr)  # noqa: T201


@contextmanager
def tables_as_csv() -> Iterator[None]:
    """While it lasts, tables are kept; in the end, however it comes, they are printed as one CSV."""
    tables: list[PlainTable] = []
    try:
        with redirect_stdout(Redirected(sys.stdout, tables)):
            yield
        if not tables:
            note("--csv: this command has printed no table")
    finally:
        if tables:
            sys.stdout.write(one_csv(tables))


def are_tables_kept() -> bool:
    """Whether tables are wanted as CSV."""
    return isinstance(sys.stdout, Redirected) and sys.stdout.tables is not None


@contextmanager
def documents_alone() -> Iterator[None]:
    """While it lasts, stdout is for `print_json` alone: what else is printed, as by a user's mind, goes to stderr."""
    with redirect_stdout(Redirected(sys.stdout)):
        yield


def _documents() -> TextIO:
    return sys.stdout.out if isinstance(sys.stdout, Redirected) else sys.stdout


def print_json(document: object) -> None:
    """Prints one JSON document on stdout."""
    import msgspec

    out = _documents()
    out.write(msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n")


Document = TypeVar("Document")


def present(document: Document, show: Callable[[Console, Document], None], *, json: bool) -> None:
    """Prints a document as JSON, or shows it on a screen."""
    if json:
        print_json(document)
    else:
        show(console(), document)


def print_json_array(documents: Iterable[object]) -> None:
    """Prints one JSON array on stdout, as `print_json` does, one element after the other."""
    import msgspec

    out, between = _documents(), "[\n"
    for document in documents:
        text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
        out.write(between + textwrap.indent(text, "  "))
        between = ",\n"
    out.write("[]\n" if between == "[\n" else "\n]\n")


@contextmanager
def progress(what: str, total: int, *, quiet: bool) -> Iterator[Callable[[], None]]:
    """Shows a progress bar on stderr while it lasts, where stderr is a terminal; yields what advances it."""
    if quiet or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


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
    columns = list(dict.fromkeys(name for one in tables for name in one.columns))
    title = _unused(TABLE, columns)
    rows = ({title: one.title, **dict(zip(one.columns, row, strict=True))} for one in tables for row in one.rows)
    return csv_text([title, *columns], rows)


def _part(one: object, part: str) -> Value:
    if isinstance(one, ShownFigure):
        return one.parts.get(part)
    told = _text(one)
    return None if part or told in _EMPTY else told


def _text(one: object) -> str:
    return " ".join(str(getattr(one, "plain", one)).split())


def _unused(name: str, used: Sequence[str]) -> str:
    """Returns the name, with a number after it if it is used already."""
    return next(one for one in chain([name], (f"{name} {number}" for number in count(2))) if one not in used)
