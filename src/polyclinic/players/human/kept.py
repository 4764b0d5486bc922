"""What a person did in a visit, one thing after the other, kept in a file so that it can be played again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from polyclinic.files import json_lines, read_records, write_text
from polyclinic.opened_files import check_regular

_MOST_BYTES = 128 * 2**20

T = TypeVar("T")


class Kept(Generic[T]):
    """Things of one kind in the order in which they were done, all of them in the file after each.

    Args:
        path: the file; None keeps them in memory alone.
        what: what an error calls one of them.

    Raises:
        BadInput: the file cannot be read, or holds something else.
    """

    def __init__(self, path: Path | None, kind: type[T], what: str) -> None:
        self._path = path
        self.all: list[T] = []
        if path is not None and path.exists():
            check_regular(path, most=_MOST_BYTES)
            self.all = [one for _, one in read_records(path, kind, what)]

    @property
    def in_file(self) -> bool:
        """Whether a file keeps them."""
        return self._path is not None

    def keep(self, one: T) -> None:
        """Keeps one more; where it cannot be written, it is not kept."""
        self._write([*self.all, one])
        self.all.append(one)

    def take_back(self, stays: Callable[[T], bool] = lambda _: False) -> T | None:
        """Forgets the last one that does not stay, and returns it; None where there is none."""
        last = next((at for at in reversed(range(len(self.all))) if not stays(self.all[at])), None)
        if last is None:
            return None
        self._write([*self.all[:last], *self.all[last + 1 :]])
        return self.all.pop(last)

    def _write(self, all_of_them: list[T]) -> None:
        if self._path is not None:
            write_text(self._path, json_lines(all_of_them))
