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
from collections import Counter, defaultdict
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, Unpack

import msgspec

from polyclinic.errors import BadInput, CutOff, ModelError, Refused, UnreadableReply
from polyclinic.models.answers import Completion, read
from polyclinic.models.door import SENT
from polyclinic.models.journal_file import JournalFile, Key
from polyclinic.models.model import Answer, AskOptions, Messages, Model, Reply, Usage, Wrapper
from polyclinic.models.prompts import KeptPrompts, PromptRow
from polyclinic.models.schema import form_of
from polyclinic.seals import seal
from polyclinic.stores.address import is_store, read_address

_SEAL = 8  # bytes

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


class SharedRun(NamedTuple):
    """Where the answers of a run are kept beside its own file, for other machines that go on with it.

    Attributes:
        store: the address of a database.
        run: names the run there, where there are others.
    """

    store: str
    run: str


class Keeper(Protocol):
    """Where the rows of a run's journal are: in a file, or in a database that several machines share.

    Attributes:
        goes_on: whether there may be answers of this run.
    """

    @property
    def goes_on(self) -> bool: ...  # noqa: D102

    async def find(self, keys: Sequence[Key]) -> tuple[Key, bytes] | None:
        """Returns the first of the keys that was answered, with what is stored."""

    async def put(self, rows: Sequence[PromptRow]) -> bytes | None:
        """Stores an answer, the last of the rows, with what was asked, in one commit.

        Returns:
            What is stored already, where another was first; None otherwise.
        """

    async def close(self) -> None:
        """Writes what is left, and closes."""


class Journal:
    """Answers in a file, made where there is none, or in a database. Use it with `async with`; `wrap` for each episode.

    It can hold several runs, each with a name; answers are taken from the same run only, also from files `beside` it,
    which are not written. What was asked is kept too, unless `prompts` is False. A file that is something else, or
    cannot be read or written, is `BadInput`. Of a database (`postgresql://...`) what others are answered at the same
    time is taken as well, and where two ask at once, the answer that is stored first is that of both.

    A run that has a file of its own may be `shared` in a database, too: what holds there holds in the file.
    """

    def __init__(
        self,
        where: Path | str,
        *,
        run: str = "",
        beside: Iterable[Path] = (),
        prompts: bool = True,
        shared: SharedRun | None = None,
    ) -> None:
        self.run, self._where, self._beside, self._shared_as = run, where, tuple(beside), shared
        self._prompts = KeptPrompts() if prompts else None
        # The file may lack what the database has: what it is given of that is known apart.
        self._copied = KeptPrompts() if prompts else None
        self.answered = self.stored = 0
        self._seen: defaultdict[str, Counter[bytes]] = defaultdict(Counter)
        self._keeper: Keeper | None = None
        self._shared: Keeper | None = None

    async def __aenter__(self) -> Self:
        where = str(self._where)
        if is_store(where):
            from polyclinic.stores.journal import open_store_journal  # noqa: PLC0415 - for those who share one

            self._keeper = await open_store_journal(read_address(where), self.run)
        else:
            self._keeper = JournalFile(Path(where), self.run, self._beside, prompts=self._prompts is not None)
        if self._shared_as is not None:
            from polyclinic.stores.journal import open_store_journal  # noqa: PLC0415 - for those who share one

            try:
                self._shared = await open_store_journal(read_address(self._shared_as.store), self._shared_as.run)
            except BaseException:
                await self.__aexit__()
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        keepers = [self._shared, self._keeper]
        self._shared = self._keeper = None
        for keeper in filter(None, keepers):
            with contextlib.suppress(BadInput):  # whoever stored what could not be written was told
                await keeper.close()

    @property
    def goes_on(self) -> bool:
        """Whether it may have answers of this run."""
        return self._shared is not None or (self._keeper is not None and self._keeper.goes_on)

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

    async def find(self, question: AskedQuestion, *also: Key) -> StoredReply | None:
        """Returns the answer to a question that is stored under its key or another, the first that has one, or None."""
        if self._keeper is None or not self.goes_on:
            return None
        keys = (question.key, *also)
        stored = await self._keeper.find(keys) if self._keeper.goes_on else None
        if stored is not None:
            self.answered += 1
            return self._read(*stored)
        stored = None if self._shared is None else await self._shared.find(keys)
        if stored is None:
            return None
        self.answered += 1
        reply = self._read(*stored)
        await self._keeper.put(question.rows(self.run, reply, self._copied))
        return reply

    async def store(self, question: AskedQuestion, reply: StoredReply) -> StoredReply | None:
        """Stores an answer, with what was asked, where that is kept; returns when it is there.

        Returns:
            The answer that holds in its place, where another command was answered first; None otherwise.

        Raises:
            BadInput: it cannot be written.
        """
        if self._keeper is None:
            raise RuntimeError("the journal is not open; use it with 'async with'")
        rows, first = question.rows(self.run, reply, self._prompts), None
        if self._shared is not None and self._shared_as is not None:
            *asked, _ = rows
            stood = await self._shared.put([*asked, question.row(self._shared_as.run, reply)])
            if stood is not None:
                first = self._read(question.key, stood)
                rows = [*asked, question.row(self.run, first)]
        stood = await self._keeper.put(rows)
        self.stored += 1
        return first if stood is None else self._read(question.key, stood)

    def _read(self, key: Key, stored: bytes) -> StoredReply:
        try:
            return read_stored(key, stored)
        except (msgspec.DecodeError, ValueError, TypeError) as error:
            problem = f"an answer of episode {key.episode!r} is damaged ({error}); name another journal"
            where = self._where if isinstance(self._where, Path) else None
            raise BadInput(problem, path=where) from None


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that is put to a model now, as a journal keeps it."""

    key: Key
    purpose: str
    messages: Messages | None = None  # None where only the answer is kept
    model: str = ""
    role: str = ""
    answer: Any = None  # the form that is wanted

    def row(self, run: str, reply: StoredReply) -> PromptRow:
        """Returns the row that keeps an answer to it, in a run."""
        return "calls", (run, *self.key, self.purpose, _sealed(self.key, _encode(reply)))

    def rows(self, run: str, reply: StoredReply, prompts: KeptPrompts | None) -> list[PromptRow]:
        """Returns the rows that keep it beside an answer, the answer's last; without `prompts` that one alone."""
        if prompts is None or self.messages is None:
            return [self.row(run, reply)]
        how = {"model": self.model, "role": self.role, "answer": self.answer}
        return [*prompts.rows(self.key.request, self.messages, **how), self.row(run, reply)]


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
        question = AskedQuestion(key, options.get("purpose", ""), messages, self.name, self._role, what[1])
        if self._journal.goes_on:
            others = (key._replace(request=_digest((*known_as, *what))) for known_as in self._also_known_as)
            if (stored := await self._journal.find(question, *others)) is not None:
                return _replayed(stored, answer)
        try:
            reply = await self._model.ask(messages, answer=answer, **options)
        except ModelError as failure:
            usage = failure.usage if isinstance(failure.usage, Usage) else Usage()
            kind = type(failure).__name__ if type(failure).__name__ in FAILURES else "ModelError"
            kept = StoredReply(failure.text, kind, failure.problem, usage, attempts=failure.attempts)
            if (first := await self._store(question, kept)) is not None:
                return _replayed(first, answer)
            raise
        kept = StoredReply(
            reply.text,
            usage=reply.usage,
            seconds=reply.seconds,
            attempts=reply.attempts,
            thought=reply.thought,
            server=reply.server,
        )
        if (first := await self._store(question, kept)) is None:
            return reply
        # What this command paid for is counted; what holds is what was stored first.
        same = _replayed(first, answer)
        return msgspec.structs.replace(reply, text=same.text, value=same.value, thought=same.thought)

    async def _store(self, question: AskedQuestion, reply: StoredReply) -> StoredReply | None:
        with contextlib.nullcontext() if self._places is None else self._places.storing():
            return await self._journal.store(question, reply)


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
