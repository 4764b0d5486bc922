"""The batch provider: questions that nobody waits for, sent as files, at half the price where that is offered.

What is asked until nobody asks anything more becomes one batch; its answers come when it is over, and what they lead
to is the next. A batch is known by its id in a file beside the journal or in the store, and a request by what it says:
a run that was ended looks there first, and asks nothing again that a batch has, or will have, an answer to.

    {"batch":"batch_7","input":"0c1f…","requests":["0c1f…-0","93ab…-0"],"at":"https://api.openai.com/v1"}
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

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
from polyclinic.models.wire import whole_characters
from polyclinic.opened_files import read_at_once
from polyclinic.seeds import derive
from polyclinic.storage.server import is_store, read_address

Body = TypeVar("Body")


class BatchProblem(msgspec.Struct):
    """What is wrong with a batch."""

    message: str | None = None


class BatchProblems(msgspec.Struct):
    """All that is wrong with a batch."""

    data: list[BatchProblem] | None = None


class BatchCounts(msgspec.Struct):
    """How many requests of a batch are done."""

    completed: int = 0
    failed: int = 0


class BatchState(msgspec.Struct):
    """What the endpoint says of a batch, as far as we read it."""

    id: str
    status: str = ""
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: BatchProblems | None = None
    metadata: dict[str, str] | None = None
    request_counts: BatchCounts | None = None

    @property
    def answers(self) -> int:
        """How many lines its files are to have, as far as it says."""
        return 0 if self.request_counts is None else self.request_counts.completed + self.request_counts.failed

    @property
    def refused(self) -> str:
        """Why it was not begun."""
        problems = (self.errors.data if self.errors is not None else None) or []
        return next((one.message for one in problems if one.message), "it says no reason")


class BatchList(msgspec.Struct):
    """The batches that the endpoint has."""

    data: list[BatchState]


class MadeFile(msgspec.Struct):
    """A file that was sent."""

    id: str


class BatchResponse(msgspec.Struct):
    """What the model's server said to one request of a batch."""

    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"{}")


class BatchLine(msgspec.Struct):
    """A line of a batch's output, or of its errors: what came of one request."""

    custom_id: str
    response: BatchResponse | None = None


def decoded(raw: bytes, type_: type[Body]) -> Body | None:
    """Returns what a body says, None where it is something else."""
    for text in (raw, whole_characters(raw)):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return msgspec.json.decode(text, type=type_)
    return None


def multipart(data: bytes) -> tuple[bytes, str]:
    """Returns a file for batches as a form, and the form's kind."""
    boundary = f"polyclinic-{hashlib.blake2b(data, digest_size=12).hexdigest()}"
    parts = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="questions.jsonl"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    )
    return parts.encode() + data + f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


T = TypeVar("T")

LARGEST_OUTPUT = 2**30

AWAY = 1800.0
"""Seconds in which nobody answers, before a batch that is made is given up for now."""

_ATTEMPTS = 6  # at sending a file, and at making a batch of it
_ANY = 2**31


class BatchServer:
    """The batches of a model at one server.

    Args:
        server: where they are.
        name: of the model, for what is told.
        look: seconds before the second request at most; doubled for each further one, up to a minute.
        away: seconds in which nobody answers, before a batch is given up for now.
        report: told what is waited for, and how long at most, a line each; again where it is for another reason.
    """

    def __init__(
        self,
        server: ModelServer,
        name: str,
        *,
        look: float,
        away: float | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._server, self._name, self._look, self._report = server, name, look, report
        self._away = AWAY if away is None else away
        self._rng = derive(0, "pauses of batches", name)

    async def send(self, lines: bytes) -> str | Fault:
        """Sends a file of requests, and returns its id.

        Raises:
            UserError: the endpoint has no batches.
        """
        body, kind = multipart(lines)
        file = await self._until_there("the file is sent", "POST", "files", MadeFile, body, kind=kind)
        if isinstance(file, Fault) and is_missing(file):
            where = f"{self._name} at {self._server.address}"
            raise UserError(f"{where} has no batches (/files, /batches); leave models.batch-api out")
        return file if isinstance(file, Fault) else file.id

    async def state(self, id: str) -> BatchState | Fault:
        """Returns how a batch stands."""
        return await self._until_there(f"batch {id} is looked at", "GET", f"batches/{id}", BatchState)

    async def make(self, digest: str, wanted: bytes) -> str | Fault:
        """Makes a batch, and returns its id; one that was made all the same where the answer broke is looked for.

        Raises:
            BadInput: it is refused.
        """
        pauses = self._pauses("the batch is asked for", attempts=_ATTEMPTS)
        while True:
            pauses.begin()
            raw = await self._server.request("POST", "batches", wanted)
            batch = None if isinstance(raw, Fault) else decoded(raw, BatchState)
            if batch is not None:
                return batch.id
            fault = raw if isinstance(raw, Fault) else Fault(Broken, "no batch was made")
            if fault.error is Rejected:
                refused = self._server.hidden(fault.problem)
                raise BadInput(f"{self._name} at {self._server.address}: the batch is refused: {refused}")
            goes_on = await pauses.goes_on(fault)
            there = await self.find(digest)
            if there:
                return there
            if not goes_on:
                return fault

    async def find(self, digest: str) -> str | Fault:
        """Returns the id of the batch that was made of a file just before the run was ended; "" where none was."""
        listed = await self._until_there("the batch is looked for", "GET", "batches", BatchList)
        if isinstance(listed, Fault):
            return "" if is_missing(listed) else listed
        return next((one.id for one in listed.data if (one.metadata or {}).get("polyclinic") == digest), "")

    async def read(self, batch: BatchState, give: Callable[[Sequence[bytes]], int]) -> Fault | None:
        """Gives away the lines of a batch's files, and hears how many hold an answer; returns why there are none."""
        pauses = self._pauses(f"the answers of batch {batch.id} are fetched", attempts=_ANY)
        twice = False
        while True:
            pauses.begin()
            lines, fault = 0, None
            for file in filter(None, (batch.output_file_id, batch.error_file_id)):
                raw = await self._server.request("GET", f"files/{file}/content", largest=LARGEST_OUTPUT)
                if isinstance(raw, Fault):
                    fault = raw
                else:
                    lines += give(raw.splitlines())
            if fault is None:
                # Some that come to an end too early say so by nothing but their length.
                if lines >= batch.answers or twice:
                    return None
                fault, twice = Fault(Broken, f"{lines} of {batch.answers} answers came"), True
            if not await pauses.goes_on(fault, told=not twice):  # once more is no wait
                return fault

    async def _until_there(
        self, doing: str, method: str, path: str, type_: type[T], data: bytes = b"", *, kind: str = "application/json"
    ) -> T | Fault:
        """Asks until what is wanted is there; what was made already is asked for longer than what is to be made."""
        pauses = self._pauses(doing, attempts=_ATTEMPTS if data else _ANY)
        while True:
            pauses.begin()
            raw = await self._server.request(method, path, data, kind=kind, largest=LARGEST_OUTPUT)
            there = None if isinstance(raw, Fault) else decoded(raw, type_)
            if there is not None:
                return there
            fault = raw if isinstance(raw, Fault) else Fault(Broken, f"the answer of /{path} cannot be read")
            if not await pauses.goes_on(fault):
                return fault

    def _pauses(self, doing: str, *, attempts: int) -> _Pauses:
        now = asyncio.get_running_loop().time
        patience = Patience(attempts=attempts, seconds=self._away, pause=self._look, rng=self._rng, clock=now)
        return _Pauses(patience, lambda fault, most: self._say(doing, fault, most))

    def _say(self, doing: str, fault: Fault, most: float) -> None:
        told = f"{self._name} at {self._server.told(fault)}"
        self._report(f"{told}; {doing} again until that is over, for up to {math.ceil(most):,} s")


class _Pauses:
    """The pauses between requests that meet faults; each reason is said once, as long as it is the same."""

    def __init__(self, patience: Patience, say: Callable[[Fault, float], None]) -> None:
        self._patience, self._say, self._why = patience, say, ""

    def begin(self) -> None:
        """Takes note of a request that is sent."""
        self._patience.begin()

    async def goes_on(self, fault: Fault, *, told: bool = True) -> bool:
        """Waits before the next request, which is `told`; False where there is to be none."""
        wait = self._patience.wait(fault)
        if wait is None:
            return False
        if told and fault.problem != self._why:
            self._why = fault.problem
            self._say(fault, self._patience.longest(fault))
        await asyncio.sleep(wait)
        return True


def is_missing(fault: Fault) -> bool:
    """Whether what was asked for is not there."""
    return "status 404" in fault.problem


class BatchIds(Protocol):
    """Lines that say which batches there are."""

    async def read(self) -> list[bytes]:
        """Returns all lines, in the order in which they were added; raises BadInput where they cannot be read."""

    async def add(self, line: bytes) -> None:
        """Returns when a line is kept for good; raises BadInput or OSError where it cannot be."""

    async def close(self) -> None:
        """Frees what was used."""


class BatchIdsFile:
    """Lines of a file, made where there is none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def read(self) -> list[bytes]:
        """Returns its lines; one that was half written when a run was killed is among them."""
        return read_at_once(self._path).splitlines() if self._path.exists() else []

    async def add(self, line: bytes) -> None:
        """Returns when the line is on the disk."""
        await asyncio.to_thread(self._append, line)

    async def close(self) -> None:
        """Does nothing: the file is open only while a line is added."""

    def _append(self, line: bytes) -> None:
        with self._path.open("ab") as file:
            file.write(b"\n" * (file.tell() > 0) + line)
            file.flush()
            os.fsync(file.fileno())


def batch_ids(where: Path | str, run: str) -> BatchIds:
    """Returns where the ids of a run's batches are kept: a file, or a store by its address.

    Raises:
        MissingExtra: what reaches a store is not installed.
    """
    if is_store(where):
        from polyclinic.storage.journal import StoreBatchIds  # noqa: PLC0415 - for those who share a store

        return StoreBatchIds(read_address(str(where)), run)
    return BatchIdsFile(Path(where))


MOST_REQUESTS, MOST_BYTES = 50_000, 100 * 2**20
"""Of one file; OpenAI takes 50,000 requests and 200 MB."""

QUIET = 0.25
"""Seconds without a further question, after which all are there."""

FIRST_LOOK = 2.0
"""Seconds before a batch is looked at; doubled for each further look."""

_LAST_LOOK = 60.0
_SENT = 3  # batches that a request is part of at most, where it failed or expired
_OVER = frozenset({"completed", "failed", "expired", "cancelled"})
_ENDPOINT = "/v1/chat/completions"


class _KeptBatch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of what is kept. Without a batch it says that one is about to be made."""

    input: str
    requests: list[str]
    at: str
    batch: str = ""


class _OpenRequest:
    """A request that waits for its answer; what the model does not take is left out when it is made again."""

    def __init__(self, make: Callable[[], dict[str, Any]]) -> None:
        self.make, self.body, self.sent = make, make(), 0
        self.answer: asyncio.Future[Completion | Fault] = asyncio.get_running_loop().create_future()


class Batched(Provider):
    """A model that is asked by batches.

    Args:
        direct: the model as it is asked otherwise. Of several servers the first is asked: a batch stays where it is.
        kept: where their ids are kept: a file, or a store's address; made where there is none.
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
        self._kept, self._run, self._ids = kept, run, batch_ids(kept, run)
        self._report, self._quiet = report, QUIET if quiet is None else quiet
        self._first_look = FIRST_LOOK if look is None else look
        self._batches = BatchServer(self._server, self.name, look=self._first_look, away=away, report=report)
        self._open: dict[str, _OpenRequest] = {}
        self._asked: Counter[str] = Counter()
        self._new: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._sending: asyncio.Task[None] | None = None
        self._last_asked = 0.0
        self._made: dict[str, _KeptBatch] = {}
        self._of: dict[str, _KeptBatch] = {}

    async def __aenter__(self) -> Self:
        # Before the model is opened: what cannot be read ends the command.
        found = _read_kept(await self._ids.read(), self._kept)
        await self._direct.__aenter__()
        for one in found:
            if one.at == self.address:
                self._made[one.input] = one
        self._of = {request: one for one in self._made.values() for request in one.requests}
        return self

    async def __aexit__(self, *_: object) -> None:
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
        self._last_asked = asyncio.get_running_loop().time()
        if self._sending is None or self._sending.done():
            self._sending = self._start(self._send_what_is_asked())
        try:
            result = await one.answer
        finally:
            del self._open[key]
        if isinstance(result, Fault):
            raise result.named(f"{self.name} at {self._server.told(result)}, {one.sent} batches", one.sent)
        usage = result.usage if self._price is None else self._price.of(result.usage)
        return msgspec.structs.replace(result, usage=usage, attempts=max(1, one.sent))

    def _start(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _send_what_is_asked(self) -> None:
        now = asyncio.get_running_loop().time
        while (left := self._last_asked + self._quiet - now()) > 0:  # noqa: ASYNC110 - more may be asked
            await asyncio.sleep(left)
        new, self._new = self._new, []
        # What a batch of before holds, is looked for there.
        begun: dict[str, tuple[_KeptBatch, list[str]]] = {}
        fresh = []
        for key in new:
            if (kept := self._of.get(key)) is not None:
                begun.setdefault(kept.input, (kept, []))[1].append(key)
            else:
                fresh.append(key)
        for kept, keys in begun.values():
            self._start(self._guarded(keys, self._go_on(kept, keys)))
        for keys in self._files(fresh):
            self._start(self._guarded(keys, self._ask(keys)))

    def _files(self, keys: list[str]) -> Iterable[list[str]]:
        """Yields the requests of each file."""
        part: list[str] = []
        size = 0
        for key in keys:
            length = len(wire.encode(self._open[key].body))
            if part and (len(part) >= MOST_REQUESTS or size + length > MOST_BYTES):
                yield part
                part, size = [], 0
            part.append(key)
            size += length
        if part:
            yield part

    async def _guarded(self, keys: list[str], work: Any) -> None:
        """Lets what went wrong be the answer of all whose answer it was to bring."""
        try:
            await work
        except (UserError, OSError) as error:
            for key in keys:
                if (one := self._open.get(key)) is not None and not one.answer.done():
                    one.answer.set_exception(error)

    async def _go_on(self, kept: _KeptBatch, keys: list[str]) -> None:
        """Waits for a batch of an earlier run; where it was never made, or is not there any more, asks anew."""
        id = kept.batch or await self._batches.find(kept.input)
        if isinstance(id, Fault):
            self._settle_all(keys, id)
            return
        if not id:
            await self._ask(keys)
            return
        self._report(f"{self.name}: goes on with batch {id}, {len(keys)} of its answers are wanted")
        await self._wait(id, keys)

    async def _ask(self, keys: list[str]) -> None:
        """Sends requests as a file, makes a batch of it, and waits for that."""
        keys = [key for key in keys if key in self._open]
        if not keys:
            return
        for key in keys:
            one = self._open[key]
            one.body, one.sent = one.make(), one.sent + 1
        lines = (
            b'{"custom_id":%b,"method":"POST","url":"%b","body":%b}'
            % (wire.encode(key), _ENDPOINT.encode(), wire.encode(self._open[key].body))
            for key in keys
        )
        data = b"\n".join(lines) + b"\n"
        digest = hashlib.blake2b(data + os.urandom(8), digest_size=16).hexdigest()
        file = await self._batches.send(data)
        if isinstance(file, Fault):
            self._settle_all(keys, file)
            return
        kept = _KeptBatch(digest, keys, self.address)
        await self._keep(kept)
        wanted = {
            "input_file_id": file,
            "endpoint": _ENDPOINT,
            "completion_window": "24h",
            "metadata": {"polyclinic": digest},
        }
        id = await self._batches.make(digest, wire.encode(wanted))
        if isinstance(id, Fault):
            self._settle_all(keys, id)
            return
        await self._keep(msgspec.structs.replace(kept, batch=id))
        self._report(f"{self.name}: {len(keys)} questions are asked as batch {id}")
        await self._wait(id, keys)

    async def _wait(self, id: str, keys: list[str]) -> None:
        """Looks at a batch until it is over, and gives everybody the answer; what has none is asked anew."""
        pause = self._first_look
        while True:
            batch = await self._batches.state(id)
            if isinstance(batch, Fault):
                if is_missing(batch):
                    self._report(f"{self.name}: batch {id} is not there any more; its questions are asked again")
                    await self._again(keys, Fault(Rejected, f"batch {id} is not there", again=False))
                else:
                    self._settle_all(keys, batch)
                return
            if batch.status in _OVER:
                break
            await asyncio.sleep(pause)
            pause = min(_LAST_LOOK, 2 * pause)
        if batch.status == "failed":
            raise BadInput(
                f"{self.name} at {self.address}: batch {id} is refused: {self._server.hidden(batch.refused)}"
            )
        if (fault := await self._batches.read(batch, self._give)) is not None:
            # Never asked again: the answers are there, and paid for.
            told = f"the answers of batch {id} cannot be fetched ({fault.problem}); asked again it is looked for"
            self._settle_all(keys, Fault(fault.error, told, again=False))
            return
        left = [key for key in keys if (one := self._open.get(key)) is not None and not one.answer.done()]
        if left:
            self._report(f"{self.name}: batch {id} {batch.status} without {len(left)} of {len(keys)} answers")
            await self._again(left, Fault(Broken, f"batch {id} {batch.status} without an answer"))

    def _give(self, lines: Sequence[bytes]) -> int:
        """Gives the answers that stand in a file, and returns how many do; one that failed for a while is left open."""
        there = 0
        for line in lines:
            one = decoded(line, BatchLine)
            if one is None or one.response is None:
                continue
            there += 1
            waiting = self._open.get(one.custom_id)
            if waiting is None or waiting.answer.done():
                continue
            result = self._read_line(one.response, waiting)
            if result is not None:
                waiting.answer.set_result(result)
        return there

    def _read_line(self, response: BatchResponse, waiting: _OpenRequest) -> Completion | Fault | None:
        """Returns what a model's server said to one request; None where it may say something else another time."""
        body = bytes(response.body)
        if response.status_code == 200:
            result = wire.completion(body)
        elif response.status_code in {400, 422} and self._direct.learns(waiting.body, body):
            return None
        else:
            variable = self._direct.key_variable
            result = wire.fault(
                response.status_code,
                body,
                after=None,
                model=self._direct.model,
                key_env=variable,
                has_key=bool(variable),
            )
        return None if isinstance(result, Fault) and result.again else result

    async def _again(self, keys: list[str], fault: Fault) -> None:
        given_up = [key for key in keys if key in self._open and self._open[key].sent >= _SENT]
        self._settle_all(given_up, fault)
        await self._ask([key for key in keys if key not in given_up])

    def _settle_all(self, keys: Iterable[str], fault: Fault) -> None:
        for key in keys:
            if (one := self._open.get(key)) is not None and not one.answer.done():
                one.answer.set_result(fault)

    async def _keep(self, one: _KeptBatch) -> None:
        self._made[one.input] = one
        self._of.update(dict.fromkeys(one.requests, one))
        await self._ids.add(wire.encode(one))


def _read_kept(lines: Sequence[bytes], where: Path | str) -> list[_KeptBatch]:
    """Returns the batches that lines name; one that was half written when a run was killed is passed over."""
    found = [one for line in lines if (one := decoded(line, _KeptBatch)) is not None]
    if lines and not found and len(lines) > 1:
        raise BadInput("no list of batches; name another journal", path=where if isinstance(where, Path) else None)
    return found
