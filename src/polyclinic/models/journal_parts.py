"""What other processes were answered: a journal's rows, carried from the file of one into the file of another."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from polyclinic.models.journal import open_journal
from polyclinic.sqlite_file import read_errors, transaction

Row = tuple[Any, ...]
"""A stored answer as it stands in the file: run, episode, request, k, purpose, sealed reply."""

_KEY = 4  # values that an answer is known by
_ALL = "SELECT * FROM calls"
_KEEP = "INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?)"


class JournalPart:
    """The file of a journal, whose rows are taken out as they come, or put in. Use it with `with`.

    Raises:
        BadInput: it is something else, or cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_journal(path)
        self._given: set[Row] = set()
        self._version = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def new(self) -> list[Row]:
        """Returns the rows that were not returned before; a `BadInput` where the file is damaged."""
        with read_errors(self.path):
            version = self._file.execute("PRAGMA data_version").fetchone()[0]
            if version == self._version:
                return []
            found = [row for row in self._file.execute(_ALL) if row[:_KEY] not in self._given]
        self._version = version
        self._given.update(row[:_KEY] for row in found)
        return found

    def add(self, rows: Iterable[Row]) -> None:
        """Puts rows in; of one that is there already the first stays."""
        rows = list(rows)
        self._given.update(row[:_KEY] for row in rows)
        with read_errors(self.path), transaction(self._file):
            self._file.executemany(_KEEP, rows)


def rows_of(paths: Iterable[Path]) -> list[Row]:
    """Returns all rows of several files, each answer once."""
    rows: dict[Row, Row] = {}
    for path in paths:
        with JournalPart(path) as part:
            for row in part.new():
                rows.setdefault(row[:_KEY], row)
    return list(rows.values())
