"""Records as documents for the page: a visit by its events, an outcome by its calls, a meeting by its trees."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from polyclinic.benchmarks.tor.growth import Grown, stages
from polyclinic.benchmarks.tor.recorded import RecordedMeeting
from polyclinic.evidence_tree.support import Supporter
from polyclinic.hospital.record.episodes import Episode
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.web.browse.holdings import NothingHere, RecordingKind


def shown(kind: RecordingKind, record: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns a record as a document.

    Raises:
        NothingHere: a meeting that is none.
    """
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
        raise NothingHere(f"no meeting that this version reads: {error}") from None
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
