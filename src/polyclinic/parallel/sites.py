"""Workers that are processes of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from polyclinic.errors import PolyclinicError
from polyclinic.parallel.messages import HEAD, frame, unframed

ENDS_WITHIN = 3.0
"""Seconds that a worker has to close what it holds open, before it is killed; a command that is stopped has little."""

_LAST_WORDS = 2000  # bytes of a dead worker's standard error that are quoted
# A file of the working directory must not pass for a module.
_PROGRAM = (sys.executable, "-P", "-m", "polyclinic.parallel.worker")
# Workers of a machine must not compete for its cores with a pool of threads each.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkerLost(PolyclinicError):
    """A worker ended with the items that it had; others compute them."""


class ClusterLost(PolyclinicError):
    """The cluster ended with all its workers, and nobody is left to compute the items."""


class LocalProcesses:
    """Processes of this machine."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    async def start(self) -> LocalProcess:
        """Starts a process."""
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *_PROGRAM,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,  # an interrupt is the command's business: it ends its workers
                env={**os.environ, **_ONE_THREAD},
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
        self._last_words = asyncio.create_task(_last_words(process.stderr))
        self._heard_of = False

    def send(self, messages: Sequence[object]) -> None:
        """Writes messages to its standard input."""
        if not self._stdin.is_closing():
            self._stdin.write(frame(messages))

    async def receive(self) -> list[Any]:
        """Reads messages from its standard output; `WorkerLost` says how it ended."""
        try:
            head = await self._stdout.readexactly(HEAD)
            self._heard_of = True
            return unframed(await self._stdout.readexactly(int.from_bytes(head)))
        except (asyncio.IncompleteReadError, ConnectionError):
            code = await self._process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        lines = (await self._last_words).decode(errors="replace").strip().splitlines()
        raise WorkerLost(f"ended with {how}{f': {lines[-1]}' if lines else ''}")

    async def stop(self) -> None:
        """Closes its standard input, at which it ends; one that has not opened anything is ended at once."""
        self._stdin.close()
        try:
            async with asyncio.timeout(ENDS_WITHIN if self._heard_of else 0.0):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        self._last_words.cancel()
        await asyncio.gather(self._last_words, return_exceptions=True)


async def _last_words(stream: asyncio.StreamReader) -> bytes:
    words = b""
    while said := await stream.read(4096):
        words = (words + said)[-_LAST_WORDS:]
    return words
