"""The journal: every answer is stored before it is used, and a run that starts again answers from what is stored.

A call is known by its run, its episode, its request, and by which of the equal requests of that episode it is, in the
order in which the program makes them. It does not depend on the order in which answers come.

A row of the table `calls`:

    run="seed-7"  episode="case-12"  request=<16 bytes>  k=0  purpose="doctor/ask"  reply={"text": "...", "usage": {...}}
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import queue
import sqlite3
import threading
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Self

import msgspec

from polyclinic.errors import BadInput, CutOff, ModelError, Refused, UnreadableReply
from polyclinic.models.answers import Completion, read
from polyclinic.models.model import Answer, Messages, Model, Reply, Usage
from polyclinic.models.schema import form_of

APPLICATION = 0x706F6C79
"""Marks a SQLite file as a journal of ours."""

FAILURES = {failure.__name__: failure for failure in (CutOff, ModelError, Refused, UnreadableReply)}
"""Failures that are answers of the model: they are stored, and met again by a run that starts again."""

_TABLE = """\
CREATE TABLE calls (
  run TEXT NOT NULL, episode TEXT NOT NULL, request BLOB NOT NULL, k INTEGER NOT NULL,
  purpose TEXT NOT NULL, reply BLOB NOT NULL, PRIMARY KEY (run, episode, request, k)
) WITHOUT ROWID"""

Row = tuple[str, str, bytes, int, str, bytes]
Batch = list[tuple[Row, asyncio.Future[None]]]


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is stored of an answer.

    Attributes:
        text: what the model said.
        failure: the class of the failure, "" where the answer could be used.
        problem: what was wrong.
        usage: what it cost.
        seconds: how long it took.
        attempts: requests made for it.
    """

    text: str
    failure: str = ""
    problem: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    attempts: int = 1


_ENTRY = msgspec.json.Decoder(Entry)
_encode = msgspec.json.Encoder().encode


class Journal:
    """A file of answers. Use it with `async with`; `wrap` a model for each episode.

    Args:
        path: the file; made where there is none.
        run: names the run, so that one file can hold several. Answers are taken from the same run only.

    Raises:
        BadInput: the file is something else, or cannot be read or written.
    """

    def __init__(self, path: Path | str, *, run: str = "") -> None:
        self.path, self.run = Path(path), run
        self.answered = self.stored = 0
        self._seen: dict[str, Counter[bytes]] = {}
        self._resumes = False
        self._reader: sqlite3.Connection | None = None
        self._writer: _Writer | None = None

    async def __aenter__(self) -> Self:
        self._reader = connection = _connect(self.path)
        self._resumes = (
            connection.execute("SELECT 1 FROM calls WHERE run = ? LIMIT 1", (self.run,)).fetchone() is not None
        )
        self._writer = _Writer(self.path, asyncio.get_running_loop())
        return self

    async def __aexit__(self, *_: object) -> None:
        writer, reader, self._writer, self._reader = self._writer, self._reader, None, None
        if writer is not None:
            await writer.close()
        if reader is not None:
            reader.close()

    def wrap(self, model: Model, *, episode: str = "") -> Journalled:
        """Returns the model, with its answers for that episode in the journal."""
        return Journalled(model, self, episode)

    def forget(self, episode: str) -> None:
        """Frees what is held of an episode that has ended. It must not ask again."""
        self._seen.pop(episode, None)

    def number(self, episode: str, request: bytes) -> int:
        """Returns how many equal requests this episode made before, and counts this one."""
        seen = self._seen.get(episode)
        if seen is None:
            seen = self._seen[episode] = Counter()
        k = seen[request]
        seen[request] = k + 1
        return k

    def find(self, episode: str, request: bytes, k: int) -> Entry | None:
        """Returns the stored answer, None where there is none."""
        if not self._resumes or self._reader is None:
            return None
        row = self._reader.execute(
            "SELECT reply FROM calls WHERE run = ? AND episode = ? AND request = ? AND k = ?",
            (self.run, episode, request, k),
        ).fetchone()
        if row is None:
            return None
        self.answered += 1
        return _ENTRY.decode(row[0])

    async def store(self, episode: str, request: bytes, k: int, purpose: str, entry: Entry) -> None:
        """Stores an answer; returns when it is in the file.

        Raises:
            BadInput: the file cannot be written, or another process writes to it.
        """
        if self._writer is None:
            raise RuntimeError("the journal is not open; use it with 'async with'")
        await self._writer.put((self.run, episode, request, k, purpose, _encode(entry)))
        self.stored += 1


class Journalled:
    """A model whose answers are in a journal. Made by `Journal.wrap`.

    Parts of an episode that run at the same time and may ask equal questions take a `branch` each: the order of equal
    questions is then each branch's own.
    """

    def __init__(self, model: Model, journal: Journal, episode: str) -> None:
        self._model, self._journal, self._episode = model, journal, episode

    @property
    def name(self) -> str:
        """Names the model behind."""
        return self._model.name

    def branch(self, name: str) -> Journalled:
        """Returns the same model for a part of the episode that runs beside others."""
        return Journalled(self._model, self._journal, f"{self._episode}/{name}")

    def ask(
        self,
        messages: Messages,
        *,
        answer: Answer = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        reasoning: str | None = None,
        seed: int | None = None,
        purpose: str = "",
    ) -> Coroutine[Any, Any, Reply]:
        """Answers from the journal, or asks the model behind and stores what it says; see `Model.ask`."""
        options = (temperature, top_p, max_tokens, reasoning, seed)
        wanted = answer if answer is None or isinstance(answer, tuple) else form_of(answer).text
        asked = _encode((self._model.name, messages, wanted, options, purpose))
        request = hashlib.blake2b(asked, digest_size=16).digest()
        # Counted here and not in the coroutine: a coroutine may start late, and then the order would be the loop's.
        k = self._journal.number(self._episode, request)
        names = ("temperature", "top_p", "max_tokens", "reasoning", "seed")
        given = {name: value for name, value in zip(names, options, strict=True) if value is not None}
        return self._answer(messages, answer, purpose, given, request, k)

    async def _answer(
        self, messages: Messages, answer: Answer, purpose: str, options: dict[str, Any], request: bytes, k: int
    ) -> Reply:
        entry = self._journal.find(self._episode, request, k)
        if entry is not None:
            return _replayed(entry, answer)
        try:
            reply = await self._model.ask(messages, answer=answer, purpose=purpose, **options)
        except ModelError as failure:
            usage = failure.usage if isinstance(failure.usage, Usage) else Usage()
            kind = type(failure).__name__ if type(failure).__name__ in FAILURES else "ModelError"
            entry = Entry(failure.text, kind, failure.problem, usage, attempts=failure.attempts)
            await self._journal.store(self._episode, request, k, purpose, entry)
            raise
        entry = Entry(reply.text, usage=reply.usage, seconds=reply.seconds, attempts=reply.attempts)
        await self._journal.store(self._episode, request, k, purpose, entry)
        return reply


def _replayed(entry: Entry, answer: Answer) -> Reply:
    if entry.failure:
        error = FAILURES[entry.failure]
        raise error(entry.problem, text=entry.text, usage=entry.usage, attempts=entry.attempts)
    value = read(Completion(entry.text), answer, None if answer is None else form_of(answer))
    return Reply(entry.text, value, entry.usage, entry.seconds, entry.attempts)


def _connect(path: Path) -> sqlite3.Connection:
    """Opens the file, and makes it where there is none."""
    if path.is_dir():
        raise BadInput("this is a directory; a journal is a file", path=path)
    connection = None
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
        connection.execute("PRAGMA journal_mode = WAL")
        # A commit survives the end of the process. One that a power cut takes away is asked for again.
        connection.execute("PRAGMA synchronous = NORMAL")
        ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
        if not ours and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise BadInput("a SQLite file, but no journal of answers; name another", path=path)
        if not ours:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        raise BadInput(f"cannot be used as a journal ({error})", path=path) from None
    except BadInput:
        if connection is not None:
            connection.close()
        raise
    return connection


class _Writer:
    """Stores rows in a thread of its own: what comes while one commit is under way makes up the next."""

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop) -> None:
        self._path, self._loop = path, loop
        self._connection = _connect(path)
        self._next: Batch = []
        self._busy = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._batches: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="polyclinic-journal", daemon=True)
        self._thread.start()

    async def put(self, row: Row) -> None:
        """Stores a row; returns when it is committed."""
        done = self._loop.create_future()
        self._next.append((row, done))
        if not self._busy:
            self._busy = True
            self._idle.clear()
            # Not at once: what else is ready in this turn of the loop goes with it.
            self._loop.call_soon(self._send)
        await done

    async def close(self) -> None:
        """Stores what is under way, and ends the thread."""
        await self._idle.wait()
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join)
        self._connection.close()

    def _send(self) -> None:
        batch, self._next = self._next, []
        if batch:
            self._batches.put(batch)
        else:
            self._busy = False
            self._idle.set()

    def _committed(self, batch: Batch, error: Exception | None) -> None:
        for _, done in batch:
            # One who was cancelled waits no more; the row is stored all the same.
            if not done.done():
                if error is None:
                    done.set_result(None)
                else:
                    done.set_exception(error)
        self._send()

    def _write(self) -> None:
        while (batch := self._batches.get()) is not None:
            error: Exception | None = None
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)", [row for row, _ in batch])
                self._connection.execute("COMMIT")
            except sqlite3.IntegrityError:
                error = BadInput(
                    "another process writes to this journal; let each run have one of its own", path=self._path
                )
            except sqlite3.Error as failure:
                error = BadInput(f"cannot be written ({failure})", path=self._path)
            if error is not None and self._connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            self._loop.call_soon_threadsafe(self._committed, batch, error)
