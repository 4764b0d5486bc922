"""The documents of the page of results, each under a key that is also its address and, in a copy, its file's name.

    all                     everything listed
    together                all evaluations in one table, compared
    said                    where everything that was said is listed
    about/ID                a holding: table, files, curve
    compared/ID             every two entrants of an evaluation, compared
    items/ID/PAGE           the items of an evaluation
    item/ID/N               one of them, and the place of its transcript
    calls/ID/PAGE           the episodes of a journal
    call/ID/N               the calls of one
    list/ID/FILE/PAGE       the records of a file of recordings, or the visits of a run
    words/ID/FILE/PAGE      what was said in them, for a search
    record/ID/FILE/LINE     one record; of a run, its visit of that number

Figures come from `polyclinic.results`. A message that recurs in many calls, as in a dialogue, is sent once, by its id.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.models.journal import Key, read_stored
from polyclinic.models.prompts import read_prompts
from polyclinic.results.folder import RECORD, RunResults, decoded, read_results
from polyclinic.results.joining import compare_results, join
from polyclinic.results.provenance import command_words, without_secrets
from polyclinic.sqlite_file import read_errors
from polyclinic.statistics.uncertainty import wilson
from polyclinic.web.browse.holdings import LEARNING, SUMMARY, Holding, Holdings
from polyclinic.web.browse.recordings import RecordingFile, RunVisits, recording_file, run_visits, utterances
from polyclinic.web.refused import NotFound, without_folders

PAGE = 200  # items, records or episodes on a page
_MOST_SETS = 12  # sets that are compared at once
_KINDS = (
    ("all", "together", "said"),
    ("about", "compared"),
    ("items", "item", "calls", "call"),
    ("list", "record", "words"),
)
"""The kinds of documents, by the parts of their keys after the kind: none, an id, an id and one or two numbers."""


class Documents:
    """The documents of a library."""

    def __init__(self, library: Holdings) -> None:
        self.library = library

    def __call__(self, key: str) -> Any:
        """Returns the document of a key."""
        kind, *rest = key.split("/")
        known = len(rest) < len(_KINDS) and kind in _KINDS[len(rest)]
        if not known or not all(n.isascii() and n.isdigit() and len(n) < 12 for n in rest[1:]):
            raise NotFound("there is no such page")
        try:
            one = [self.library.holding(rest[0])] if rest else []
            return getattr(self, f"_{kind}")(*one, *map(int, rest[1:]))
        except BadInput as error:
            raise UserError(without_folders(error)) from None

    def every_key(self) -> Iterator[str]:
        """Yields the key of every document."""
        yield from ("all", "together", "said")
        for id, one in self.library.look().items():
            yield f"about/{id}"
            with suppress(UserError):  # the document of a holding that cannot be read says so
                if _has_results(one):
                    rows = len(_results(one).rows)
                    yield f"compared/{id}"
                    yield from (f"items/{id}/{page}" for page in range(_pages(rows)))
                    yield from (f"item/{id}/{n}" for n in range(rows))
                if one.holds == "journal":
                    total, _ = _episodes(one, 0, 0)
                    yield from (f"calls/{id}/{page}" for page in range(_pages(total)))
                    yield from (f"call/{id}/{n}" for n in range(total))
                for place, file in enumerate(_files(one)):
                    for page in range(_pages(len(file.lines))):
                        yield f"list/{id}/{place}/{page}"
                        yield f"words/{id}/{place}/{page}"
                    yield from (f"record/{id}/{place}/{line}" for line in file.lines)

    def visit_of(self, run: Path, visit: str) -> str:
        """Returns the key of the record of a visit to a hospital, by its id in the run's log."""
        for one in self.library.look().values():
            if one.holds == "hospital" and one.path == run:
                for line, key in enumerate(run_visits(one).keys):
                    if key.partition("@")[0] == visit:
                        return f"record/{one.id}/0/{line}"
        raise NotFound("the record of that visit is not kept")

    def _all(self) -> Any:
        return {"holdings": [_listed(one) for one in self.library.look().values()]}

    def _about(self, one: Holding) -> Any:
        files = _files(one)
        document = _named(one)
        if _has_results(one):
            found = _results(one)
            record: dict[str, Any] = without_secrets(msgspec.to_builtins(found.record))
            settings = record.get("configuration", {}).items()
            record["configuration"] = {name: told for name, told in settings if len(str(told)) <= _LONGEST_SETTING}
            record["command"] = command_words(found.record.command)
            document |= {"record": record, "items": len(found.rows), **_table((one,))}
        if one.holds == "hospital":
            document |= run_visits(one).about
        elif one.holds == "learning":
            file = one.path / SUMMARY if (one.path / SUMMARY).is_file() else one.path / RECORD
            told = decoded(file, dict[str, Any], "the results of a practice")
            n = sum(of_disease.get("n", 0) for of_disease in told.get("by_disease", {}).values())
            for point in told.get("curve", ()):  # with an interval of 95 % at each test
                point["intervals"] = {task: wilson(point[task] / 100 * n, n) for task in _TASKS if n and task in point}
            options = without_secrets(decoded(one.path / LEARNING, dict[str, Any], "settings"))
            document |= {"learning": without_secrets(told), "tests": n, "settings": options}
        named = [{"name": file.name, "kind": file.kind, "records": len(file.lines)} for file in files if file.name]
        return document | {"files": named}

    def _compared(self, one: Holding) -> Any:
        _results(one)
        return _comparison((one,))

    def _together(self) -> Any:
        found, sets = [], set[str]()
        for one in self.library.look().values():
            with suppress(UserError):
                if _has_results(one) and (rows := _results(one).rows):
                    found.append(one)
                    sets |= {row.set for row in rows}
        there = tuple(found)
        pairs = _comparison(there) if len(sets) <= _MOST_SETS else {"rows": [], "problem": ""}
        return {"of": [_listed(one) for one in there], **_table(there), "compared": pairs}

    def _said(self) -> Any:
        pages = []
        for id, one in self.library.look().items():
            with suppress(UserError):
                for place, file in enumerate(_files(one)):
                    pages += [(id, place, page) for page in range(_pages(len(file.lines)))]
        return {"pages": pages}

    def _words(self, one: Holding, place: int, page: int) -> Any:
        file, said = _opened(one, place), []
        for line in _of_page(file.lines, page):
            with suppress(UserError):
                said += [(line, seq, who, text) for seq, who, text in utterances(file.shown(line))]
        return {"said": said}

    def _items(self, one: Holding, page: int) -> Any:
        rows = _results(one).rows
        some = enumerate(_of_page(rows, page), page * PAGE)
        return {"total": len(rows), "rows": [{"n": n, **msgspec.to_builtins(row)} for n, row in some]}

    def _item(self, one: Holding, n: int) -> Any:
        rows = _results(one).rows
        if n >= len(rows):
            raise NotFound("there is no such item")
        row = rows[n]
        same = [m for m, other in enumerate(rows) if (other.set, other.item) == (row.set, row.item) and m != n]
        shown = ("model", "method", "seed", "values")
        name, _, line = row.at.rpartition(":")
        at = int(line) if line.isdecimal() else -1
        places = [place for place, file in enumerate(_files(one)) if file.name == name and at in file.lines]
        return {
            "n": n,
            "total": len(rows),
            "row": msgspec.to_builtins(row),
            "record": {"file": places[0], "line": at} if places else None,
            # Episodes of journals are called after the entrant and the item.
            "replies": self._replies({f"{who} {row.item}" for who in (row.method, row.model) if who}),
            "same": [{"n": place, **{name: getattr(rows[place], name) for name in shown}} for place in same[:PAGE]],
        }

    def _replies(self, names: Collection[str], folder: Path | None = None) -> list[dict[str, Any]]:
        """Returns the episodes of journals with these names, and their parts."""
        below = tuple(f"{name}{sign}" for name in names for sign in "/@")
        found = []
        for one in self.library.known().values():
            if one.holds == "journal" and folder in (None, one.path.parent, one.path.parent.parent):
                with suppress(BadInput):
                    for row in _episodes(one, 0, _EPISODES)[1]:
                        if row["episode"] in names or row["episode"].startswith(below):
                            found.append({"id": one.id, "n": row["n"], "episode": row["episode"]})
        return found

    def _list(self, one: Holding, place: int, page: int) -> Any:
        file = _opened(one, place)
        rows = file.listed(_of_page(file.lines, page))
        return {"name": file.name, "kind": file.kind, "total": len(file.lines), "rows": rows}

    def _record(self, one: Holding, place: int, line: int) -> Any:
        file = _opened(one, place)
        if line not in file.lines:
            raise NotFound("no record begins there")
        at = file.lines.index(line)
        found = {
            "before": file.lines[at - 1] if at else None,
            "after": file.lines[at + 1] if at + 1 < len(file.lines) else None,
            "record": file.shown(line),
        }
        return found | {"replies": self._replies(file.asked(line), one.path)} if isinstance(file, RunVisits) else found

    def _calls(self, one: Holding, page: int) -> Any:
        total, rows = _episodes(one, page * PAGE, PAGE)
        return {"total": total, "rows": rows}

    def _call(self, one: Holding, n: int) -> Any:
        _, found = _episodes(one, n, 1)
        if not found:
            raise NotFound("there is no such episode")
        return found[0] | _calls_of(one.path, found[0]["run"], found[0]["episode"])


T = TypeVar("T")


def _pages(n: int) -> int:
    return max(1, -(-n // PAGE))


def _of_page(things: Sequence[T], page: int) -> Sequence[T]:
    return things[page * PAGE : (page + 1) * PAGE]


def _named(one: Holding) -> dict[str, Any]:
    return {"id": one.id, "name": one.name, "holds": one.holds, "changed": one.changed}


def _listed(one: Holding) -> dict[str, Any]:
    told = _named(one)
    try:
        match one.holds:
            case "evaluation":
                record = _results(one).record
                told |= {
                    "kind": record.kind,
                    "title": record.title,
                    "finished": record.finished,
                    "items": len(_results(one).rows),
                    "models": list(dict.fromkeys(model.name for model in record.models)),
                }
            case "hospital":
                with RecordedRun(one.path) as run:
                    summary = run.summary
                told |= {"kind": "run", "visits": (summary or {}).get("visits"), "over": summary is not None}
            case "recording":
                told |= {"kind": one.files[0].kind}
    except UserError as error:
        told["problem"] = without_folders(error)
    return told


def _files(one: Holding) -> Sequence[RecordingFile | RunVisits]:
    """Returns what holds the records of a holding."""
    return [run_visits(one)] if one.holds == "hospital" else [recording_file(file) for file in one.files]


def _opened(one: Holding, place: int) -> RecordingFile | RunVisits:
    files = _files(one)
    if place >= len(files):
        raise NotFound("there is no such file")
    return files[place]


_EPISODES = 20_000  # that are searched for a name
_CALLS = 2_000  # of an episode that are shown


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    with (
        read_errors(path),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as journal,
    ):
        yield journal


def _episodes(one: Holding, begin: int, most: int) -> tuple[int, list[dict[str, Any]]]:
    """Returns the number of a journal's episodes, and some of them: run, name and number of calls."""
    if one.holds != "journal":
        raise NotFound("that is not a journal")
    with _reading(one.path) as journal:
        total = journal.execute("SELECT count(*) FROM (SELECT DISTINCT run, episode FROM calls)").fetchone()[0]
        rows = journal.execute(
            "SELECT run, episode, count(*) FROM calls GROUP BY run, episode ORDER BY run, episode LIMIT ? OFFSET ?",
            (most, begin),
        ).fetchall()
    names = ("n", "run", "episode", "calls")
    return total, [dict(zip(names, (n, *row), strict=True)) for n, row in enumerate(rows, begin)]


def _calls_of(path: Path, run: str, episode: str) -> dict[str, Any]:
    with _reading(path) as journal:
        rows = journal.execute(
            "SELECT purpose, reply, request, k FROM calls WHERE run = ? AND episode = ?"
            " ORDER BY purpose, request, k LIMIT ?",
            (run, episode, _CALLS),
        ).fetchall()
        try:
            prompts, messages = read_prompts(journal, [request for _, _, request, _ in rows])
        except ValueError as error:
            raise BadInput(f"what was asked cannot be read: {error}", path=path) from None
    # A visit asks in the order of the length of its dialogue.
    rows.sort(key=lambda row: len(prompts[row[2]].messages) if row[2] in prompts else 0)
    replies = []
    for purpose, reply, request, k in rows:
        try:
            stored = msgspec.to_builtins(read_stored(Key(episode, request, k), reply))
        except ValueError as error:
            stored = {"problem": f"damaged: {error}"}
        asked = {"asked": prompts[request]._asdict()} if request in prompts else {}
        replies.append({"purpose": purpose, "request": request.hex(), "k": k, **stored, **asked})
    return {"replies": replies, "messages": messages}


_LONGEST_SETTING = 500  # letters of a setting that is shown; a whole hospital would be too long
_TASKS = ("examination", "diagnosis", "treatment")


def _has_results(one: Holding) -> bool:
    if one.holds == "learning" and not (one.path / SUMMARY).is_file():
        return False  # in an earlier version the file of that name is the curve
    return one.holds == "evaluation" or (one.holds in ("hospital", "learning") and (one.path / RECORD).is_file())


@lru_cache(maxsize=256)
def _results(one: Holding) -> RunResults:
    if not _has_results(one):
        raise NotFound("there are no items")
    return read_results(one.path)[0]


@lru_cache(maxsize=64)
def _table(holdings: tuple[Holding, ...]) -> dict[str, Any]:
    found = [_results(one) for one in holdings]
    rows = [one for one in found if one.rows]
    table = msgspec.to_builtins(join(rows)) if rows else {"rows": [], "measures": [], "notes": []}
    measures = {measure.name: msgspec.to_builtins(measure) for one in found for measure in one.record.measures}
    return {"table": table, "measures": measures}


@lru_cache(maxsize=64)
def _comparison(holdings: tuple[Holding, ...]) -> dict[str, Any]:
    """Returns the comparison of every two entrants, or why there is none."""
    found = [results for results in map(_results, holdings) if results.rows]
    try:
        return {"rows": msgspec.to_builtins(compare_results(found).rows) if found else [], "problem": ""}
    except UserError as error:
        return {"rows": [], "problem": str(error)}
