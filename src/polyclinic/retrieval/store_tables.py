"""The tables of a corpus, and the seals that tell what was stored from what became of it."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence

from polyclinic.sqlite_file import claim, transaction

APPLICATION = 0x706F6C63
"""Marks a SQLite file as a corpus of ours."""

_TABLES = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE passages (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, "
    "text TEXT NOT NULL, batch INTEGER NOT NULL)",
    "CREATE INDEX passages_batch ON passages (batch)",
    "CREATE TABLE vectors (n INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    "INSERT INTO facts VALUES ('written', '0')",
    "CREATE TRIGGER put AFTER INSERT ON vectors BEGIN UPDATE facts SET value = value + 1 WHERE name = 'written'; END",
    "CREATE TRIGGER gone AFTER DELETE ON vectors BEGIN UPDATE facts SET value = value + 1 WHERE name = 'written'; END",
    "CREATE TABLE pending (n INTEGER PRIMARY KEY)",
)
_FILES = (
    "CREATE TABLE files (n INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, key TEXT NOT NULL UNIQUE)",
    "ALTER TABLE passages ADD COLUMN file INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX passages_file ON passages (file)",
)
"""What came later: from which file a passage is, 0 where from none."""
_HAS_FILES = "SELECT count(*) FROM sqlite_master WHERE name = 'files'"
_SEALS = (
    "ALTER TABLE passages ADD COLUMN seal INTEGER",
    "ALTER TABLE vectors ADD COLUMN seal INTEGER",
    "UPDATE passages SET seal = seal(id, title, text)",
    "UPDATE vectors SET seal = seal(n, vector)",
)
"""What came later still: what tells whether a passage, or a vector, is the one that was stored."""
_HAS_SEALS = "SELECT count(*) FROM pragma_table_info('passages') WHERE name = 'seal'"
_SEAL = "seal"
_UNSEALED = frozenset(("written", _SEAL))
"""Facts that a seal of the others does not hold for: triggers change the one."""


def made(file: sqlite3.Connection) -> bool:
    """Gives an empty file the tables of a corpus, and one of an earlier version what it lacks.

    Returns:
        Whether it is a corpus now; False leaves it as it is.

    Raises:
        sqlite3.Error: it cannot be read or written.
    """
    file.create_function("seal", -1, seal, deterministic=True)
    if not claim(file, APPLICATION, [(table,) for table in _TABLES]):
        return False
    for asked, statements in ((_HAS_FILES, _FILES), (_HAS_SEALS, _SEALS)):
        _bring_up(file, asked, statements)
    return True


def _bring_up(file: sqlite3.Connection, asked: str, statements: Sequence[str]) -> None:
    if file.execute(asked).fetchone()[0]:
        return
    with transaction(file):
        if not file.execute(asked).fetchone()[0]:
            for statement in statements:
                file.execute(statement)
            seal_facts(file)


def seal(*parts: object) -> int:
    """Returns what tells texts, numbers and bytes, in this order, from others; it finds damage, not forgery."""
    told = 0
    for part in parts:
        told = zlib.crc32(part if isinstance(part, bytes) else f"{part}\0".encode(), told)
    return told


def seal_facts(file: sqlite3.Connection) -> None:
    """Seals the facts as they are now."""
    file.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_SEAL, _of(_facts(file))))


def facts_are_whole(file: sqlite3.Connection) -> bool:
    """Whether the facts are those that were sealed."""
    facts = _facts(file)  # at one look: another process may write
    return facts.get(_SEAL) == _of(facts)


def _facts(file: sqlite3.Connection) -> dict[str, str]:
    return dict(file.execute("SELECT name, value FROM facts ORDER BY name").fetchall())


def _of(facts: dict[str, str]) -> str:
    return str(seal(*(word for name, value in facts.items() if name not in _UNSEALED for word in (name, value))))
