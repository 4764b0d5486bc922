"""Where batches are made: files are sent, batches looked at, and their answers fetched, as often as it takes.

What is to be made is tried a few times. What is made already may take a day and is paid for, so that an endpoint which
does not answer is asked for much longer.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from polyclinic.errors import BadInput, Broken, Rejected, UserError
from polyclinic.models.batch_wire import BatchList, BatchState, MadeFile, decoded, multipart
from polyclinic.models.retry import Fault, Patience
from polyclinic.models.server import ModelServer
from polyclinic.seeds import derive

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
            raise UserError(f"{where} has no batches (/files, /batches); leave --batch-api out")
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
