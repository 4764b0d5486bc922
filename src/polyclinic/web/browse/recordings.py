"""Recorded visits, outcomes, meetings and episodes as documents for the page.

A visit has many lines, outcomes and meetings have one; each is read a record at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from polyclinic.evaluations.tor.meetings import Grown, GrownEvidence, RecordedMeeting, stages
from polyclinic.evidence_tree.support import Supporter
from polyclinic.files import NO_JSON
from polyclinic.hospital.record.episodes import Episode
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.web.browse.holdings import RecordingKind
from polyclinic.web.refused import NotFound


def shown_episode(episode: Episode) -> dict[str, Any]:
    """Returns the medical part of a visit to the hospital as a document, its consultations by their events."""
    told = msgspec.to_builtins(episode)
    for held in told.get("seen", ()):
        held["events"] = [msgspec.json.decode(line) for line in held.pop("trace", "").splitlines()]
    return {"kind": "episode", **told, "worse": told.get("worse") is not None}


def _meeting(document: dict[str, Any]) -> dict[str, Any]:
    try:
        meeting = msgspec.convert(document, RecordedMeeting)
    except msgspec.ValidationError as error:
        raise NotFound(f"this version cannot read the meeting: {error}") from None
    supporter = Supporter(meeting.record, read_knowledge())
    return {
        "kind": "meeting",
        "id": meeting.id,
        "options": meeting.options,
        "key": sorted(meeting.key),
        "chose": {name: sorted(chosen) for name, chosen in meeting.chose.items()},
        "texts": [{"field": one.field, "label": one.label, "text": one.text} for one in supporter.texts],
        "stages": [_stage(one, supporter) for one in stages(meeting)],
    }


def _stage(stage: Grown, supporter: Supporter) -> dict[str, Any]:
    def evidence(piece: GrownEvidence) -> dict[str, Any]:
        found = supporter.support(piece.leaf.evidence)
        at = found.pointer
        where = None if at is None else {"field": at.field, "start": at.start, "end": at.end, "how": at.how}
        return {"text": piece.leaf.evidence, "change": piece.change, "status": found.status, "at": where}

    diagnoses = []
    for one in stage.diagnoses:
        reasonings = [each._asdict() | {"evidence": list(map(evidence, each.evidence))} for each in one.reasonings]
        diagnoses.append(one._asdict() | {"reasonings": reasonings})
    heard = [{"by": one.by, "to": one.to, "text": one.text} for one in stage.heard]
    return stage._asdict() | {"heard": heard, "diagnoses": diagnoses}


def utterances(document: dict[str, Any]) -> Iterator[tuple[int, str, str]]:
    """Yields everything that was said in a record: where, who or what for, and the text."""
    match document["kind"]:
        case "visit":
            for event in document["events"]:
                yield from ((event.get("seq", 0), who, text) for who, text in _said_in_event(event))
        case "outcome":
            for call in document.get("outcome", {}).get("trace", ()):
                yield call.get("seq", 0), call.get("purpose", ""), call.get("text") or ""
        case "meeting":
            for number, stage in enumerate(document["stages"]):
                yield from ((number, f"{one['by']} → {one['to']}", one["text"]) for one in stage["heard"])
                if stage["text"]:
                    yield number, stage["by"], stage["text"]
        case "episode":
            for held in document.get("seen", ()):
                yield from utterances({"kind": "visit", "events": held["events"]})


def _said_in_event(event: dict[str, Any]) -> Iterator[tuple[str, str]]:
    match event.get("event", ""):
        case "said":
            yield event.get("who", ""), event.get("text", "")
        case "examined":
            yield "examiner", event.get("text", "")
        case "reported" | "revised" as kind:
            yield kind, "; ".join(_texts(event.get("report", {})))
        case "disputed" | "shared" | "established" | "failed" as kind:
            yield kind, "; ".join(_texts({key: one for key, one in event.items() if key not in ("event", "seq")}))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


_OPEN = 16  # files whose index is kept
_LONGEST = 64 << 20  # bytes of one record that are read
_NEW_VISIT = (b'{"event":"opened"', b'{"event":"convened"')


class Place(NamedTuple):
    """The place of a record: its first line, from 1, and the bytes between which it is."""

    line: int
    begin: int
    end: int


class _Head(msgspec.Struct):
    id: str = ""
    case: str = ""
    minds: dict[str, str] = {}
    doctors: tuple[str, ...] = ()
    right: bool | None = None


class RecordingFile:
    """One file, with the places of its records."""

    def __init__(self, path: Path, kind: RecordingKind) -> None:
        self.path, self.kind = path, kind
        self.places = list(_places(path, kind))
        self.numbers = {place.line: number for number, place in enumerate(self.places)}

    def number(self, line: int) -> int:
        """Returns the number of the record that begins at a line."""
        if line not in self.numbers:
            raise NotFound("no record begins there")
        return self.numbers[line]

    def lines(self, number: int) -> list[bytes]:
        """Returns the lines of a record."""
        place = self.places[number]
        with self.path.open("rb") as file:
            file.seek(place.begin)
            return file.read(min(place.end - place.begin, _LONGEST)).splitlines()

    def shown(self, number: int) -> dict[str, Any]:
        """Returns a record as a document."""
        try:
            record = [msgspec.json.decode(line, type=dict[str, Any]) for line in self.lines(number) if line]
        except NO_JSON as error:
            raise NotFound(f"line {self.places[number].line} is damaged: {error}") from None
        if self.kind == "visits":
            return {"kind": "visit", "events": record}
        return {"kind": "outcome", **record[0]} if self.kind == "outcomes" else _meeting(record[0])

    def listed(self, place: Place) -> dict[str, Any]:
        """Returns the line of a list for a record."""
        with self.path.open("rb") as file:
            file.seek(place.begin)
            first = file.readline(_LONGEST)
        try:
            head = msgspec.json.decode(first, type=_Head)
        except NO_JSON:
            return {"line": place.line, "item": "?", "who": ""}
        who = head.minds.get("doctor", "") or ", ".join(head.doctors)
        return {"line": place.line, "item": head.id or head.case, "who": who, "right": head.right}


def _places(path: Path, kind: RecordingKind) -> Iterator[Place]:
    begin = at = first = 0
    with path.open("rb") as file:
        for line, text in enumerate(file, 1):
            if kind != "visits" or text.startswith(_NEW_VISIT):
                if at > begin:
                    yield Place(first, begin, at)
                begin, first = at, line
            at += len(text)
    if at > begin:
        yield Place(first, begin, at)


def recording_file(path: Path, kind: RecordingKind) -> RecordingFile:
    """Returns a file; the latest ones are kept until they change."""
    try:
        state = path.stat()
        return _indexed(path, kind, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise NotFound(f"the file cannot be read ({error.strerror})") from None


@lru_cache(maxsize=_OPEN)
def _indexed(path: Path, kind: RecordingKind, *_state: int) -> RecordingFile:
    return RecordingFile(path, kind)
