"""The journal: every answer is stored before it is used, and a run that starts again answers from what is stored.

A call is known by its run, its episode, its request with where it is sent, and by which of the equal requests of that
episode it is, counted in the order in which the program makes them. When answers come does not matter.

The file has one row for each answer, and is written in groups. A row of the table `calls`:

    run="seed-7"  episode="case-12"  request=<16 bytes>  k=0  purpose="turn"  reply=<8 bytes>{"text": "...", ...}

What was asked stands beside it, where it is kept (`polyclinic.models.prompts`); nothing is answered from that.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import msgspec

from polyclinic.errors import BadInput, CutOff, EndpointError, ModelError, Refused, UnreadableReply
from polyclinic.models.answers import Completion, read
from polyclinic.models.ledger import KeptCall, Line, Spending
from polyclinic.models.model import Answer, Model, Reply, Usage
from polyclinic.models.pipeline import Call, Hook, Pipeline, Place, with_hooks
from polyclinic.models.prompts import INSERTS, TABLES, KeptPrompts, PromptRow
from polyclinic.models.provider import SENT
from polyclinic.models.schema import form_of
from polyclinic.seals import SEAL_BYTES, seal
from polyclinic.sqlite_file import GroupWriter, claim, connect, read_errors
from polyclinic.storage.server import is_store, read_address

APPLICATION = 0x706F6C79  # marks a SQLite file as a journal of ours
FORMAT = 2  # number of the format; another is refused by name

_TABLE = """\
CREATE TABLE calls (
  run TEXT NOT NULL, episode TEXT NOT NULL, request BLOB NOT NULL, k INTEGER NOT NULL,
  purpose TEXT NOT NULL, reply BLOB NOT NULL, PRIMARY KEY (run, episode, request, k)
) WITHOUT ROWID"""
_BATCHES = "CREATE TABLE IF NOT EXISTS batches (line BLOB NOT NULL, run TEXT NOT NULL)"
_FIND = "SELECT reply FROM calls WHERE run = ? AND episode = ? AND request = ? AND k = ?"
_INSERT = {
    **INSERTS,
    "calls": "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)",
    "batches": "INSERT INTO batches VALUES (?, ?)",
}


class Key(NamedTuple):
    """What a call is known by, in a run."""

    episode: str
    request: bytes
    k: int


class Keeper(Protocol):
    """Where the rows of a run's journal are: in a file, or in a database that several machines share."""

    @property
    def goes_on(self) -> bool:
        """Whether there may be answers of this run."""

    def reread(self) -> None:
        """Has `find` return also what was stored since it was opened."""

    async def find(self, keys: Sequence[Key]) -> tuple[Key, bytes] | None:
        """Returns the first of the keys that was answered, with what is stored."""

    async def put(self, rows: Sequence[PromptRow]) -> bytes | None:
        """Stores an answer, the last of the rows, with its prompt in one commit; returns an earlier answer, if any."""

    async def batches(self) -> list[bytes]:
        """Returns what is kept of the batches of the run; rows of the table `batches` can be put from then on."""

    async def close(self) -> None:
        """Writes what is left, and closes."""


class _JournalFile:
    """The rows in a file; see `Keeper`."""

    def __init__(self, path: Path, run: str, *, prompts: bool, begin: Callable[[], None] | None = None) -> None:
        self.path, self._run, self._prompts, self._begin = path, run, prompts, begin
        self._writer: GroupWriter | None = None
        self._reader: sqlite3.Connection | None = None
        if begin is None and not path.parent.is_dir():
            raise BadInput(f"cannot be used as a journal: there is no folder {path.parent}", path=path)
        if path.exists():
            self._reader = open_journal(path)
            with read_errors(path):
                if self._reader.execute("SELECT 1 FROM calls WHERE run = ? LIMIT 1", (run,)).fetchone() is None:
                    self._reader.close()
                    self._reader = None

    @property
    def goes_on(self) -> bool:
        return self._reader is not None

    def reread(self) -> None:
        if self._reader is None and self.path.exists():
            self._reader = open_journal(self.path)

    async def find(self, keys: Sequence[Key]) -> tuple[Key, bytes] | None:
        if self._reader is None:
            return None
        for key in keys:
            with read_errors(self.path):
                row = self._reader.execute(_FIND, (self._run, *key)).fetchone()
            if row is not None:
                return key, row[0]
        return None

    async def put(self, rows: Sequence[PromptRow]) -> None:
        if self._writer is None:
            # The file and its folder are made with the first answer: a command that is refused before leaves nothing.
            if self._begin is not None:
                self._begin()
            connection = open_journal(self.path)
            with read_errors(self.path):
                for table in (*(TABLES if self._prompts else ()), _BATCHES):
                    connection.execute(table)
            self._writer = GroupWriter(connection, named=self._named, name="polyclinic-journal")
        await self._writer.ask([(_INSERT[table], values) for table, values in rows])

    async def batches(self) -> list[bytes]:
        if not self.path.exists():
            return []
        with closing(open_journal(self.path)) as file, read_errors(self.path):
            file.execute(_BATCHES)
            return [line for (line,) in file.execute("SELECT line FROM batches WHERE run = ?", (self._run,))]

    async def close(self) -> None:
        try:
            if self._writer is not None:
                await self._writer.aclose()
        finally:
            if self._reader is not None:
                self._reader.close()

    def _named(self, error: sqlite3.Error) -> BadInput:
        if isinstance(error, sqlite3.IntegrityError):
            return BadInput("another process writes to this journal; let each run have one of its own", path=self.path)
        return BadInput(f"cannot be written ({error})", path=self.path)


def open_journal(path: Path) -> sqlite3.Connection:
    """Opens the file of a journal, and makes it where there is none; another file is `BadInput`."""
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


FAILURES = {failure.__name__: failure for failure in (CutOff, ModelError, Refused, UnreadableReply)}
"""Failures that are answers of the model: they are stored, and met again by a run that starts again."""


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


def read_stored(key: Key, stored: bytes) -> StoredReply:
    """Returns an answer as it was stored for a call; ValueError if it is damaged."""
    reply = stored[SEAL_BYTES:]
    if stored[:SEAL_BYTES] != _seal(key, reply):
        raise ValueError("it is not what was stored")
    return _STORED.decode(reply)


def _seal(key: Key, reply: bytes) -> bytes:
    return seal(repr(tuple(key)).encode() + reply)


class KeptAnswers(NamedTuple):
    """Where the answers of a run are kept; the `spending` is shared by several runs."""

    where: Path | str | Keeper | None  # a file, or the address of a database; None keeps none
    reuse: Path | str | None = None  # the same of another run, from which answers are taken too
    begin: Callable[[], None] | None = None  # called before the first answer is kept in the file
    spending: Spending | None = None


Answers = Path | str | Keeper | KeptAnswers
"""Where answers are kept: a file, the address of a database, both, or what the command keeps for its workers."""


class Journal:
    """Answers in a file, made where there is none, or in a database. Use it with `async with`; `wrap` for each episode.

    It can hold several runs, each with a name; answers are taken from the same run only. What was asked is kept too,
    unless `prompts` is False. A file that is something else, or cannot be read or written, is `BadInput`.

    Of a database (`postgresql://...`) what others are answered at the same time is taken as well, and where two ask at
    once, the answer that is stored first is that of both. A worker has a `Keeper` in place of a file.
    """

    def __init__(self, where: Answers, *, run: str = "", prompts: bool = True) -> None:
        self.run, self._kept = run, where if isinstance(where, KeptAnswers) else KeptAnswers(where)
        self.spending = self._kept.spending
        self.prompts = KeptPrompts() if prompts else None
        self.answered = self.stored = 0
        self._seen: defaultdict[str, Counter[bytes]] = defaultdict(Counter)
        self._is_open = False
        self._own: Keeper | None = None
        self._other: Keeper | None = None

    async def __aenter__(self) -> Self:
        self._own, self._other = await self._opened(self._kept.where), await self._opened(self._kept.reuse)
        self._is_open = True
        return self

    async def _opened(self, where: Path | str | Keeper | None) -> Keeper | None:
        if where is None or not isinstance(where, Path | str):
            return where
        if is_store(str(where)):
            from polyclinic.storage.journal import open_store_journal  # noqa: PLC0415 - for those who share one

            return await open_store_journal(read_address(str(where)), self.run)
        begin = self._kept.begin if where == self._kept.where else None
        return _JournalFile(Path(where), self.run, prompts=self.prompts is not None, begin=begin)

    async def __aexit__(self, *_: object) -> None:
        keepers, self._own, self._other, self._is_open = (self._own, self._other), None, None, False
        for keeper in filter(None, keepers):
            with contextlib.suppress(BadInput):  # whoever stored what could not be written was told
                await keeper.close()

    @property
    def goes_on(self) -> bool:
        """Whether it may have answers of this run."""
        return self._other is not None or (self._own is not None and self._own.goes_on)

    def reread(self) -> None:
        """Has `look_up` return also what was stored since it was opened."""
        if self._own is not None:
            self._own.reread()

    async def look_up(self, keys: Sequence[Key]) -> tuple[Key, bytes] | None:
        """Returns the first of the keys that was answered, in this run or else in the other, with what is stored."""
        for keeper in filter(None, (self._own, self._other)):
            if (found := await keeper.find(keys)) is not None:
                return found
        return None

    async def put(self, rows: Sequence[PromptRow]) -> bytes | None:
        """Stores an answer; see `Keeper.put`."""
        if not self._is_open:
            raise RuntimeError("the journal is not open; use it with 'async with'")
        return None if self._own is None else await self._own.put(rows)

    async def batches(self) -> list[bytes]:
        """Returns the lines that say which batches the run has made."""
        return [] if self._own is None else await self._own.batches()

    def wrap(self, model: Model, *, episode: str = "", role: str = "") -> Pipeline:
        """Returns the model, with its answers for that episode, and what the role asked, in the journal."""
        return with_hooks(model, Journalling(self), episode=episode, role=role)

    def forget(self, episode: str) -> None:
        """Frees what is held of an episode that has ended. It must not ask again."""
        self._seen.pop(episode, None)

    def key(self, episode: str, request: bytes) -> Key:
        """Returns the key of a call that is made now, and counts it."""
        seen = self._seen[episode]
        k = seen[request]
        seen[request] = k + 1
        return Key(episode, request, k)

    async def find(self, *keys: Key) -> StoredReply | None:
        """Returns the answer that is stored under the first of the keys that has one, or None."""
        stored = await self.look_up(keys) if self.goes_on else None
        if stored is None:
            return None
        self.answered += 1
        return self._read(*stored)

    async def store(
        self, key: Key, purpose: str, reply: StoredReply, asked: Iterable[PromptRow] = ()
    ) -> StoredReply | None:
        """Stores an answer, with the rows that keep what was `asked`; returns when it is there.

        Returns the answer that holds in its place, where another command was answered first; None otherwise. Raises
        `BadInput` if it cannot be written.
        """
        encoded = _encode(reply)
        row = self.run, *key, purpose, _seal(key, encoded) + encoded
        stood = await self.put([*asked, ("calls", row)])
        self.stored += 1
        return None if stood is None else self._read(key, stood)

    def _read(self, key: Key, stored: bytes) -> StoredReply:
        try:
            return read_stored(key, stored)
        except (msgspec.DecodeError, ValueError, TypeError) as error:
            problem = f"an answer of episode {key.episode!r} is damaged ({error}); name another journal"
            where = self._kept.where
            raise BadInput(problem, path=where if isinstance(where, Path) else None) from None


class Journalling(Hook):
    """Answers from a journal what stands there, and stores what was asked now before it is used."""

    place = Place.JOURNAL

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def before(self, call: Call) -> None:
        """Counts the question among equal ones of its episode."""
        answer, options = call.answer, call.options
        wanted = answer if answer is None or isinstance(answer, tuple) else form_of(answer).text
        what = (call.messages, wanted, [options.get(name) for name in SENT], options.get("purpose", ""))
        key = self._journal.key(call.asker.episode, _digest((*call.pipeline.known_as, *what)))
        call.notes[self] = key, what

    async def admitted(self, call: Call) -> None:
        """Answers from the journal."""
        if self._journal.goes_on:
            key, what = call.notes[self]
            others = (key._replace(request=_digest((*one, *what))) for one in call.pipeline.also_known_as)
            if (stored := await self._journal.find(key, *others)) is not None:
                call.reply = _replayed(stored, call.answer)

    async def answered(self, call: Call) -> None:
        """Stores an answer, or a failure that is one; where another command was first, its answer holds."""
        outcome = call.outcome
        if outcome is None or isinstance(outcome, EndpointError):
            return
        usage, attempts = outcome.usage or Usage(), outcome.attempts
        if isinstance(outcome, Reply):
            seconds, thought = outcome.seconds, outcome.thought
            kept = StoredReply(outcome.text, "", "", usage, seconds, attempts, thought, outcome.server)
        else:
            kind = type(outcome).__name__
            kept = StoredReply(
                outcome.text, kind if kind in FAILURES else "ModelError", outcome.problem, usage, attempts=attempts
            )
        if (first := await self._store(call, kept)) is None:
            return
        same = _replayed(first, call.answer)
        if isinstance(outcome, Reply):
            # What this command paid for is counted; what holds is what was stored first.
            same = msgspec.structs.replace(outcome, text=same.text, value=same.value, thought=same.thought)
        call.reply, call.failure = same, None

    failed = answered

    async def _store(self, call: Call, reply: StoredReply) -> StoredReply | None:
        key, (messages, wanted, *_) = call.notes[self]
        asked: Iterable[PromptRow] = ()
        if (prompts := self._journal.prompts) is not None:
            asked = prompts.rows(key.request, messages, model=call.pipeline.name, role=call.asker.role, answer=wanted)
        with contextlib.nullcontext() if call.limit is None else call.limit.storing():
            return await self._journal.store(key, call.purpose, reply, asked)


def key_of(call: Call) -> Key | None:
    """Returns what an answer to a call is known by in its journal, None if it has none."""
    return next((note[0] for hook, note in call.notes.items() if isinstance(hook, Journalling)), None)


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


_CALL = "SELECT calls.episode, calls.request, calls.k, purpose, reply"
_UNASKED = f"{_CALL}, '', '' FROM calls ORDER BY episode"
_ASKED = (
    f"{_CALL}, ifnull(model, ''), ifnull(role, '') FROM calls LEFT JOIN prompts ON prompts.request = calls.request "
    "ORDER BY episode"
)
_THERE = "SELECT name FROM sqlite_master WHERE type = 'table'"


def servers_of(paths: Iterable[Path]) -> dict[tuple[str, str], Line]:
    """Returns what each of several servers answered, out of the files of journals, as a ledger has it."""
    found: dict[tuple[str, str], Line] = {}
    for call in (call for path in paths for call in calls_of(path) if call.server):
        found.setdefault(("", call.server), Line()).count(call.usage, call.requests)
    return found


def calls_of(where: Path | str, run: str = "") -> Iterator[KeptCall]:
    """Yields every call whose answer stands in a journal, as the folder of a run keeps it."""
    for *key, purpose, stored, model, role in _rows_in(where, run):
        try:
            reply = read_stored(Key(*key), stored)
        except ValueError as error:
            raise BadInput(f"an answer is damaged ({error})", path=Path(where)) from None
        yield KeptCall(
            role=role,
            model=model,
            purpose=purpose,
            item=key[0],
            **msgspec.structs.asdict(reply.usage),
            seconds=round(reply.seconds, 3),
            requests=reply.attempts,
            error=reply.failure,
            server=reply.server,
        )


def _rows_in(where: Path | str, run: str) -> Iterator[tuple[Any, ...]]:
    if is_store(str(where)):
        from polyclinic.storage.journal import stored_calls  # noqa: PLC0415 - for those who share one

        yield from stored_calls(read_address(str(where)), run)
        return
    with closing(open_journal(Path(where))) as file, read_errors(Path(where)):
        there = {name for (name,) in file.execute(_THERE)}
        yield from file.execute(_ASKED if "prompts" in there else _UNASKED)
