"""The batch provider: questions that nobody waits for, sent as files, at half the price where that is offered.

Questions that are asked without a pause become one batch; those that follow from its answers become the next. A batch
is made (a line with its questions is kept), sent (the endpoint has them), known (a line with its id is kept) and read.
The lines are in a file beside the journal or in the database: a run that was ended finds its batches there, and asks
nothing again that one of them has, or will have, an answer to.

    {"batch":"batch_7","input":"0c1f…","requests":["0c1f…-0","93ab…-0"],"at":"https://api.openai.com/v1"}
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from polyclinic.errors import BadInput, Broken, Rejected, UserError
from polyclinic.models import wire
from polyclinic.models.answers import Completion
from polyclinic.models.direct import Direct
from polyclinic.models.limits import Limit
from polyclinic.models.model import AskOptions, Price
from polyclinic.models.provider import Provider, Said, sent
from polyclinic.models.retry import Fault, Patience
from polyclinic.models.schema import Form
from polyclinic.models.server import ModelServer
from polyclinic.opened_files import read_at_once
from polyclinic.seeds import derive
from polyclinic.storage.server import is_store, read_address

if TYPE_CHECKING:
    from polyclinic.storage.journal import StoreBatchIds

T = TypeVar("T")

MOST_REQUESTS, MOST_BYTES = 50_000, 100 * 2**20
"""Of one file; OpenAI takes 50,000 requests and 200 MB."""

LARGEST_OUTPUT = 2**30

QUIET = 0.25
"""Seconds without a further question, after which all are there."""

FIRST_LOOK = 2.0
"""Seconds before a batch is looked at; doubled for each further look."""

AWAY = 1800.0
"""Seconds in which nobody answers, before a batch that is made is given up for now."""

_LAST_LOOK = 60.0
_SENT = 3  # batches that a request is part of at most, where it failed or expired
_ATTEMPTS = 6  # at sending a file, and at making a batch of it
_ANY = 2**31
_OVER = frozenset({"completed", "failed", "expired", "cancelled"})
_ENDPOINT = "/v1/chat/completions"


class _Problem(msgspec.Struct):
    message: str | None = None


class _Problems(msgspec.Struct):
    data: list[_Problem] | None = None


class _Counts(msgspec.Struct):
    completed: int = 0
    failed: int = 0


class _Found(msgspec.Struct):
    """What the endpoint says of a batch, or of a file, as far as we read it."""

    id: str
    status: str = ""
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: _Problems | None = None
    metadata: dict[str, str] | None = None
    request_counts: _Counts | None = None


class _List(msgspec.Struct):
    data: list[_Found]


class BatchResponse(msgspec.Struct):
    """What the model's server said to one request of a batch."""

    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"{}")


class BatchLine(msgspec.Struct):
    """A line of a batch's output, or of its errors: what came of one request."""

    custom_id: str
    response: BatchResponse | None = None


def decoded(raw: bytes, type_: type[T]) -> T | None:
    """Returns what a body says, None where it is something else."""
    for text in (raw, wire.whole_characters(raw)):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return msgspec.json.decode(text, type=type_)
    return None


class _Failed(Exception):
    """The endpoint did not do what was wanted, however often it was asked."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.problem)
        self.fault = fault

    @property
    def is_missing(self) -> bool:
        """Whether what was asked for is not there."""
        return "status 404" in self.fault.problem


class BatchServer:
    """The files and batches of a model at one server; where it does not do what is wanted, `_Failed` is raised.

    Args:
        server: where they are.
        name: of the model, for what is told.
        look: seconds before the second request at most; doubled for each further one, up to a minute.
        away: seconds in which nobody answers, before a batch is given up for now.
        report: told what is waited for, and how long at most, a line each; again where it is for another reason.
    """

    def __init__(
        self, server: ModelServer, name: str, *, look: float, away: float | None, report: Callable[[str], None]
    ) -> None:
        self._server, self._look, self._report = server, look, report
        self._name, self._away = name, AWAY if away is None else away
        self._rng = derive(0, "pauses of batches", name)

    async def send(self, lines: bytes) -> str:
        """Sends a file of requests, and returns its id; `UserError` where the endpoint has no batches."""
        body, kind = _multipart(lines)
        try:
            file = await self._until(
                "the file is sent", lambda: self._ask("POST", "files", _Found, body, kind), attempts=_ATTEMPTS
            )
        except _Failed as failed:
            if not failed.is_missing:
                raise
            where = f"{self._name} at {self._server.address}"
            raise UserError(f"{where} has no batches (/files, /batches); leave models.batch-api out") from None
        return file.id

    async def make(self, digest: str, wanted: bytes) -> str:
        """Makes a batch, and returns its id; `BadInput` where it is refused.

        Where the answer broke it may have been made all the same: then it is looked for.
        """
        asked = False

        async def ask() -> str | Fault:
            nonlocal asked
            if asked and (there := await self.find(digest)):
                return there
            asked = True
            made = await self._ask("POST", "batches", _Found, wanted)
            if isinstance(made, Fault) and made.error is Rejected:
                refused = self._server.hidden(made.problem)
                raise BadInput(f"{self._name} at {self._server.address}: the batch is refused: {refused}")
            return made if isinstance(made, Fault) else made.id

        try:
            return await self._until("the batch is asked for", ask, attempts=_ATTEMPTS)
        except _Failed:
            if there := await self.find(digest):
                return there
            raise

    async def find(self, digest: str) -> str:
        """Returns the id of the batch that was made of a file; "" where none was."""
        try:
            listed = await self._until("the batch is looked for", lambda: self._ask("GET", "batches", _List))
        except _Failed as failed:
            if failed.is_missing:
                return ""
            raise
        return next((one.id for one in listed.data if (one.metadata or {}).get("polyclinic") == digest), "")

    async def end(self, id: str) -> _Found:
        """Returns a batch when it is over; `BadInput` where its questions were refused."""
        pause = self._look
        while True:
            batch = await self._until(f"batch {id} is looked at", lambda: self._ask("GET", f"batches/{id}", _Found))
            if batch.status in _OVER:
                break
            await asyncio.sleep(pause)
            pause = min(_LAST_LOOK, 2 * pause)
        if batch.status == "failed":
            problems = (None if batch.errors is None else batch.errors.data) or []
            why = next((one.message for one in problems if one.message), "it says no reason")
            where = f"{self._name} at {self._server.address}"
            raise BadInput(f"{where}: batch {id} is refused: {self._server.hidden(why)}")
        return batch

    async def read(self, batch: _Found, give: Callable[[Sequence[bytes]], int]) -> None:
        """Gives away the lines of a batch's files, and is told how many hold an answer."""
        counts = batch.request_counts or _Counts()

        async def fetch() -> int | Fault:
            answers, fault = 0, None
            for file in filter(None, (batch.output_file_id, batch.error_file_id)):
                raw = await self._server.request("GET", f"files/{file}/content", largest=LARGEST_OUTPUT)
                if isinstance(raw, Fault):
                    fault = raw
                else:
                    answers += give(raw.splitlines())
            return answers if fault is None else fault

        fetched = f"the answers of batch {batch.id} are fetched"
        # Some that come to an end too early say so by nothing but their length.
        if await self._until(fetched, fetch) < counts.completed + counts.failed:
            await asyncio.sleep(self._look)
            await self._until(fetched, fetch)

    async def _ask(
        self, method: str, path: str, type_: type[T], data: bytes = b"", kind: str = "application/json"
    ) -> T | Fault:
        raw = await self._server.request(method, path, data, kind=kind, largest=LARGEST_OUTPUT)
        there = raw if isinstance(raw, Fault) else decoded(raw, type_)
        return Fault(Broken, f"the answer of /{path} cannot be read") if there is None else there

    async def _until(self, doing: str, ask: Callable[[], Awaitable[T | Fault]], *, attempts: int = _ANY) -> T:
        """Asks until what is wanted is there; what was made already is asked for longer than what is to be made."""
        now = asyncio.get_running_loop().time
        patience = Patience(attempts=attempts, seconds=self._away, pause=self._look, rng=self._rng, clock=now)
        reported = ""
        while True:
            patience.begin()
            there = await ask()
            if not isinstance(there, Fault):
                return there
            wait = patience.wait(there)
            if wait is None:
                raise _Failed(there)
            if there.problem != reported:
                reported, most = there.problem, math.ceil(patience.longest(there))
                where = f"{self._name} at {self._server.told(there)}"
                self._report(f"{where}; {doing} again until that is over, for up to {most:,} s")
            await asyncio.sleep(wait)


def _multipart(data: bytes) -> tuple[bytes, str]:
    """Returns a file for batches as a form, and the form's kind."""
    boundary = f"polyclinic-{hashlib.blake2b(data, digest_size=12).hexdigest()}"
    parts = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="questions.jsonl"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    )
    return parts.encode() + data + f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


class BatchIds:
    """Lines of a file that say which batches there are; the file is made with the first."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> list[bytes]:
        """Returns all lines, also one that was half written when a run was killed; `BadInput` if it cannot be read."""
        return read_at_once(self._path).splitlines() if self._path.exists() else []

    async def add(self, line: bytes) -> None:
        """Returns when the line is on the disk; raises OSError where it cannot be."""
        await asyncio.to_thread(self._append, line)

    async def close(self) -> None:
        """Does nothing: the file is open only while a line is added."""

    def _append(self, line: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(b"\n" * (file.tell() > 0) + line)
            file.flush()
            os.fsync(file.fileno())


def batch_ids(where: Path | str, run: str) -> BatchIds | StoreBatchIds:
    """Returns where the ids of a run's batches are kept: a file, or a database by its address.

    Raises:
        MissingExtra: what reaches a database is not installed.
    """
    if is_store(where):
        from polyclinic.storage.journal import StoreBatchIds  # noqa: PLC0415 - for those who share a database

        return StoreBatchIds(read_address(str(where)), run)
    return BatchIds(Path(where))


class _KeptBatch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of what is kept. Without a batch it says that one is about to be made."""

    input: str
    requests: list[str]
    at: str
    batch: str = ""


def _read_kept(lines: Sequence[bytes], where: Path | str) -> list[_KeptBatch]:
    kept = [one for line in lines if (one := decoded(line, _KeptBatch)) is not None]
    if len(lines) > 1 and not kept:
        raise BadInput("no list of batches; name another journal", path=where if isinstance(where, Path) else None)
    return kept


class _OpenRequest:
    """A request that waits for its answer; what the model does not take is left out when it is made again."""

    def __init__(self, make: Callable[[], dict[str, Any]]) -> None:
        self.make, self.body, self.sent = make, make(), 0
        self.answer: asyncio.Future[Completion | Fault] = asyncio.get_running_loop().create_future()


class Batched(Provider):
    """A model that is asked by batches.

    Args:
        direct: the model as it is asked otherwise. Of several servers the first is asked: a batch stays where it is.
        kept: where their ids are kept: a file, or a database's address; made where there is none.
        run: whose they are, as of the journal: equal questions of another run have answers of their own.
        price: what tokens cost in a batch.
        report: told what happens, a line each.
        quiet: seconds without a further question after which a batch is sent.
        look: seconds before the first look at a batch; doubled for each further one, up to a minute.
        away: seconds in which nobody answers, before a batch is given up for now.
    """

    def __init__(
        self,
        direct: Direct,
        kept: Path | str,
        run: str = "",
        *,
        price: Price | None = None,
        report: Callable[[str], None] = lambda _: None,
        quiet: float | None = None,
        look: float | None = None,
        away: float | None = None,
    ) -> None:
        self.name, self.repairs = direct.name, direct.repairs
        self.variant, self.address, self.limit = direct.variant, direct.servers[0].address, Limit(2**20)
        self._direct, self._server, self._price = direct, direct.servers[0], price or direct.price
        self._where, self._run, self._ids = kept, run, batch_ids(kept, run)
        self._report, self._quiet = report, QUIET if quiet is None else quiet
        look = FIRST_LOOK if look is None else look
        self._batches = BatchServer(self._server, self.name, look=look, away=away, report=report)
        self._open: dict[str, _OpenRequest] = {}
        self._asked: Counter[str] = Counter()
        self._new: list[str] = []
        self._quiet_until: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._batch_of: dict[str, _KeptBatch] = {}

    async def __aenter__(self) -> Self:
        # Before the model is opened: what cannot be read ends the command.
        kept = _read_kept(await self._ids.read(), self._where)
        await self._direct.__aenter__()
        self._batch_of = {request: one for one in kept if one.at == self.address for request in one.requests}
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._quiet_until is not None:
            self._quiet_until.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._ids.close()
        await self._direct.__aexit__()

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Asks in the next batch; see `Provider.complete`."""
        messages = [{"role": role, "content": wire.content(part)} for role, part in said]
        given = sent(options)
        asked = wire.encode(
            (self._direct.model, messages, None if form is None else form.text, given, self.variant, self._run)
        )
        digest = hashlib.blake2b(asked, digest_size=16).hexdigest()
        key = f"{digest}-{self._asked[digest]}"
        self._asked[digest] += 1
        one = self._open[key] = _OpenRequest(lambda: self._direct.body(messages, form, given))
        self._new.append(key)
        if self._quiet_until is not None:
            self._quiet_until.cancel()
        self._quiet_until = asyncio.get_running_loop().call_later(self._quiet, self._begin)
        try:
            result = await one.answer
        finally:
            del self._open[key]
        if isinstance(result, Fault):
            raise result.named(f"{self.name} at {self._server.told(result)}, {one.sent} batches", one.sent)
        usage = result.usage if self._price is None else self._price.of(result.usage)
        return msgspec.structs.replace(result, usage=usage, attempts=max(1, one.sent))

    def _begin(self) -> None:
        """Begins with all that was asked: with batches that were made before, and with new ones for the rest."""
        fresh: list[str] = []
        made: dict[str, tuple[_KeptBatch, list[str]]] = {}
        for key in filter(self._open.__contains__, self._new):
            if (kept := self._batch_of.get(key)) is None:
                fresh.append(key)
            else:
                made.setdefault(kept.input, (kept, []))[1].append(key)
        self._new = []
        for kept, keys in made.values():
            self._start(self._carry(keys, kept))
        for keys in self._files(fresh):
            self._start(self._carry(keys))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _files(self, keys: Iterable[str]) -> Iterable[list[str]]:
        """Yields the requests of each file."""
        file: list[str] = []
        size = 0
        for key in keys:
            length = len(wire.encode(self._open[key].body))
            if file and (len(file) >= MOST_REQUESTS or size + length > MOST_BYTES):
                yield file
                file, size = [], 0
            file.append(key)
            size += length
        if file:
            yield file

    async def _carry(self, keys: list[str], kept: _KeptBatch | None = None) -> None:
        """Carries requests from batch to batch until each has an answer, or what went wrong."""
        try:
            while keys := self._unanswered(keys):
                id = await self._go_on(kept, keys) or await self._make(keys)
                fault, kept = await self._read(id, keys), None
                self._answer([key for key in self._unanswered(keys) if self._open[key].sent >= _SENT], fault)
        except _Failed as failed:
            self._answer(keys, failed.fault)
        except (UserError, OSError) as error:
            for key in self._unanswered(keys):
                self._open[key].answer.set_exception(error)

    def _unanswered(self, keys: Iterable[str]) -> list[str]:
        return [key for key in keys if key in self._open and not self._open[key].answer.done()]

    def _answer(self, keys: Iterable[str], fault: Fault) -> None:
        for key in self._unanswered(keys):
            self._open[key].answer.set_result(fault)

    async def _go_on(self, kept: _KeptBatch | None, keys: list[str]) -> str:
        """Returns the id of a batch of an earlier run; "" where it was never made."""
        id = "" if kept is None else kept.batch or await self._batches.find(kept.input)
        if id:
            self._report(f"{self.name}: goes on with batch {id}, {len(keys)} of its answers are wanted")
        return id

    async def _make(self, keys: list[str]) -> str:
        """Sends requests as a file and makes a batch of it; returns its id, which is kept."""
        lines = []
        for key in keys:
            one = self._open[key]
            one.body, one.sent = one.make(), one.sent + 1
            line = b'{"custom_id":%b,"method":"POST","url":"%b","body":%b}\n'
            lines.append(line % (wire.encode(key), _ENDPOINT.encode(), wire.encode(one.body)))
        data = b"".join(lines)
        digest = hashlib.blake2b(data + os.urandom(8), digest_size=16).hexdigest()
        file = await self._batches.send(data)
        kept = _KeptBatch(digest, keys, self.address)
        await self._keep(kept)
        wanted = {
            "input_file_id": file,
            "endpoint": _ENDPOINT,
            "completion_window": "24h",
            "metadata": {"polyclinic": digest},
        }
        id = await self._batches.make(digest, wire.encode(wanted))
        await self._keep(msgspec.structs.replace(kept, batch=id))
        self._report(f"{self.name}: {len(keys)} questions are asked as batch {id}")
        return id

    async def _keep(self, one: _KeptBatch) -> None:
        self._batch_of.update(dict.fromkeys(one.requests, one))
        await self._ids.add(wire.encode(one))

    async def _read(self, id: str, keys: list[str]) -> Fault:
        """Gives everybody the answer when a batch is over; returns what those get who are asked no more."""
        try:
            batch = await self._batches.end(id)
        except _Failed as failed:
            if not failed.is_missing:
                raise
            self._report(f"{self.name}: batch {id} is not there any more; its questions are asked again")
            return Fault(Rejected, f"batch {id} is not there", again=False)
        try:
            await self._batches.read(batch, self._give)
        except _Failed as failed:
            # Never asked again: the answers are there, and paid for.
            told = f"the answers of batch {id} cannot be fetched ({failed.fault.problem}); asked again it is looked for"
            raise _Failed(Fault(failed.fault.error, told, again=False)) from None
        if left := self._unanswered(keys):
            self._report(f"{self.name}: batch {id} {batch.status} without {len(left)} of {len(keys)} answers")
        return Fault(Broken, f"batch {id} {batch.status} without an answer")

    def _give(self, lines: Sequence[bytes]) -> int:
        """Gives the answers that are in a file, and returns how many are; one that failed for a while is left open.

        Of several answers to one request, the first holds.
        """
        answers = 0
        for line in lines:
            one = decoded(line, BatchLine)
            if one is None or one.response is None:
                continue
            answers += 1
            for key in self._unanswered([one.custom_id]):
                result = self._result(one.response, self._open[key])
                if result is not None:
                    self._open[key].answer.set_result(result)
        return answers

    def _result(self, response: BatchResponse, request: _OpenRequest) -> Completion | Fault | None:
        """Returns what a model's server said to one request; None where it may say something else another time."""
        body = bytes(response.body)
        if response.status_code == 200:
            result = wire.completion(body)
        elif response.status_code in {400, 422} and self._direct.learns(request.body, body):
            return None
        else:
            result = self._server.fault(response.status_code, body)
        return None if isinstance(result, Fault) and result.again else result
