"""Where output goes: results to stdout, everything else to stderr."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from rich.progress import Progress

    from polyclinic.terminal.table_csv import PlainTable

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNKNOWN_WIDTH = 80  # letters, where nobody says how wide it is
_AS_CSV: ContextVar[list[PlainTable] | None] = ContextVar("as csv", default=None)
_DOCUMENTS: ContextVar[TextIO | None] = ContextVar("documents", default=None)


def plain(text: str) -> str:
    """Returns a text as it may stand in a terminal: no control characters, whoever wrote it."""
    return _CONTROL.sub(" ", text.replace("\t", " ")).encode(errors="replace").decode()


class Screen(Console):
    """A console for which a reader that has read enough (`| head`) is nothing wrong.

    Where tables are wanted as CSV, those of stdout are kept for it, and what else goes there is for people on stderr.
    """

    def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:
        """Prints as rich does; a line of text that goes into a file or a pipe is not broken."""
        if (tables := _AS_CSV.get()) is not None and self.file is sys.stdout:
            from polyclinic.terminal.table_csv import plain_table

            for one in objects:
                if isinstance(one, Table) and one.show_header:  # without one it is text that is laid out
                    tables.append(plain_table(one))
                elif one:
                    Screen(stderr=True, highlight=False, markup=False).print(one, soft_wrap=soft_wrap, **options)
            return
        if soft_wrap is None and not self.is_terminal and all(isinstance(one, str) for one in objects):
            soft_wrap = True
        super().print(*objects, soft_wrap=soft_wrap, **options)

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
    from polyclinic.terminal.table_csv import one_csv

    tables: list[PlainTable] = []
    before = _AS_CSV.set(tables)
    try:
        yield
        if not tables:
            note("--csv: this command has printed no table")
    finally:
        _AS_CSV.reset(before)
        if tables:
            sys.stdout.write(one_csv(tables))


def are_tables_kept() -> bool:
    """Whether tables are wanted as CSV."""
    return _AS_CSV.get() is not None


@contextmanager
def documents_alone() -> Iterator[None]:
    """While it lasts, stdout is for `print_json` alone: what else is printed, as by a user's mind, goes to stderr."""
    before = _DOCUMENTS.set(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _DOCUMENTS.reset(before)


def print_json(document: object) -> None:
    """Prints one JSON document on stdout."""
    import msgspec

    out = _DOCUMENTS.get() or sys.stdout
    out.write(msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n")


def print_json_array(documents: Iterable[object]) -> None:
    """Prints one JSON array on stdout, as `print_json` does, one element after the other."""
    import msgspec

    out, between = _DOCUMENTS.get() or sys.stdout, "[\n"
    for document in documents:
        text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
        out.write(between + textwrap.indent(text, "  "))
        between = ",\n"
    out.write("[]\n" if between == "[\n" else "\n]\n")


@contextmanager
def progress_of_parts(what: str, parts: int, *, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Shows how far several processes are, as `progress` does in one bar; yields what is told the part, done, total.

    How much there is in all is reckoned from the parts that have spoken.
    """
    told: dict[str, tuple[int, int]] = {}
    if quiet or not sys.stderr.isatty():
        yield lambda _part, _done, _total: None
        return
    with _bar(what) as bar:
        task = bar.add_task(what, total=None)

        def advance(part: str, done: int, total: int) -> None:
            told[part] = (done, total)
            all_done, all_total = (sum(one[n] for one in told.values()) for n in (0, 1))
            bar.update(task, completed=all_done, total=all_total * parts // len(told))

        yield advance


def _telling(total: int) -> Callable[[], None]:
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        print(f"part {done} {total}", flush=True)  # noqa: T201

    return advance


@contextmanager
def progress(what: str, total: int, *, quiet: bool, told: bool = False) -> Iterator[Callable[[], None]]:
    """Shows a progress bar on stderr while it lasts, where stderr is a terminal; yields what advances it.

    What is `told` is not for people: a line `part DONE TOTAL` on stdout, for the process that started this one.
    """
    if told:
        yield _telling(total)
        return
    if quiet or not sys.stderr.isatty():
        yield lambda: None
        return
    with _bar(what) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def _bar(what: str) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console(sys.stderr), transient=True)
