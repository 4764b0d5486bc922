"""Which part of a run one of several processes has, and the file beside the journal of all that keeps its answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from polyclinic.errors import UserError

Item = TypeVar("Item")


class Share(NamedTuple):
    """One of so many equal parts of what a run may use: `number` from 0 of `of` processes."""

    number: int = 0
    of: int = 1

    @classmethod
    def read(cls, text: str) -> Share:
        """Reads `NUMBER/OF`, counted from 1; anything else is a `UserError`."""
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise UserError(f"--share {text!r}; needs which part of how many, such as 1/4")
        return cls(int(number) - 1, int(of))

    def mine(self, items: Sequence[Item]) -> Sequence[Item]:
        """Returns the items that are this part's, in their order; all of the whole."""
        return items[self.number :: self.of]

    def stretch(self, n: int) -> tuple[int, int]:
        """Returns the first of n numbers from 0 that is this part's, where each has some that follow, and how many."""
        first = n * self.number // self.of
        return first, n * (self.number + 1) // self.of - first


WHOLE = Share()


def part_of(journal: Path, share: Share) -> Path:
    """Returns the file of one of several processes beside the journal of all."""
    return journal.with_name(f"{journal.stem}.{share.number + 1}-of-{share.of}{journal.suffix}")


def parts_of(journal: Path, but: Path | None = None) -> list[Path]:
    """Returns the files in which a run's answers may stand, by however many processes it was held, but for one."""
    part = re.compile(rf"{re.escape(journal.stem)}(?:\.\d+-of-\d+)?{re.escape(journal.suffix)}")
    there = sorted(journal.parent.iterdir()) if journal.parent.is_dir() else []
    return [path for path in there if part.fullmatch(path.name) and (but is None or path.name != but.name)]
