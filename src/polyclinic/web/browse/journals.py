"""What models answered, call by call, from a journal. It keeps replies; of a question it keeps what it is known by."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.errors import BadInput
from polyclinic.sqlite_file import read_errors

_EPISODES = 20_000  # that are looked through for a name
_CALLS = 2_000  # of an episode that are shown


def episodes(path: Path, begin: int, n: int) -> tuple[int, list[dict[str, Any]]]:
    """Returns how many episodes a journal has, and some of them: run, name and how many calls.

    Raises:
        BadInput: it cannot be read.
    """
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
    """Returns the episodes of these names; none where the journal cannot be read."""
    try:
        return [
            {"n": one["n"], "episode": one["episode"]}
            for one in episodes(path, 0, _EPISODES)[1]
            if one["episode"] in names
        ]
    except BadInput:
        return []


def calls(path: Path, number: int) -> dict[str, Any] | None:
    """Returns the calls of an episode by its number; None where there is none.

    Raises:
        BadInput: it cannot be read.
    """
    _, found = episodes(path, number, 1)
    if not found:
        return None
    run, episode = found[0]["run"], found[0]["episode"]
    with read_errors(path), closing(_open(path)) as journal:
        rows = journal.execute(
            "SELECT purpose, reply, hex(request), k FROM calls WHERE run = ? AND episode = ?"
            " ORDER BY purpose, request, k LIMIT ?",
            (run, episode, _CALLS),
        ).fetchall()
    return {**found[0], "replies": [_told(*row) for row in rows]}


def _told(purpose: str, reply: bytes, request: str, k: int) -> dict[str, Any]:
    try:
        stored = msgspec.json.decode(reply, type=dict[str, Any])
    except msgspec.DecodeError as error:
        stored = {"problem": f"damaged: {error}"}
    return {"purpose": purpose, "request": request.lower(), "k": k, **stored}


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
