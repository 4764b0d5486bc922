"""Meetings that were written down: the record, how the trees grew, and what each method chose."""

from __future__ import annotations

from pathlib import Path

import msgspec

from polyclinic.cases.record import Record
from polyclinic.errors import BadInput
from polyclinic.evidence_tree.meeting import Happening
from polyclinic.files import MAX_RECORD_BYTES, read_records
from polyclinic.opened_files import opened


class RecordedMeeting(msgspec.Struct, frozen=True, kw_only=True):
    """A meeting of Tree-of-Reasoning's doctors on one record.

    Attributes:
        key: the options that hold.
        log: everything that happened, in order.
        chose: the options that each method chose on this record, by its name; the meeting's own first.
    """

    id: str
    record: Record
    options: dict[str, str]
    key: frozenset[str]
    log: tuple[Happening, ...]
    chose: dict[str, frozenset[str]]


def read_meetings(path: str | Path) -> list[RecordedMeeting]:
    """Reads meetings as `polyclinic eval tor --out` writes them."""
    return [one for _, one in read_records(Path(path), RecordedMeeting, "a meeting of 'polyclinic eval tor --out'")]


def holds_meetings(path: str | Path) -> bool:
    """Whether a file's first line is a meeting; what cannot be read twice is none."""
    if not Path(path).is_file():
        return False
    try:
        with opened(Path(path)) as file:
            first = msgspec.json.decode(file.readline(MAX_RECORD_BYTES), type=dict[str, msgspec.Raw])
    except (BadInput, msgspec.DecodeError, UnicodeDecodeError):
        return False
    return {"log", "chose", "record"} <= first.keys()
