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
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self, Unpack

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
    """

    def __init__(self, where: Path | str, *, run: str = "", beside: Iterable[Path] = (), prompts: bool = True) -> None:
        self.run, self._where, self._beside = run, where, tuple(beside)
        self._prompts = KeptPrompts() if prompts else None
        self.answered = self.stored = 0
        self._seen: defaultdict[str, Counter[bytes]] = defaultdict(Counter)
        self._keeper: Keeper | None = None

    async def __aenter__(self) -> Self:
        where = str(self._where)
        if is_store(where):
            from polyclinic.stores.journal import open_store_journal  # noqa: PLC0415 - for those who share one

            self._keeper = await open_store_journal(read_address(where), self.run)
        else:
            self._keeper = JournalFile(Path(where), self.run, self._beside, prompts=self._prompts is not None)
        return self

    async def __aexit__(self, *_: object) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            with contextlib.suppress(BadInput):  # whoever stored what could not be written was told
                await keeper.close()

    @property
    def goes_on(self) -> bool:
        """Whether it may have answers of this run."""
        return self._keeper is not None and self._keeper.goes_on

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

    async def find(self, *keys: Key) -> StoredReply | None:
        """Returns the answer that is stored under the first of the keys that has one, None where none has."""
        if self._keeper is None or not self._keeper.goes_on:
            return None
        stored = await self._keeper.find(keys)
        if stored is None:
            return None
        self.answered += 1
        return self._read(*stored)

    def asked(self, key: Key, messages: Messages, *, model: str, role: str, answer: Any) -> Sequence[PromptRow]:
        """Returns what keeps a question beside its answer, where questions are kept."""
        if self._prompts is None:
            return ()
        return [*self._prompts.rows(key.request, messages, model=model, role=role, answer=answer)]

    async def store(
        self, key: Key, purpose: str, reply: StoredReply, asked: Sequence[PromptRow] = ()
    ) -> StoredReply | None:
        """Stores an answer, with what was `asked`; returns when it is there.

        Returns:
            The answer that holds in its place, where another command was answered first; None otherwise.

        Raises:
            BadInput: it cannot be written.
        """
        if self._keeper is None:
            raise RuntimeError("the journal is not open; use it with 'async with'")
        row = (self.run, *key, purpose, _sealed(key, _encode(reply)))
        stood = await self._keeper.put([*asked, ("calls", row)])
        self.stored += 1
        return None if stood is None else self._read(key, stood)

    def _read(self, key: Key, stored: bytes) -> StoredReply:
        try:
            return read_stored(key, stored)
        except (msgspec.DecodeError, ValueError, TypeError) as error:
            problem = f"an answer of episode {key.episode!r} is damaged ({error}); name another journal"
            where = self._where if isinstance(self._where, Path) else None
            raise BadInput(problem, path=where) from None


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
        if self._journal.goes_on:
            others = (key._replace(request=_digest((*known_as, *what))) for known_as in self._also_known_as)
            if (stored := await self._journal.find(key, *others)) is not None:
                return _replayed(stored, answer)
        purpose = options.get("purpose", "")
        asked = partial(self._journal.asked, key, messages, model=self.name, role=self._role, answer=what[1])
        try:
            reply = await self._model.ask(messages, answer=answer, **options)
        except ModelError as failure:
            usage = failure.usage if isinstance(failure.usage, Usage) else Usage()
            kind = type(failure).__name__ if type(failure).__name__ in FAILURES else "ModelError"
            kept = StoredReply(failure.text, kind, failure.problem, usage, attempts=failure.attempts)
            if (first := await self._store(key, purpose, kept, asked())) is not None:
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
        if (first := await self._store(key, purpose, kept, asked())) is None:
            return reply
        # What this command paid for is counted; what holds is what was stored first.
        same = _replayed(first, answer)
        return msgspec.structs.replace(reply, text=same.text, value=same.value, thought=same.thought)

    async def _store(
        self, key: Key, purpose: str, reply: StoredReply, asked: Sequence[PromptRow]
    ) -> StoredReply | None:
        with contextlib.nullcontext() if self._places is None else self._places.storing():
            return await self._journal.store(key, purpose, reply, asked)


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
