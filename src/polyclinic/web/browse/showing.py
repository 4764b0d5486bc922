"""What a run has kept, as documents for the page: recordings, calls to models from a journal, and tables of results.

Recordings are visits of many lines, and outcomes and meetings of one; each is read a record at a time. A message that
recurs in many calls, as in a dialogue, is sent once, under its id. The figures come from `polyclinic.results`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.evaluations.tor.growth import Grown, stages
from polyclinic.evaluations.tor.recorded import RecordedMeeting
from polyclinic.evidence_tree.support import Supporter
from polyclinic.files import NO_JSON
from polyclinic.hospital.record.episodes import Episode
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.models.journal import Key, read_stored
from polyclinic.models.prompts import AskedPrompt, read_prompts
from polyclinic.results.comparing import compare_results
from polyclinic.results.folder import RECORD, decoded
from polyclinic.results.joining import join
from polyclinic.results.provenance import command_words, without_secrets
from polyclinic.results.reading import RunResults, read_results
from polyclinic.sqlite_file import read_errors
from polyclinic.statistics.uncertainty import wilson
from polyclinic.web.browse.holdings import LEARNING, SUMMARY, Holding, RecordingKind
from polyclinic.web.refused import NotFound


def shown(kind: RecordingKind, record: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns a record as a document."""
    if kind == "visits":
        return {"kind": "visit", "events": record}
    if kind == "outcomes":
        return {"kind": "outcome", **record[0]}
    return _meeting(record[0])


def shown_episode(episode: Episode) -> dict[str, Any]:
    """Returns the medical part of a visit to the hospital as a document, its consultations by their events."""
    told = msgspec.to_builtins(episode)
    worse = told.pop("worse", None)
    for held in told.get("seen", ()):
        held["events"] = [msgspec.json.decode(line) for line in held.pop("trace", "").splitlines()]
    return {"kind": "episode", **told, "worse": worse is not None}


def _meeting(document: dict[str, Any]) -> dict[str, Any]:
    try:
        meeting = msgspec.convert(document, RecordedMeeting)
    except msgspec.ValidationError as error:
        raise NotFound(f"this version cannot read the meeting: {error}") from None
    supporter = Supporter(meeting.record, _knowledge())
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
    def evidence(text: str, change: str) -> dict[str, Any]:
        found = supporter.support(text)
        at = found.pointer
        where = None if at is None else {"field": at.field, "start": at.start, "end": at.end, "how": at.how}
        return {"text": text, "change": change, "status": found.status, "at": where}

    return {
        "by": stage.by,
        "round": stage.round,
        "text": stage.text,
        "heard": [{"by": one.by, "to": one.to, "text": one.text} for one in stage.heard],
        "diagnoses": [
            {
                "diagnosis": one.diagnosis,
                "change": one.change,
                "reasonings": [
                    {
                        "analysis": reasoning.analysis,
                        "change": reasoning.change,
                        "evidence": [evidence(piece.leaf.evidence, piece.change) for piece in reasoning.evidence],
                    }
                    for reasoning in one.reasonings
                ],
            }
            for one in stage.diagnoses
        ],
    }


@lru_cache(maxsize=1)
def _knowledge() -> Knowledge:
    return read_knowledge()


def said(document: dict[str, Any]) -> Iterator[tuple[int, str, str]]:
    """Yields what was said in a record: where, who or what for, and the text."""
    match document["kind"]:
        case "visit":
            for event in document["events"]:
                yield from ((event.get("seq", 0), who, text) for who, text in _of_event(event))
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
                yield from said({"kind": "visit", "events": held["events"]})


def _of_event(event: dict[str, Any]) -> Iterator[tuple[str, str]]:
    kind = event.get("event", "")
    if kind == "said":
        yield event.get("who", ""), event.get("text", "")
    elif kind == "examined":
        yield "examiner", event.get("text", "")
    elif kind in ("reported", "revised"):
        yield kind, "; ".join(_texts(event.get("report", {})))
    elif kind in ("disputed", "shared", "established", "failed"):
        yield kind, "; ".join(_texts({key: one for key, one in event.items() if key not in ("event", "seq")}))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


_HELD = 16  # files whose index is kept
_LONGEST = 64 << 20  # bytes of one record that are read
_NEW_VISIT = (b'{"event":"opened"', b'{"event":"convened"')


class Place(NamedTuple):
    """Where a record stands: its first line, from 1, and where that begins and the record ends, in bytes."""

    line: int
    begin: int
    end: int


class _Head(msgspec.Struct):
    """What a list says of a record."""

    id: str = ""
    case: str = ""
    minds: dict[str, str] = {}
    doctors: tuple[str, ...] = ()
    doctor: int = 0
    key: msgspec.Raw | tuple[str, ...] = ()
    right: bool | None = None


class RecordingFile:
    """One file, with the places of its records."""

    def __init__(self, path: Path, kind: RecordingKind) -> None:
        self.path, self.kind = path, kind
        self.places = list(_places(path, kind))
        self._at = {place.line: number for number, place in enumerate(self.places)}

    def begins(self, line: int) -> bool:
        """Whether a record begins at a line."""
        return line in self._at

    def number(self, line: int) -> int:
        """Returns which of the records stands at a line."""
        if line not in self._at:
            raise NotFound("no record begins there")
        return self._at[line]

    def lines(self, place: Place) -> list[bytes]:
        """Returns the lines of a record."""
        with self.path.open("rb") as file:
            file.seek(place.begin)
            return file.read(min(place.end - place.begin, _LONGEST)).splitlines()

    def read(self, place: Place) -> list[dict[str, Any]]:
        """Returns a record: the events of a visit, or one document."""
        try:
            return [msgspec.json.decode(line, type=dict[str, Any]) for line in self.lines(place) if line]
        except NO_JSON as error:
            raise NotFound(f"line {place.line} is damaged: {error}") from None

    def listed(self, place: Place) -> dict[str, Any]:
        """Returns what a list says of a record."""
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
    begin = at = line = first = 0
    with path.open("rb") as file:
        for text in file:
            line += 1
            if kind != "visits" or text.startswith(_NEW_VISIT):
                if at > begin:
                    yield Place(first, begin, at)
                begin, first = at, line
            at += len(text)
    if at > begin:
        yield Place(first, begin, at)


def recording_file(path: Path, kind: RecordingKind) -> RecordingFile:
    """Returns a file; those that were asked for last are kept, until they change."""
    try:
        state = path.stat()
        return _indexed(path, kind, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise NotFound(f"the file cannot be read ({error.strerror})") from None


@lru_cache(maxsize=_HELD)
def _indexed(path: Path, kind: RecordingKind, *_state: int) -> RecordingFile:
    return RecordingFile(path, kind)


_EPISODES = 20_000  # that are looked through for a name
_CALLS = 2_000  # of an episode that are shown


def episodes(path: Path, begin: int, n: int) -> tuple[int, list[dict[str, Any]]]:
    """Returns how many episodes a journal has, and some of them: run, name and how many calls."""
    with read_errors(path), closing(_open(path)) as journal:
        total = journal.execute("SELECT count(*) FROM (SELECT DISTINCT run, episode FROM calls)").fetchone()[0]
        rows = journal.execute(
            "SELECT run, episode, count(*) FROM calls GROUP BY run, episode ORDER BY run, episode LIMIT ? OFFSET ?",
            (n, begin),
        ).fetchall()
    return total, [
        {"n": begin + place, "run": run, "episode": episode, "calls": calls}
        for place, (run, episode, calls) in enumerate(rows)
    ]


def episodes_named(path: Path, names: Collection[str]) -> list[dict[str, Any]]:
    """Returns the episodes of these names, and their parts; none where the journal cannot be read."""
    below = tuple(f"{name}{sign}" for name in names for sign in "/@")
    try:
        return [
            {"n": one["n"], "episode": one["episode"]}
            for one in episodes(path, 0, _EPISODES)[1]
            if one["episode"] in names or one["episode"].startswith(below)
        ]
    except BadInput:
        return []


def calls(path: Path, number: int) -> dict[str, Any] | None:
    """Returns the calls of an episode by its number; None where there is none."""
    _, found = episodes(path, number, 1)
    if not found:
        return None
    run, episode = found[0]["run"], found[0]["episode"]
    with read_errors(path), closing(_open(path)) as journal:
        rows = journal.execute(
            "SELECT purpose, reply, request, k FROM calls WHERE run = ? AND episode = ?"
            " ORDER BY purpose, request, k LIMIT ?",
            (run, episode, _CALLS),
        ).fetchall()
        try:
            prompts, messages = read_prompts(journal, [request for _, _, request, _ in rows])
        except ValueError as error:
            raise BadInput(f"what was asked cannot be read: {error}", path=path) from None
    # By how much had been said, which is the order in which a visit asked.
    rows.sort(key=lambda row: len(prompts[row[2]].messages) if row[2] in prompts else 0)
    told = [
        _told(Key(episode, request, k), purpose, reply, prompts.get(request)) for purpose, reply, request, k in rows
    ]
    return {**found[0], "replies": told, "messages": messages}


def _told(key: Key, purpose: str, reply: bytes, prompt: AskedPrompt | None) -> dict[str, Any]:
    try:
        stored = msgspec.to_builtins(read_stored(key, reply))
    except ValueError as error:
        stored = {"problem": f"damaged: {error}"}
    asked = {} if prompt is None else {"asked": prompt._asdict()}
    return {"purpose": purpose, "request": key.request.hex(), "k": key.k, **stored, **asked}


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)


_LONGEST_TABLES = 500  # letters of a setting that is shown; a whole hospital would be too long
_TASKS = ("examination", "diagnosis", "treatment")


def has_results(one: Holding) -> bool:
    """Whether a holding has items and a table of them."""
    if one.holds == "learning" and not (one.path / SUMMARY).is_file():
        return False  # of an earlier version: the file that is called so is the curve
    return one.holds == "evaluation" or (one.holds in ("hospital", "learning") and (one.path / RECORD).is_file())


def is_readable(one: Holding) -> bool:
    """Whether it has items that can be read."""
    try:
        return bool(results(one).rows)
    except UserError:
        return False


def results(one: Holding) -> RunResults:
    """Returns what was run, and its items."""
    if not has_results(one):
        raise NotFound("there are no items")
    return _read(one.path, one.changed)


@lru_cache(maxsize=256)
def _read(folder: Path, _: float) -> RunResults:
    return read_results(folder)[0]


def same_item(one: Holding) -> dict[tuple[str, str], list[int]]:
    """Returns the places of all rows of an item, by its set and itself."""
    return _same_item(one.path, one.changed)


@lru_cache(maxsize=16)
def _same_item(folder: Path, changed: float) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for place, row in enumerate(_read(folder, changed).rows):
        found.setdefault((row.set, row.item), []).append(place)
    return found


def record(found: RunResults) -> dict[str, Any]:
    """Returns what a run was, without anything secret."""
    told: dict[str, Any] = without_secrets(msgspec.to_builtins(found.record))
    settings = told.get("configuration", {})
    told["configuration"] = {name: value for name, value in settings.items() if len(str(value)) <= _LONGEST_TABLES}
    told["command"] = command_words(found.record.command)
    return told


Held = tuple[tuple[Path, float], ...]
"""Folders of results, and when each was changed."""


def held(holdings: Iterable[Holding]) -> Held:
    """Returns what tables are made of."""
    return tuple((one.path, one.changed) for one in holdings)


def table(held: Held) -> dict[str, Any]:
    """Returns the table of some results, and what its measures are."""
    found = [_read(*one) for one in held]
    units = {one.name: msgspec.to_builtins(one) for each in found for one in each.record.measures}
    return {"table": _joined(held), "measures": units}


@lru_cache(maxsize=64)
def _joined(held: Held) -> Any:
    found = [one for one in (_read(*one) for one in held) if one.rows]
    return msgspec.to_builtins(join(found)) if found else {"rows": [], "measures": [], "notes": []}


@lru_cache(maxsize=64)
def compared(held: Held) -> dict[str, Any]:
    """Returns every two entrants held against each other, or why none are."""
    found = [one for one in (_read(*one) for one in held) if one.rows]
    try:
        return {"rows": msgspec.to_builtins(compare_results(found).rows) if found else [], "problem": ""}
    except UserError as error:
        return {"rows": [], "problem": str(error)}


def learning(folder: Path) -> dict[str, Any]:
    """Returns a learning curve, with an interval of 95 % at each test."""
    file = folder / SUMMARY if (folder / SUMMARY).is_file() else folder / RECORD
    told = decoded(file, dict[str, Any], "what came of a practice")
    n = sum(one.get("n", 0) for one in told.get("by_disease", {}).values())
    for point in told.get("curve", ()):
        point["intervals"] = {task: wilson(point[task] / 100 * n, n) for task in _TASKS if n and task in point}
    return {"learning": without_secrets(told), "tests": n,
            "settings": without_secrets(decoded(folder / LEARNING, dict[str, Any], "settings"))}  # fmt: skip
