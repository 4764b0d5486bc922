"""The journal: every answer is stored before it is used, and a run that starts again answers from what is stored.

A call is known by its run, its episode, its request with where it is sent, and by which of the equal requests of that
episode it is, counted in the order in which the program makes them. When answers come does not matter.

The file has one row for each answer, and is written in groups. A row of the table `calls`:

    run="seed-7"  episode="case-12"  request=<16 bytes>  k=0  purpose="turn"  reply=<8 bytes>{"text": "...", ...}

What was asked stands beside it, where it is kept (`polyclinic.models.prompts`); nothing is answered from that.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Coroutine, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self, Unpack

import msgspec

from polyclinic.errors import BadInput, CutOff, ModelError, Refused, UnreadableReply
from polyclinic.models.answers import Completion, read
from polyclinic.models.door import SENT
from polyclinic.models.model import Answer, AskOptions, Messages, Model, Reply, Usage, Wrapper
from polyclinic.models.prompts import TABLES, KeptPrompts
from polyclinic.models.schema import form_of
from polyclinic.seals import seal
from polyclinic.sqlite_file import GroupWriter, Rows, claim, connect, read_errors

APPLICATION = 0x706F6C79
"""Marks a SQLite file as a journal of ours."""

_SEAL = 8  # bytes

FORMAT = 2
"""Number of the format; another is refused by name."""

_TABLE = """\
CREATE TABLE calls (
  run TEXT NOT NULL, episode TEXT NOT NULL, request BLOB NOT NULL, k INTEGER NOT NULL,
  purpose TEXT NOT NULL, reply BLOB NOT NULL, PRIMARY KEY (run, episode, request, k)
) WITHOUT ROWID"""
_INSERT = "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)"
_FIND = "SELECT reply FROM calls WHERE run = ? AND episode = ? AND request = ? AND k = ?"

FAILURES = {failure.__name__: failure for failure in (CutOff, ModelError, Refused, UnreadableReply)}
"""Failures that are answers of the model: they are stored, and met again by a run that starts again."""


class Key(NamedTuple):
    """What a call is known by, in a run."""

    episode: str
    request: bytes
    k: int


class StoredReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is stored of a `Reply`; or of a `failure`, named by its class, with its `problem`."""

    text: str
    failure: str = ""
    problem: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    attempts: int = 1
    thought: str = ""
    server: str = ""


_STORED = msgspec.json.Decoder(StoredReply)
_encode = msgspec.json.Encoder().encode


class Journal:
    """A file of answers, made where there is none. Use it with `async with`; `wrap` a model for each episode.

    It can hold several runs, each with a name; answers are taken from the same run only, also from journals `beside`
    it, which are not written. What was asked is kept too, unless `prompts` is False. A file that is something else, or
    cannot be read or written, is `BadInput`.
    """

    def __init__(self, path: Path | str, *, run: str = "", beside: Iterable[Path] = (), prompts: bool = True) -> None:
        self.path, self.run, self._beside = Path(path), run, tuple(beside)
        self._prompts = KeptPrompts() if prompts else None
        self.answered = self.stored = 0
        self._seen: defaultdict[str, Counter[bytes]] = defaultdict(Counter)
        self._readers: list[tuple[Path, sqlite3.Connection]] = []
        self._writer: GroupWriter | None = None

    async def __aenter__(self) -> Self:
        for path in (self.path, *self._beside):
            connection = open_journal(path)
            self._readers.append((path, connection))
            with read_errors(path):
                if connection.execute("SELECT 1 FROM calls WHERE run = ? LIMIT 1", (self.run,)).fetchone() is None:
                    self._readers.remove((path, connection))
                    connection.close()
        connection = open_journal(self.path)
        with read_errors(self.path):
            for table in TABLES if self._prompts is not None else ():
                connection.execute(table)
        self._writer = GroupWriter(connection, named=self._named, name="polyclinic-journal")
        return self

    async def __aexit__(self, *_: object) -> None:
        writer, readers, self._writer, self._readers = self._writer, self._readers, None, []
        if writer is not None:
            with contextlib.suppress(BadInput):  # whoever stored what could not be written was told
                await asyncio.to_thread(writer.close)
        for _path, reader in readers:
            reader.close()

    @property
    def goes_on(self) -> bool:
        """Whether it had answers of this run when it was opened."""
        return bool(self._readers)

    def wrap(self, model: Model, *, episode: str = "", role: str = "") -> Journalled:
        """Returns the model, with its answers for that episode, and what the role asked, in the journal."""
        return Journalled(model, self, episode, role)

    def forget(self, episode: str) -> None:
        """Frees what is held of an episode that has ended. It must not ask again."""
        self._seen.pop(episode, None)

    def key(self, episode: str, request: bytes) -> Key:
        """Returns the key of a call that is made now, and counts it."""
        seen = self._seen[episode]
        k = seen[request]
        seen[request] = k + 1
        return Key(episode, request, k)

    def find(self, key: Key) -> StoredReply | None:
        """Returns the stored answer, None where there is none."""
        for path, reader in self._readers:
            with read_errors(path):
                row = reader.execute(_FIND, (self.run, *key)).fetchone()
            if row is None:
                continue
            try:
                found = read_stored(key, row[0])
            except (msgspec.DecodeError, ValueError, TypeError) as error:
                problem = f"an answer of episode {key.episode!r} is damaged ({error}); name another journal"
                raise BadInput(problem, path=path) from None
            self.answered += 1
            return found
        return None

    def asked(self, key: Key, messages: Messages, *, model: str, role: str, answer: Any) -> Rows:
        """Returns what keeps a question beside its answer, where questions are kept."""
        if self._prompts is None:
            return ()
        return [*self._prompts.rows(key.request, messages, model=model, role=role, answer=answer)]

    async def store(self, key: Key, purpose: str, reply: StoredReply, asked: Rows = ()) -> None:
        """Stores an answer, with what was `asked`; returns when it is in the file.

        Raises:
            BadInput: it cannot be written.
        """
        if self._writer is None:
            raise RuntimeError("the journal is not open; use it with 'async with'")
        loop = asyncio.get_running_loop()
        stored = loop.create_future()
        row = (self.run, *key, purpose, _sealed(key, _encode(reply)))
        rows = [*asked, (_INSERT, row)]
        self._writer.put_together(rows, lambda error: loop.call_soon_threadsafe(_settle, stored, error))
        await stored
        self.stored += 1

    def _named(self, error: sqlite3.Error) -> BadInput:
        if isinstance(error, sqlite3.IntegrityError):
            return BadInput("another process writes to this journal; let each run have one of its own", path=self.path)
        return BadInput(f"cannot be written ({error})", path=self.path)


def read_stored(key: Key, stored: bytes) -> StoredReply:
    """Returns an answer as it was stored for a call.

    Raises:
        ValueError: it is damaged.
    """
    return _STORED.decode(_opened(key, stored))


def _sealed(key: Key, reply: bytes) -> bytes:
    """Returns an answer behind what tells whether it is the one that was stored for this call."""
    return _seal(key, reply) + reply


def _opened(key: Key, stored: bytes) -> bytes:
    sealed, reply = stored[:_SEAL], stored[_SEAL:]
    if sealed != _seal(key, reply):
        raise ValueError("it is not what was stored")
    return reply


def _seal(key: Key, reply: bytes) -> bytes:
    return seal(repr(tuple(key)).encode() + reply)


def _settle(stored: asyncio.Future[None], error: Exception | None) -> None:
    # One who was cancelled waits no more; the row is stored all the same.
    if not stored.done():
        if error is None:
            stored.set_result(None)
        else:
            stored.set_exception(error)


def open_journal(path: Path) -> sqlite3.Connection:
    """Opens the file of a journal, and makes it where there is none."""
    if path.is_dir():
        raise BadInput("this is a directory; a journal is a file", path=path)
    try:
        with ExitStack() as stack:
            connection = connect(path)
            stack.callback(connection.close)
            if not claim(connection, APPLICATION, [(_TABLE,), (f"PRAGMA user_version = {FORMAT}",)]):
                raise BadInput("a SQLite file, but no journal of answers; name another", path=path)
            number = connection.execute("PRAGMA user_version").fetchone()[0]
            if number != FORMAT:
                raise BadInput(
                    f"a journal in format {number}; this polyclinic keeps format {FORMAT}; name another", path=path
                )
            stack.pop_all()
            return connection
    except sqlite3.Error as error:
        raise BadInput(f"cannot be used as a journal ({error})", path=path) from None


class Journalled(Wrapper):
    """A model whose answers are in a journal. Made by `Journal.wrap`.

    Parts of an episode that run at the same time and may ask equal questions take a `branch` each: the order of equal
    questions is then each branch's own.
    """

    def __init__(self, model: Model, journal: Journal, episode: str, role: str = "") -> None:
        super().__init__(model)
        self._journal, self._episode, self._role, self._places = journal, episode, role, self.limit
        # A request that says more than the question is another one; most say no more.
        variant, address = str(getattr(model, "variant", "")), str(getattr(model, "address", ""))
        self._known_as = tuple(part for part in (self.name, address and f"at {address}", variant) if part)
        # Servers stand in for one another: what one of them answered, alone or among others, holds for all.
        others = ("",) if address else self.addresses
        self._also_known_as = [
            tuple(part for part in (self.name, other and f"at {other}", variant) if part) for other in others
        ]

    def branch(self, name: str) -> Journalled:
        """Returns the same model for a part of the episode that runs beside others."""
        return Journalled(self._model, self._journal, f"{self._episode}/{name}", self._role)

    def ask(
        self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]
    ) -> Coroutine[Any, Any, Reply]:
        """Answers from the journal, or asks the model behind and stores what it says; see `Model.ask`."""
        wanted = answer if answer is None or isinstance(answer, tuple) else form_of(answer).text
        what = (messages, wanted, [options.get(name) for name in SENT], options.get("purpose", ""))
        # Counted here and not in the coroutine: a coroutine may start late, and then the order would be the loop's.
        key = self._journal.key(self._episode, _digest((*self._known_as, *what)))
        return self._answer(messages, answer, options, key, what)

    async def _answer(
        self, messages: Messages, answer: Answer, options: AskOptions, key: Key, what: tuple[Any, ...]
    ) -> Reply:
        stored = self._journal.find(key)
        if stored is None and self._journal.goes_on:
            others = (key._replace(request=_digest((*known_as, *what))) for known_as in self._also_known_as)
            stored = next((found for other in others if (found := self._journal.find(other)) is not None), None)
        if stored is not None:
            return _replayed(stored, answer)
        purpose = options.get("purpose", "")
        asked = partial(self._journal.asked, key, messages, model=self.name, role=self._role, answer=what[1])
        try:
            reply = await self._model.ask(messages, answer=answer, **options)
        except ModelError as failure:
            usage = failure.usage if isinstance(failure.usage, Usage) else Usage()
            kind = type(failure).__name__ if type(failure).__name__ in FAILURES else "ModelError"
            kept = StoredReply(failure.text, kind, failure.problem, usage, attempts=failure.attempts)
            await self._store(key, purpose, kept, asked())
            raise
        kept = StoredReply(
            reply.text,
            usage=reply.usage,
            seconds=reply.seconds,
            attempts=reply.attempts,
            thought=reply.thought,
            server=reply.server,
        )
        await self._store(key, purpose, kept, asked())
        return reply

    async def _store(self, key: Key, purpose: str, reply: StoredReply, asked: Rows) -> None:
        with contextlib.nullcontext() if self._places is None else self._places.storing():
            await self._journal.store(key, purpose, reply, asked)


def _digest(asked: tuple[Any, ...]) -> bytes:
    return hashlib.blake2b(_encode(asked), digest_size=16).digest()


def _replayed(stored: StoredReply, answer: Answer) -> Reply:
    if stored.failure:
        error = FAILURES.get(stored.failure, ModelError)
        failure = error(stored.problem, text=stored.text, usage=stored.usage, attempts=stored.attempts)
        failure.replayed = True
        raise failure
    value = read(Completion(stored.text), answer, None if answer is None else form_of(answer))
    return Reply(stored.text, value, stored.usage, stored.seconds, stored.attempts, stored.thought, True, stored.server)
