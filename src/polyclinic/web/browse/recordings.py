"""Recorded visits, outcomes, meetings and episodes as documents for the page.

A visit has many lines, outcomes and meetings have one; each is read a record at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.evaluations.tor.meetings import Grown, GrownEvidence, RecordedMeeting, stages
from polyclinic.evidence_tree.support import Supporter
from polyclinic.files import NO_JSON
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.web.browse.holdings import Holding, Recording, RecordingKind
from polyclinic.web.refused import NotFound


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


_WRITTEN = ("reported", "revised", "disputed", "shared", "established", "failed")  # events with texts to read


def _said_in_event(event: dict[str, Any]) -> Iterator[tuple[str, str]]:
    kind = event.get("event", "")
    if kind in ("said", "examined"):
        yield event.get("who", "examiner"), event.get("text", "")
    elif kind in _WRITTEN:
        rest = {name: one for name, one in event.items() if name not in ("event", "seq")}
        yield kind, "; ".join(_texts(event.get("report", rest)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


_OPEN = 16  # files whose index is kept
_LONGEST = 64 << 20  # bytes of one record that are read
_NEW_VISIT = (b'{"event":"opened"', b'{"event":"convened"')


class _Head(msgspec.Struct):
    id: str = ""
    case: str = ""
    minds: dict[str, str] = {}
    doctors: tuple[str, ...] = ()
    right: bool | None = None


class RecordingFile:
    """One file, with the lines at which its records begin, the first as 1."""

    def __init__(self, path: Path, kind: RecordingKind) -> None:
        self.name, self.kind, self._path = path.name, kind, path
        self._places = {line: (begin, end) for line, begin, end in _places(path, kind)}
        self.lines = tuple(self._places)

    def listed(self, lines: Sequence[int]) -> list[dict[str, Any]]:
        """Returns the rows of a list for the records at some lines."""
        rows = []
        with self._path.open("rb") as file:
            for line in lines:
                file.seek(self._places[line][0])
                try:
                    head = msgspec.json.decode(file.readline(_LONGEST), type=_Head)
                except NO_JSON:
                    head = _Head(id="?")
                who = head.minds.get("doctor", "") or ", ".join(head.doctors)
                rows.append({"line": line, "item": head.id or head.case, "who": who, "right": head.right})
        return rows

    def shown(self, line: int) -> dict[str, Any]:
        """Returns the record at a line as a document."""
        begin, end = self._places[line]
        with self._path.open("rb") as file:
            file.seek(begin)
            lines = file.read(min(end - begin, _LONGEST)).splitlines()
        try:
            record = [msgspec.json.decode(one, type=dict[str, Any]) for one in lines if one]
        except NO_JSON as error:
            raise NotFound(f"line {line} is damaged: {error}") from None
        if self.kind == "visits":
            return {"kind": "visit", "events": record}
        return {"kind": "outcome", **record[0]} if self.kind == "outcomes" else _meeting(record[0])


def _places(path: Path, kind: RecordingKind) -> Iterator[tuple[int, int, int]]:
    """Yields the first line of each record, and the bytes between which it is."""
    begin = at = first = 0
    with path.open("rb") as file:
        for line, text in enumerate(file, 1):
            if kind != "visits" or text.startswith(_NEW_VISIT):
                if at > begin:
                    yield first, begin, at
                begin, first = at, line
            at += len(text)
    if at > begin:
        yield first, begin, at


def recording_file(file: Recording) -> RecordingFile:
    """Returns a file; the latest ones are kept until they change."""
    try:
        state = file.path.stat()
        return _indexed(file.path, file.kind, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise NotFound(f"the file cannot be read ({error.strerror})") from None


@lru_cache(maxsize=_OPEN)
def _indexed(path: Path, kind: RecordingKind, *_state: int) -> RecordingFile:
    return RecordingFile(path, kind)


_ROLES = ("doctor", "nurse", "patient", "examiner", "pharmacist")


def run_facts(run: RecordedRun) -> dict[str, Any]:
    """Returns how a run was configured, and how far it has come."""
    about, setup = run.configuration, run.configuration.get("setup") or {}
    return {
        "events": len(run),
        "t": run.rows(len(run) - 1, 1)[0][1] if len(run) else 0,
        **{name: about.get(name) for name in ("residents", "days", "seed")},
        "hospital": (about.get("hospital") or {}).get("name"),
        "minds": {role: setup.get(role) for role in _ROLES[:4]},
    }


class RunVisits:
    """The visits of a run of the hospital, in the place of a file; a line is a visit's number, the first 0."""

    name, kind = "", "visits"

    def __init__(self, path: Path) -> None:
        self._path = path
        with RecordedRun(path) as run:
            self.keys = tuple(run.episode_keys())
            self._minds: dict[str, Any] = run.configuration.get("setup") or {}
            self.about = run_facts(run) | {"visits": len(self.keys), "package": run.package}
        self.lines = range(len(self.keys))

    def listed(self, lines: Sequence[int]) -> list[dict[str, Any]]:
        """Returns the rows of a list for some visits."""
        rows = []
        with RecordedRun(self._path) as run:
            for line in lines:
                row = {"line": line, "item": self.keys[line], "who": "", "department": "", "diagnosis": ""}
                episode, right = run.episode(self.keys[line]), None
                if episode is not None:
                    row["department"] = episode.department
                    if episode.seen:
                        last, right = episode.seen[-1], episode.right_diagnosis
                        row |= {"who": last.doctor, "diagnosis": last.diagnosis}
                rows.append(row | {"right": right})
        return rows

    def shown(self, line: int) -> dict[str, Any]:
        """Returns the medical part of a visit as a document, its consultations by their events."""
        with RecordedRun(self._path) as run:
            episode = run.episode(self.keys[line])
        if episode is None:
            raise NotFound("there is no such visit")
        told = msgspec.to_builtins(episode)
        for held in told.get("seen", ()):
            held["events"] = [msgspec.json.decode(line) for line in held.pop("trace", "").splitlines()]
        return {"kind": "episode", **told, "worse": told.get("worse") is not None}

    def asked(self, line: int) -> set[str]:
        """Returns the names under which a journal keeps what was asked in a visit: the mind and the visit."""
        visit = self.keys[line].partition("@")[0]
        return {f"{self._minds[role]} {visit}" for role in _ROLES if self._minds.get(role)}


@lru_cache(maxsize=_OPEN)
def run_visits(one: Holding) -> RunVisits:
    """Returns the visits of a run; the latest ones are kept until they change."""
    return RunVisits(one.path)
