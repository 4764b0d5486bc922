"""What models were asked and answered, call by call, from a journal.

A message that stands in many questions, as those of a dialogue do, is told once, under its id.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.errors import BadInput
from polyclinic.models.journal import read_stored
from polyclinic.models.journal_file import Key
from polyclinic.models.prompts import AskedPrompt, read_prompts
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
