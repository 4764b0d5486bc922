"""Where workers run: the interface, and the processes of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from polyclinic.errors import PolyclinicError
from polyclinic.parallel.messages import HEAD, frame, unframed

_ENDS_WITHIN = 3.0
"""Seconds that a worker has to close what it holds open, before it is killed; a command that is stopped has little."""

_LAST_WORDS = 2000
"""Bytes of a dead worker's standard error that are quoted."""


PROGRAM = (sys.executable, "-P", "-m", "polyclinic.parallel.worker")
"""What starts a worker; a file of the working directory must not pass for a module."""


ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Variables that keep the workers of a machine from competing for its cores with a pool of threads each."""


class WorkerLost(PolyclinicError):
    """A worker ended with the items that it had; others compute them."""


class ClusterLost(PolyclinicError):
    """The cluster ended with all its workers, and nobody is left to compute the items."""


class Process(Protocol):
    """A worker as the command sees it."""

    def send(self, messages: Sequence[object]) -> None:
        """Sends messages."""

    async def receive(self) -> list[Any]:
        """Returns the next messages; none where the worker has ended.

        Raises:
            WorkerLost: its machine is gone.
            ClusterLost: all are gone.
        """

    async def death(self) -> str:
        """Returns how a worker ended."""

    async def stop(self) -> None:
        """Lets the worker close what it holds open, and ends it."""


class Site(Protocol):
    """Where workers run.

    Attributes:
        workers: how many run at a time.
        is_here: whether they are on this machine, with its files.
    """

    workers: int
    is_here: bool

    async def start(self) -> Process:
        """Starts a worker, perhaps when there is room for one.

        Raises:
            WorkerLost: there was one, and it is gone.
            ClusterLost: all are gone.
        """

    async def close(self) -> None:
        """Lets go of the site."""


class LocalProcesses:
    """Processes of this machine."""

    is_here = True

    def __init__(self, workers: int) -> None:
        self.workers = workers

    async def start(self) -> LocalProcess:
        """Starts a process."""
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *PROGRAM,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,  # an interrupt is the command's business: it ends its workers
                env={**os.environ, **ONE_THREAD},
            )
        )
        try:
            return LocalProcess(await asyncio.shield(starting))
        except asyncio.CancelledError:
            await LocalProcess(await starting).stop()
            raise

    async def close(self) -> None:
        """Does nothing: each worker was stopped."""


class LocalProcess:
    """One process of this machine."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None  # noqa: S101
        self._process, self._stdin, self._stdout = process, process.stdin, process.stdout
        self._listening = asyncio.create_task(_last_words(process.stderr))
        self._heard_of = False

    def send(self, messages: Sequence[object]) -> None:
        """Writes messages to its standard input."""
        if not self._stdin.is_closing():
            self._stdin.write(frame(messages))

    async def receive(self) -> list[Any]:
        """Reads messages from its standard output."""
        try:
            head = await self._stdout.readexactly(HEAD)
            self._heard_of = True
            return unframed(await self._stdout.readexactly(int.from_bytes(head)))
        except (asyncio.IncompleteReadError, ConnectionError):
            return []

    async def death(self) -> str:
        """Returns its exit code or signal, and the last line that it wrote for people."""
        return ended_with(await self._process.wait(), await self._listening)

    async def stop(self) -> None:
        """Closes its standard input, at which it ends; one that has not opened anything is ended at once."""
        self._stdin.close()
        try:
            async with asyncio.timeout(_ENDS_WITHIN if self._heard_of else 0.0):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)


def ended_with(code: int, words: bytes) -> str:
    """Returns how a process ended, from its exit code and the end of its standard error."""
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    lines = words.decode(errors="replace").strip().splitlines()
    return f"ended with {how}{f': {lines[-1]}' if lines else ''}"


async def _last_words(stream: asyncio.StreamReader) -> bytes:
    words = b""
    while said := await stream.read(4096):
        words = (words + said)[-_LAST_WORDS:]
    return words


def processors() -> int:
    """Returns how many processes this machine computes at a time."""
    return os.cpu_count() or 1
