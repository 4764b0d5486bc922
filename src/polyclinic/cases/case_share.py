"""How many records of a case file are cases that can be used, and which are not."""

from __future__ import annotations

import msgspec


class UnusedRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record of a case file that is no case."""

    place: str  # where it stands ("cases.jsonl, line 7")
    id: str = ""  # as the record names itself; "" where it does not
    field: str = ""  # where in the record, as a JSON path
    problem: str  # what is wrong

    def __str__(self) -> str:
        named = f" (id {self.id})" if self.id else ""
        return f"{self.place}{named}{f', {self.field}' if self.field else ''}: {self.problem}"


class CaseShare(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many of a file's records are cases that can be used, and which are not."""

    file: str
    records: int
    used: int
    left_out: tuple[UnusedRecord, ...] = ()

    @property
    def percent(self) -> float:
        """The share of the records that are used."""
        return 100 * self.used / self.records if self.records else 0.0

    def __str__(self) -> str:
        return f"{self.used} of {self.records} cases of {self.file} can be used"
