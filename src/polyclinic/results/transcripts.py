"""What was said of one item, read where its row says: the calls of a method, or the events of a visit."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import NO_JSON
from polyclinic.opened_files import MAX_FILE_BYTES
from polyclinic.seals import check_sum

_FILES = 32  # whose lines are held
_TEXT = 4_000  # letters of one thing that was said


class TranscriptLine(NamedTuple):
    """One thing that was said: by whom, or what for, and the text."""

    who: str
    text: str


def transcript(folder: Path, at: str) -> list[TranscriptLine]:
    """Returns what was said of the item that stands `at` FILE:LINE; nothing where that is no longer there.

    Of a file that is not as it was written, one line says so.
    """
    name, _, line = at.rpartition(":")
    try:
        lines = _lines(folder / name) if _is_within(folder, name) else ()
    except BadInput as error:
        return [TranscriptLine("damaged", error.problem)]
    if not line.isdecimal() or not 1 <= int(line) <= len(lines):
        return []
    try:
        first = msgspec.json.decode(lines[int(line) - 1])
        if "outcome" in first:
            return [*_of_method(first)]
        return [*_of_visit([first, *_until_next(lines[int(line) :])])]
    except (*NO_JSON, TypeError, LookupError, AttributeError):
        return []


def _is_within(folder: Path, name: str) -> bool:
    """Whether a name is that of a file in the folder, and not too large; who sent the folder may have written any."""
    try:
        path = (folder / name).resolve()
        found = path.stat()
    except (OSError, ValueError):
        return False
    inside = path.is_relative_to(folder.resolve())
    return bool(name) and inside and stat.S_ISREG(found.st_mode) and found.st_size <= MAX_FILE_BYTES


@lru_cache(maxsize=_FILES)
def _lines(path: Path) -> tuple[bytes, ...]:
    check_sum(path)
    try:
        return tuple(path.read_bytes().splitlines())
    except OSError:
        return ()


def _until_next(lines: tuple[bytes, ...]) -> Iterator[dict[str, Any]]:
    for line in lines:
        event = msgspec.json.decode(line)
        if event.get("seq") == 0:
            return
        yield event


def _of_method(record: Mapping[str, Any]) -> Iterator[TranscriptLine]:
    outcome = record["outcome"]
    for call in outcome.get("trace", ()):
        told = call.get("text") or f"({call.get('error', 'nothing')}: {call.get('problem', '')})"
        yield TranscriptLine(call["purpose"], told[:_TEXT])
    chosen, key = ", ".join(sorted(outcome.get("answers", ()))), ", ".join(record.get("key", ()))
    yield TranscriptLine("chosen", f"{chosen or 'nothing'}; right: {key}")


def _of_visit(events: list[dict[str, Any]]) -> Iterator[TranscriptLine]:
    for event in events:
        kind = event.get("event", "")
        if kind == "said":
            yield TranscriptLine(f"{event['who']}, turn {event.get('turn', 0)}", str(event["text"])[:_TEXT])
        elif kind != "opened":
            rest = {key: value for key, value in event.items() if key not in ("event", "seq", "turn")}
            yield TranscriptLine(kind, msgspec.json.encode(rest).decode()[:_TEXT])
