"""What the page shows, each under a key that is also its address and, in a copy, the name of its file.

    all                     what there is
    about/ID                what a holding is: table, files, curve
    compared/ID             every two entrants of an evaluation, held against each other
    together                all evaluations in one table, compared
    items/ID/PAGE           the items of an evaluation
    item/ID/N               one of them, and the place of its transcript
    list/ID/FILE/PAGE       the records of a file of recordings, or the visits of a run
    record/ID/FILE/LINE     one record; of a run, its visit of that number
    calls/ID/PAGE           the episodes of a journal
    call/ID/N               the calls of one

Figures come from `polyclinic.results`; nothing is computed twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.results.folder import ItemRow
from polyclinic.web.browse.holdings import Holding, Holdings
from polyclinic.web.browse.showing import (
    RecordingFile,
    calls,
    compared,
    episodes,
    episodes_named,
    has_results,
    held,
    is_readable,
    learning,
    record,
    recording_file,
    results,
    said,
    same_item,
    shown,
    shown_episode,
    table,
)
from polyclinic.web.refused import NotFound

PAGE = 200
"""Items, records or episodes on a page."""


class Documents:
    """The documents of a library."""

    def __init__(self, library: Holdings) -> None:
        self.library = library
        self._kinds: dict[str, Callable[..., Any]] = {
            "all": self.all,
            "about": self.about,
            "compared": self.compared,
            "together": self.together,
            "items": self.items,
            "item": self.item,
            "list": self.listed,
            "record": self.record,
            "calls": self.calls,
            "call": self.call,
        }

    def __call__(self, key: str) -> Any:
        """Returns the document of a key."""
        kind, *rest = key.split("/")
        if kind not in self._kinds or len(rest) > 3:
            raise NotFound("there is no such page")
        try:
            places = [_number(one) for one in rest[1:]]
            return self._kinds[kind](*rest[:1], *places)
        except TypeError:
            raise NotFound("there is no such page") from None
        except BadInput as error:
            raise _unplaced(error) from None

    def every_key(self) -> Iterator[str]:
        """Yields the key of every document that there is."""
        yield from ("all", "together")
        for id, one in self.library.look().items():
            yield f"about/{id}"
            try:
                yield from self._keys_of(one)
            except UserError:
                continue  # what cannot be read says so under its own key

    def _keys_of(self, one: Holding) -> Iterator[str]:
        id = one.id
        if has_results(one):
            rows = len(results(one).rows)
            yield f"compared/{id}"
            yield from (f"items/{id}/{page}" for page in range(_pages(rows)))
            yield from (f"item/{id}/{n}" for n in range(rows))
        if one.holds == "journal":
            total, _ = episodes(one.path, 0, 0)
            yield from (f"calls/{id}/{page}" for page in range(_pages(total)))
            yield from (f"call/{id}/{n}" for n in range(total))
        for place, lines in enumerate(self.lines_of(one)):
            yield from (f"list/{id}/{place}/{page}" for page in range(_pages(len(lines))))
            yield from (f"record/{id}/{place}/{line}" for line in lines)

    def lines_of(self, one: Holding) -> Iterator[list[int]]:
        """Yields for each file of a holding where its records begin; of a run, the numbers of its visits."""
        if one.holds == "hospital":
            yield list(range(len(_keys(one.path, one.changed))))
            return
        for path, kind in one.files:
            yield [place.line for place in recording_file(path, kind).places]

    def all(self) -> Any:
        """Returns what there is."""
        return {"holdings": [_listed(one) for one in self.library.look().values()]}

    def about(self, id: str) -> Any:
        """Returns what a holding is."""
        one = self.library.holding(id)
        document: dict[str, Any] = {"id": id, "name": one.name, "holds": one.holds, "changed": one.changed}
        if has_results(one):
            found = results(one)
            document |= {"record": record(found), "items": len(found.rows), **table(held([one]))}
        match one.holds:
            case "hospital":
                with RecordedRun(one.path) as run:
                    document |= {"visits": len(_keys(one.path, one.changed)), "package": run.package}
                    setup = run.configuration.get("setup") or {}
                    minds = {role: setup.get(role) for role in _ROLES[:4]}
                    document |= {"minds": minds, "seed": run.configuration.get("seed")}
            case "learning":
                document |= learning(one.path)
        return document | {"files": [self._file(one, place) for place in range(len(one.files))]}

    def _file(self, one: Holding, place: int) -> dict[str, Any]:
        path, kind = one.files[place]
        return {"name": path.name, "kind": kind, "records": len(recording_file(path, kind).places)}

    def compared(self, id: str) -> Any:
        """Returns every two entrants of an evaluation, held against each other."""
        one = self.library.holding(id)
        results(one)
        return compared(held([one]))

    def together(self) -> Any:
        """Returns all evaluations in one table, compared; those that cannot be read are left out."""
        there = [one for one in self.library.look().values() if has_results(one) and is_readable(one)]
        sets = {row.set for one in there for row in results(one).rows}
        pairs = compared(held(there)) if len(sets) <= _MOST_SETS else {"rows": [], "problem": ""}
        return {"of": [_listed(one) for one in there], **table(held(there)), "compared": pairs}

    def items(self, id: str, page: int) -> Any:
        """Returns a page of the items of an evaluation."""
        rows = results(self.library.holding(id)).rows
        some = rows[page * PAGE : (page + 1) * PAGE]
        return {
            "total": len(rows),
            "rows": [{"n": page * PAGE + place, **msgspec.to_builtins(row)} for place, row in enumerate(some)],
        }

    def item(self, id: str, n: int) -> Any:
        """Returns an item, and where its transcript is."""
        one = self.library.holding(id)
        found = results(one)
        if n >= len(found.rows):
            raise NotFound("there is no such item")
        row = found.rows[n]
        return {
            "n": n,
            "total": len(found.rows),
            "row": msgspec.to_builtins(row),
            "record": self._place(one, row.at),
            "replies": self._replies(row),
            "same": [
                {
                    "n": place,
                    **{name: getattr(found.rows[place], name) for name in ("model", "method", "seed", "values")},
                }
                for place in same_item(one)[row.set, row.item][:PAGE]
                if place != n
            ],
        }

    def _replies(self, row: ItemRow) -> list[dict[str, Any]]:
        """Returns the episodes of journals that are called as the item is: by who answered, and what."""
        return self._episodes({f"{who} {row.item}" for who in (row.method, row.model) if who})

    def _episodes(self, names: Collection[str], folder: Path | None = None) -> list[dict[str, Any]]:
        return [
            {"id": one.id, **found}
            for one in self.library.known().values()
            if one.holds == "journal" and folder in (None, one.path.parent)
            for found in episodes_named(one.path, names)
        ]

    def visit_of(self, run: Path, visit: str) -> str:
        """Returns the key of the record of a visit to a hospital, by its id in the run's log."""
        for one in self.library.look().values():
            if one.holds == "hospital" and one.path == run:
                for line, key in enumerate(_keys(one.path, one.changed)):
                    if key.partition("@")[0] == visit:
                        return f"record/{one.id}/0/{line}"
        raise NotFound("the record of that visit is not kept")

    def _place(self, one: Holding, at: str) -> dict[str, int] | None:
        """Returns where a record stands that `FILE:LINE` names; None where it is not there."""
        name, _, line = at.rpartition(":")
        if one.holds == "hospital" or not line.isdecimal() or len(line) > 12:
            return None
        for place, (path, kind) in enumerate(one.files):
            if path.name == name and recording_file(path, kind).begins(int(line)):
                return {"file": place, "line": int(line)}
        return None

    def listed(self, id: str, place: int, page: int) -> Any:
        """Returns a page of the records of a file, or of the visits of a run."""
        one = self.library.holding(id)
        if one.holds == "hospital":
            return _visits(one, page)
        file = self._opened(one, place)
        some = file.places[page * PAGE : (page + 1) * PAGE]
        return {
            "name": file.path.name,
            "kind": file.kind,
            "total": len(file.places),
            "rows": [file.listed(there) for there in some],
        }

    def record(self, id: str, place: int, line: int) -> Any:
        """Returns a record, and its neighbours."""
        one = self.library.holding(id)
        if one.holds == "hospital":
            keys = _keys(one.path, one.changed)
            with RecordedRun(one.path) as run:
                episode = run.episode(keys[line]) if line < len(keys) else None
            if episode is None:
                raise NotFound("there is no such visit")
            near = {"before": line - 1 if line else None, "after": line + 1 if line + 1 < len(keys) else None}
            # In the journal a mind's name stands before the visit's.
            names = {f"{mind} {keys[line].partition('@')[0]}" for mind in _minds(one)}
            return {**near, "record": shown_episode(episode), "replies": self._episodes(names, one.path)}
        file = self._opened(one, place)
        number = file.number(line)
        return {
            "before": file.places[number - 1].line if number else None,
            "after": file.places[number + 1].line if number + 1 < len(file.places) else None,
            "record": shown(file.kind, file.read(file.places[number])),
        }

    def may_hold(self, id: str, place: int, line: int, words: Sequence[str]) -> bool:
        """Whether a record may hold words, seen by its bytes alone; of a visit to the hospital always."""
        one = self.library.holding(id)
        if one.holds == "hospital":
            return True
        file = self._opened(one, place)
        text = b"\n".join(file.lines(file.places[file.number(line)])).decode(errors="replace").casefold()
        # A word with a sign in it may be written otherwise in JSON.
        return all(word in text for word in words if word.isalnum())

    def _opened(self, one: Holding, place: int) -> RecordingFile:
        if place >= len(one.files):
            raise NotFound("there is no such file")
        return recording_file(*one.files[place])

    def calls(self, id: str, page: int) -> Any:
        """Returns a page of the episodes of a journal."""
        total, rows = episodes(_journal(self.library.holding(id)), page * PAGE, PAGE)
        return {"total": total, "rows": rows}

    def call(self, id: str, n: int) -> Any:
        """Returns the calls of an episode."""
        found = calls(_journal(self.library.holding(id)), n)
        if found is None:
            raise NotFound("there is no such episode")
        return found


_ROLES = ("doctor", "nurse", "patient", "examiner", "pharmacist")
_MOST_SETS = 12  # sets that are compared at once


def _minds(one: Holding) -> set[str]:
    with RecordedRun(one.path) as run:
        setup = run.configuration.get("setup") or {}
    return {str(setup[role]) for role in _ROLES if setup.get(role)}


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise NotFound("there is no such page")
    return int(text)


def _pages(n: int) -> int:
    return max(1, -(-n // PAGE))


def _unplaced(error: BadInput) -> UserError:
    """Returns what is wrong with a file without where it lies on this machine."""
    path = getattr(error, "path", None)
    told = str(error)
    return UserError(told.replace(str(path), Path(str(path)).name) if path is not None else told)


def _journal(one: Holding) -> Path:
    if one.holds != "journal":
        raise NotFound("that is not a journal")
    return one.path


def _listed(one: Holding) -> dict[str, Any]:
    told: dict[str, Any] = {"id": one.id, "name": one.name, "holds": one.holds, "changed": one.changed}
    try:
        match one.holds:
            case "evaluation":
                record = results(one).record
                told |= {
                    "kind": record.kind,
                    "title": record.title,
                    "finished": record.finished,
                    "items": len(results(one).rows),
                    "models": list(dict.fromkeys(model.name for model in record.models)),
                }
            case "hospital":
                with RecordedRun(one.path) as run:
                    told |= {
                        "kind": "run",
                        "visits": (run.summary or {}).get("visits"),
                        "over": run.summary is not None,
                    }
            case "recording":
                told |= {"kind": one.files[0][1]}
    except UserError as error:
        told["problem"] = str(_unplaced(error)) if isinstance(error, BadInput) else str(error)
    return told


@lru_cache(maxsize=16)
def _keys(run: Path, _: float) -> tuple[str, ...]:
    with RecordedRun(run) as recorded:
        return tuple(recorded.episode_keys())


def _visits(one: Holding, page: int) -> dict[str, Any]:
    keys = _keys(one.path, one.changed)
    with RecordedRun(one.path) as run:
        rows = []
        for line, key in enumerate(keys[page * PAGE : (page + 1) * PAGE], page * PAGE):
            episode = run.episode(key)
            last = episode.seen[-1] if episode is not None and episode.seen else None
            rows.append({
                "line": line,
                "item": key,
                "who": last.doctor if last is not None else "",
                "department": "" if episode is None else episode.department,
                "diagnosis": last.diagnosis if last is not None else "",
                "right": None if episode is None or last is None else episode.right_diagnosis,
            })  # fmt: skip
    return {"name": "", "kind": "visits", "total": len(keys), "rows": rows}


LONGEST = 200
"""Letters of a question."""

_SECONDS = 2.0
_HITS = 100
_AROUND = 90  # letters beside what was found


def said_in(documents: Documents, id: str) -> Iterator[tuple[int, int, int, str, str]]:
    """Yields all that was said in a holding: file, line, where in the record, who, and the text."""
    one = documents.library.holding(id)
    if one.holds == "journal":
        return
    for place, lines in enumerate(documents.lines_of(one)):
        for line in lines:
            try:
                record = documents.record(id, place, line)["record"]
            except UserError:
                continue
            yield from ((place, line, seq, who, text) for seq, who, text in said(record))


def search(documents: Documents, question: str, begin: int) -> dict[str, Any]:
    """Returns where all words of a question were said together.

    Args:
        documents: what is searched.
        question: words; a text has to hold each of them.
        begin: which record comes first; what an earlier answer called `next`.

    Returns:
        `hits`, how many records were `looked` at of how many (`total`), and the `next`, None at the end.
    """
    words = question[:LONGEST].casefold().split()
    places = [
        (id, place, line)
        for id, one in documents.library.look().items()
        if one.holds != "journal"
        for place, lines in enumerate(_lines(documents, id))
        for line in lines
    ]
    hits: list[dict[str, Any]] = []
    until = time.monotonic() + _SECONDS
    number = begin
    while words and number < len(places) and len(hits) < _HITS and time.monotonic() < until:
        id, place, line = places[number]
        hits += _found(documents, id, place, line, words)
        number += 1
    done = number >= len(places) or not words
    return {"hits": hits, "looked": number, "total": len(places), "next": None if done else number}


def _lines(documents: Documents, id: str) -> list[list[int]]:
    try:
        return list(documents.lines_of(documents.library.holding(id)))
    except UserError:
        return []


def _found(documents: Documents, id: str, place: int, line: int, words: list[str]) -> Iterator[dict[str, Any]]:
    if not documents.may_hold(id, place, line, words):
        return
    try:
        record = documents.record(id, place, line)["record"]
    except UserError:
        return
    for seq, who, text in said(record):
        low = text.casefold()
        if all(word in low for word in words):
            yield {"id": id, "file": place, "line": line, "seq": seq, "who": who, "text": _around(text, words[0])}


def _around(text: str, word: str) -> str:
    at = max(text.casefold().find(word), 0)
    begin, end = max(at - _AROUND, 0), at + len(word) + _AROUND
    return ("… " if begin else "") + text[begin:end].strip() + (" …" if end < len(text) else "")
