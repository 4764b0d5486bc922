"""The batch provider: questions that nobody waits for, sent as files, at half the price where that is offered.

Questions that are asked without a pause become one batch; those that follow from its answers become the next. A batch
is made (a line with its questions is kept), sent (the endpoint has them), known (a line with its id is kept) and read.
The lines are kept in the journal: a run that was ended finds its batches there, and asks nothing again that one of
them has, or will have, an answer to.

    {"batch":"batch_7","input":"0c1f…","requests":["0c1f…-0","93ab…-0"],"at":"https://api.openai.com/v1"}
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import os
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Self, TypeVar

import msgspec

from polyclinic.errors import BadInput, Broken, Rejected, UserError
from polyclinic.models import wire
from polyclinic.models.answers import Completion
from polyclinic.models.direct import Direct
from polyclinic.models.journal import Journal
from polyclinic.models.limits import Limit
from polyclinic.models.model import AskOptions, Price
from polyclinic.models.provider import Provider, Said, sent
from polyclinic.models.retry import Fault, Patience
from polyclinic.models.schema import Form
from polyclinic.seeds import derive

T = TypeVar("T")

MOST_REQUESTS, MOST_BYTES = 50_000, 100 * 2**20  # of one file; OpenAI takes 50,000 requests and 200 MB

LARGEST_OUTPUT = 2**30

QUIET = 0.25  # seconds without a further question, after which all are there
FIRST_LOOK = 2.0  # seconds before a batch is looked at; doubled for each further look
AWAY = 1800.0  # seconds in which nobody answers, before a batch that is made is given up for now

_LAST_LOOK = 60.0
_SENT = 3  # batches that a request is part of at most, where it failed or expired
_ATTEMPTS = 6  # at sending a file, and at making a batch of it
_ANY = 2**31
_OVER = frozenset({"completed", "failed", "expired", "cancelled"})
_ENDPOINT = "/v1/chat/completions"


class _Found(msgspec.Struct):
    """What the endpoint says of a batch, or of a file, as far as we read it."""

    id: str
    status: str = ""
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    request_counts: dict[str, int] | None = None


class _List(msgspec.Struct):
    data: list[_Found]


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"{}")


class BatchLine(msgspec.Struct):
    """A line of a batch's output, or of its errors: what came of one request."""

    custom_id: str
    response: _Response | None = None


class _KeptBatch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of what is kept. Without a batch it says that one is about to be made."""

    input: str
    requests: list[str]
    at: str
    batch: str = ""


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
        self.fault, self.is_missing = fault, "status 404" in fault.problem


class _OpenRequest:
    """A request that waits for its answer; what the model does not take is left out when it is made again."""

    def __init__(self, make: Callable[[], dict[str, Any]]) -> None:
        self.make, self.body, self.sent = make, make(), 0
        self.answer: asyncio.Future[Completion | Fault] = asyncio.get_running_loop().create_future()


class Batched(Provider):
    """A model that is asked by batches."""

    at_once = sys.maxsize
    """Questions to put at a time: all that can be put, as what is asked together is sent together."""

    def __init__(
        self,
        direct: Direct,
        journal: Journal,
        *,
        price: Price | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name, self.repairs = direct.name, direct.repairs
        self.variant, self.address, self.limit = direct.variant, direct.servers[0].address, Limit(2**20)
        self._direct, self._server, self.price = direct, direct.servers[0], price or direct.price
        self._journal, self._report = journal, report
        self._rng = derive(0, "pauses of batches", self.name)
        self._open: dict[str, _OpenRequest] = {}
        self._asked: Counter[str] = Counter()
        self._new: list[str] = []
        self._quiet_until: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._batch_of: dict[str, _KeptBatch] = {}

    async def __aenter__(self) -> Self:
        kept = [one for line in await self._journal.batches() if (one := decoded(line, _KeptBatch)) is not None]
        await self._direct.__aenter__()
        self._batch_of = {request: one for one in kept if one.at == self.address for request in one.requests}
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._quiet_until is not None:
            self._quiet_until.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._direct.__aexit__()

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Asks in the next batch; see `Provider.complete`."""
        messages = wire.conversation(said)
        given, wanted = sent(options), None if form is None else form.text
        asked = wire.encode((self._direct.model, messages, wanted, given, self.variant, self._journal.run))
        digest = hashlib.blake2b(asked, digest_size=16).hexdigest()
        key = f"{digest}-{self._asked[digest]}"
        self._asked[digest] += 1
        one = self._open[key] = _OpenRequest(lambda: self._direct.parameters.body(messages, form, given))
        self._new.append(key)
        if self._quiet_until is not None:
            self._quiet_until.cancel()
        self._quiet_until = asyncio.get_running_loop().call_later(QUIET, self._begin)
        try:
            result = await one.answer
        finally:
            del self._open[key]
        if isinstance(result, Fault):
            raise result.named(f"{self.name} at {self._server.told(result)}, {one.sent} batches", one.sent)
        return msgspec.structs.replace(result, attempts=max(1, one.sent))

    def _begin(self) -> None:
        """Begins with all that was asked: with batches that were made before, and with new ones for the rest."""
        file: list[str] = []
        size = 0
        made: dict[str, tuple[_KeptBatch, list[str]]] = {}
        for key in filter(self._open.__contains__, self._new):
            if (kept := self._batch_of.get(key)) is not None:
                made.setdefault(kept.input, (kept, []))[1].append(key)
                continue
            length = len(wire.encode(self._open[key].body))
            if file and (len(file) >= MOST_REQUESTS or size + length > MOST_BYTES):
                self._start(self._carry(file))
                file, size = [], 0
            file.append(key)
            size += length
        self._new = []
        for kept, keys in made.values():
            self._start(self._carry(keys, kept))
        if file:
            self._start(self._carry(file))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, keys: list[str], kept: _KeptBatch | None = None) -> None:
        """Carries requests from batch to batch until each has an answer, or what went wrong."""
        try:
            while keys := self._unanswered(keys):
                # A batch of an earlier run goes on, unless it was never made.
                id = "" if kept is None else kept.batch or await self._find(kept.input)
                if id:
                    self._report(f"{self.name}: goes on with batch {id}, {len(keys)} of its answers are wanted")
                fault, kept = await self._read(id or await self._make(keys), keys), None
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
        body, kind = _multipart(data)
        try:
            file = await self._until(
                "the file is sent", lambda: self._ask("POST", "files", _Found, body, kind), attempts=_ATTEMPTS
            )
        except _Failed as failed:
            if not failed.is_missing:
                raise
            where = f"{self.name} at {self.address}"
            raise UserError(f"{where} has no batches (/files, /batches); leave models.batch-api out") from None
        kept = _KeptBatch(digest, keys, self.address)
        await self._keep(kept)
        wanted = wire.encode(
            {
                "input_file_id": file.id,
                "endpoint": _ENDPOINT,
                "completion_window": "24h",
                "metadata": {"polyclinic": digest},
            }
        )
        asked = False

        async def ask() -> str | Fault:
            nonlocal asked
            # Where the answer broke it may have been made all the same.
            if asked and (there := await self._find(digest)):
                return there
            asked = True
            made = await self._ask("POST", "batches", _Found, wanted)
            if isinstance(made, Fault) and made.error is Rejected:
                raise self._refused("the batch", made.problem)
            return made if isinstance(made, Fault) else made.id

        try:
            id = await self._until("the batch is asked for", ask, attempts=_ATTEMPTS)
        except _Failed:
            if not (id := await self._find(digest)):
                raise
        await self._keep(msgspec.structs.replace(kept, batch=id))
        self._report(f"{self.name}: {len(keys)} questions are asked as batch {id}")
        return id

    async def _keep(self, one: _KeptBatch) -> None:
        self._batch_of.update(dict.fromkeys(one.requests, one))
        await self._journal.put([("batches", (wire.encode(one), self._journal.run))])

    def _refused(self, what: str, why: str) -> BadInput:
        return BadInput(f"{self.name} at {self.address}: {what} is refused: {self._server.hidden(why)}")

    async def _find(self, digest: str) -> str:
        """Returns the id of the batch that was made of a file; "" where none was."""
        try:
            listed = await self._until("the batch is looked for", lambda: self._ask("GET", "batches", _List))
        except _Failed as failed:
            if failed.is_missing:
                return ""
            raise
        return next((one.id for one in listed.data if (one.metadata or {}).get("polyclinic") == digest), "")

    async def _read(self, id: str, keys: list[str]) -> Fault:
        """Gives everybody the answer when a batch is over; returns what those get who are asked no more."""
        pause, batch = FIRST_LOOK, _Found(id)
        try:
            while True:
                looked = f"batch {id} is looked at"
                batch = await self._until(looked, lambda: self._ask("GET", f"batches/{id}", _Found))
                if batch.status in _OVER:
                    break
                await asyncio.sleep(pause)
                pause = min(_LAST_LOOK, 2 * pause)
        except _Failed as failed:
            if not failed.is_missing:
                raise
            self._report(f"{self.name}: batch {id} is not there any more; its questions are asked again")
            return Fault(Rejected, f"batch {id} is not there", again=False)
        if batch.status == "failed":
            problems = (batch.errors or {}).get("data") or []
            why = next((said for one in problems if (said := one.get("message"))), "it says no reason")
            raise self._refused(f"batch {id}", why)
        fetched, counts = f"the answers of batch {id} are fetched", batch.request_counts or {}
        try:
            answers = await self._until(fetched, lambda: self._fetch(batch))
            # Some that come to an end too early say so by nothing but their length.
            if answers < counts.get("completed", 0) + counts.get("failed", 0):
                await asyncio.sleep(FIRST_LOOK)
                await self._until(fetched, lambda: self._fetch(batch))
        except _Failed as failed:
            # Never asked again: the answers are there, and paid for.
            told = f"the answers of batch {id} cannot be fetched ({failed.fault.problem}); asked again it is looked for"
            raise _Failed(Fault(failed.fault.error, told, again=False)) from None
        if left := self._unanswered(keys):
            self._report(f"{self.name}: batch {id} {batch.status} without {len(left)} of {len(keys)} answers")
        return Fault(Broken, f"batch {id} {batch.status} without an answer")

    async def _fetch(self, batch: _Found) -> int | Fault:
        """Distributes the answers in the files of a batch, the first of several for a request; returns their number."""
        answers, fault = 0, None
        for file in filter(None, (batch.output_file_id, batch.error_file_id)):
            raw = await self._server.request("GET", f"files/{file}/content", largest=LARGEST_OUTPUT)
            if isinstance(raw, Fault):
                fault = raw
                continue
            for line in raw.splitlines():
                one = decoded(line, BatchLine)
                if one is None or one.response is None:
                    continue
                answers += 1
                for key in self._unanswered([one.custom_id]):
                    result = self._result(one.response, self._open[key])
                    if result is not None:
                        self._open[key].answer.set_result(result)
        return answers if fault is None else fault

    def _result(self, response: _Response, request: _OpenRequest) -> Completion | Fault | None:
        """Returns what a model's server said to one request; None where it may say something else another time."""
        body = bytes(response.body)
        if response.status_code == 200:
            result = wire.completion(body)
        elif response.status_code in {400, 422} and self._direct.parameters.refused(request.body, body):
            return None
        else:
            result = self._server.fault(response.status_code, body)
        return None if isinstance(result, Fault) and result.again else result

    async def _ask(
        self, method: str, path: str, type_: type[T], data: bytes = b"", kind: str = "application/json"
    ) -> T | Fault:
        raw = await self._server.request(method, path, data, kind=kind, largest=LARGEST_OUTPUT)
        there = raw if isinstance(raw, Fault) else decoded(raw, type_)
        return Fault(Broken, f"the answer of /{path} cannot be read") if there is None else there

    async def _until(self, doing: str, ask: Callable[[], Awaitable[T | Fault]], *, attempts: int = _ANY) -> T:
        """Asks until what is wanted is there; what was made already is asked for longer than what is to be made."""
        now = asyncio.get_running_loop().time
        patience = Patience(attempts=attempts, seconds=AWAY, pause=FIRST_LOOK, rng=self._rng, clock=now)
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
                where = f"{self.name} at {self._server.told(there)}"
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
