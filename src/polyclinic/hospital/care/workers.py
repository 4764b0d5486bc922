"""Computes episodes in other processes.

    async with WorkerPool(2, setup) as pool:
        episode = await pool.compute(request)

A worker is this module run as a program: it reads requests from its standard input and writes episodes to its standard
output (`frames`). It opens its own clinic, with its share of the run's limits, and ends when its input ends, so that
none outlives a parent that was killed. Requests that are made in one turn of the event loop travel in one frame. What
an episode is does not depend on who computes it: with any number of workers, and without any, the same requests give
the same episodes. Where one has spent its share of a budget, all of them ask nothing more.

A worker that dies ends the run with its name (`WorkerDied`): episodes that might have come are no failures of players.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, BinaryIO, Self, TypeVar

import msgspec

from polyclinic.errors import BudgetSpent, PolyclinicError, UserError
from polyclinic.hospital.care.clinic import Clinic, open_clinic
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.record.episodes import Episode, EpisodeRequest, LearnDone, LearnRequest
from polyclinic.lazy import collect_seldom
from polyclinic.memory.opening import Publication
from polyclinic.models.limits import DIVISION, WANTED, AnswerWanted, Limit
from polyclinic.models.share import Share

M = TypeVar("M")

_HEAD = 4
"""Bytes that hold a frame's length."""


class WorkerSetup(msgspec.Struct, frozen=True, tag="hello"):
    """What a worker opens its clinic with; the first that it is told."""

    setup: Setup
    share: Share


class ClinicOpen(msgspec.Struct, frozen=True, tag="ready"):
    """The clinic is open."""


class EpisodeTask(msgspec.Struct, frozen=True, tag="task"):
    """An episode to compute."""

    number: int
    request: EpisodeRequest
    wanted: AnswerWanted


class EpisodeDone(msgspec.Struct, frozen=True, tag="done"):
    """It is computed."""

    number: int
    episode: Episode


class ToLearn(msgspec.Struct, frozen=True, tag="learn"):
    """A lesson to draw, or something to read."""

    number: int
    request: LearnRequest


class LessonDone(msgspec.Struct, frozen=True, tag="drawn"):
    """It is drawn, or read."""

    number: int
    done: LearnDone


class MemoryNews(msgspec.Struct, frozen=True, tag="learnt"):
    """What doctors remember from now on; the tasks that read it come after it."""

    publication: Publication


class RunOver(msgspec.Struct, frozen=True, tag="ended"):
    """What ends the run: `kind` names an error of who uses it, or is "" for a mistake of ours."""

    kind: str
    problem: str


class NoMoreQuestions(msgspec.Struct, frozen=True, tag="spent"):
    """A budget is spent: no model is asked anything more, and what is under way ends at its next question."""


ToWorker = WorkerSetup | EpisodeTask | ToLearn | MemoryNews | NoMoreQuestions
FromWorker = ClinicOpen | EpisodeDone | LessonDone | RunOver

_encode = msgspec.msgpack.Encoder().encode
to_worker = msgspec.msgpack.Decoder(list[ToWorker])
from_worker = msgspec.msgpack.Decoder(list[FromWorker])


def frame(messages: Sequence[ToWorker | FromWorker]) -> bytes:
    """Returns messages as they travel."""
    body = _encode(messages)
    return len(body).to_bytes(_HEAD) + body


async def received(stream: asyncio.StreamReader, decoder: msgspec.msgpack.Decoder[list[M]]) -> list[M]:
    """Returns what the next frame holds; nothing where the stream has ended."""
    try:
        head = await stream.readexactly(_HEAD)
        return decoder.decode(await stream.readexactly(int.from_bytes(head)))
    except asyncio.IncompleteReadError:
        return []


_AT_ONCE = 4096  # episodes in a worker with models, which mostly wait; the models' own limit says how much is asked

_ENDS_WITHIN = 10.0
"""Seconds that a worker has to close what it holds open, before it is stopped."""

_LAST_WORDS = 2000
"""Bytes of a dead worker's standard error that are quoted."""


class WorkerDied(PolyclinicError):
    """A worker process ended by itself, or by a mistake of ours in it. The run ends and can be taken up again."""


_ENDINGS: dict[str, type[PolyclinicError]] = {"UserError": UserError, "BudgetSpent": BudgetSpent}


class WorkerPool:
    """So many processes that compute episodes. Use it with `async with`.

    Args:
        workers: how many.
        setup: what they compute with.

    Raises:
        ValueError: there is no worker.
        UserError: the setup cannot be used; raised on entering.
        WorkerDied: a worker does not start; raised on entering.
    """

    def __init__(self, workers: int, setup: Setup) -> None:
        if workers < 1:
            raise ValueError(f"{workers} workers can compute nothing; give 1 or more")
        # Each worker has its part of what an endpoint takes a minute, of the part that this process has.
        paced = {name: getattr(setup, name) for name in ("requests_per_minute", "tokens_per_minute")}
        parts = {name: a_minute / workers / DIVISION.get().of for name, a_minute in paced.items() if a_minute}
        self._n, self._setup = workers, msgspec.structs.replace(setup, **parts)
        self._workers: dict[int, _Worker] = {}
        # What a journal holds is found again only by the worker that wrote it.
        self._bound = bool(setup.journal) and workers > 1

    async def __aenter__(self) -> Self:
        try:
            async with asyncio.TaskGroup() as starting:
                for number in range(self._n):
                    starting.create_task(self._start(Share(number, self._n)))
        except BaseExceptionGroup as group:
            await self.__aexit__()
            raise group.exceptions[0] from None
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(worker.stop() for worker in self._workers.values()))

    async def _start(self, share: Share) -> None:
        """Starts a process and waits until its clinic is open."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # a file of the working directory must not pass for a module
            "-m",
            __name__,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # An interrupt is the parent's business: it ends the workers in order.
            start_new_session=True,
            # Two workers on two cores with a pool of threads each would stand in each other's way.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        )
        worker = self._workers[share.number] = _Worker(process, share, self._ask_no_more)
        await worker.open(self._setup)

    async def compute(self, request: EpisodeRequest) -> Episode:
        """Computes an episode, in the worker that has the least to do.

        Raises:
            UserError: something that was given to the run is wrong.
            BudgetSpent: a worker has used its share of what the run may cost.
            WorkerDied: the worker ended.
        """
        return await self._worker(request.key).compute(request)

    async def learn(self, request: LearnRequest) -> LearnDone:
        """Lets a doctor draw a lesson, or read; errors are those of `compute`."""
        return await self._worker(request.key).learn(request)

    def publish(self, publication: Publication) -> None:
        """Tells every worker what doctors remember from now on."""
        for worker in self._workers.values():
            worker.tell(publication)

    def _ask_no_more(self) -> None:
        for worker in self._workers.values():
            worker.ask_no_more()

    def _worker(self, key: str) -> _Worker:
        if self._bound:
            digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
            return self._workers[int.from_bytes(digest) % len(self._workers)]
        return min(self._workers.values(), key=_Worker.busy)


class _Worker:
    """One process, as its parent sees it."""

    def __init__(self, process: asyncio.subprocess.Process, share: Share, spent: Callable[[], None]) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None  # noqa: S101
        self._process, self._share, self._stdin = process, share, process.stdin
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._outbox: list[ToWorker] = []
        self._count = 0
        self._ended: PolyclinicError | None = None
        self._spent, self._asks = spent, True
        self._opening: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._listening = asyncio.create_task(_last_words(process.stderr))
        self._reading = asyncio.create_task(self._read(process.stdout))

    def busy(self) -> int:
        """Returns how many episodes it is to compute."""
        return len(self._waiting)

    async def open(self, setup: Setup) -> None:
        """Waits until its clinic is open."""
        self._send([WorkerSetup(setup, self._share)])
        await self._opening

    async def compute(self, request: EpisodeRequest) -> Episode:
        """Computes an episode."""
        number, coming = self._expect()
        self._put(EpisodeTask(number, request, WANTED.get()))
        episode: Episode = await coming
        return episode

    async def learn(self, request: LearnRequest) -> LearnDone:
        """Lets a doctor draw a lesson, or read."""
        number, coming = self._expect()
        self._put(ToLearn(number, request))
        done: LearnDone = await coming
        return done

    def tell(self, publication: Publication) -> None:
        """Tells it what doctors remember from now on."""
        self._put(MemoryNews(publication))

    def ask_no_more(self) -> None:
        """Has it end what it does at the next question, and keep the answers that are on their way."""
        if self._asks:
            self._asks = False
            self._put(NoMoreQuestions())

    def _expect(self) -> tuple[int, asyncio.Future[Any]]:
        if self._ended is not None:
            raise self._ended
        coming: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._count += 1
        self._waiting[self._count] = coming
        return self._count, coming

    def _put(self, message: ToWorker) -> None:
        if not self._outbox:
            asyncio.get_running_loop().call_soon(self._post)
        self._outbox.append(message)

    async def stop(self) -> None:
        """Lets the process close what it holds open, or ends it where that takes too long.

        Where a budget is spent, answers that are paid for are on their way: those take as long as a call may.
        """
        self._stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _ENDS_WITHIN if self._asks else None)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        for task in (self._reading, self._listening):
            task.cancel()
        await asyncio.gather(self._reading, self._listening, return_exceptions=True)
        self._opening.cancel()

    def _post(self) -> None:
        tasks, self._outbox = self._outbox, []
        self._send(tasks)

    def _send(self, messages: list[ToWorker]) -> None:
        if not self._stdin.is_closing():
            self._stdin.write(frame(messages))

    async def _read(self, stdout: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError):
            while messages := await received(stdout, from_worker):
                for message in messages:
                    match message:
                        case ClinicOpen():
                            self._opening.set_result(None)
                        case EpisodeDone() | LessonDone():
                            coming = self._waiting.pop(message.number, None)
                            if coming is not None and not coming.done():
                                coming.set_result(message.episode if isinstance(message, EpisodeDone) else message.done)
                        case RunOver():
                            if message.kind == BudgetSpent.__name__:
                                self._spent()
                            self._end(_ENDINGS.get(message.kind, WorkerDied)(message.problem))
        self._end(await self._death())

    async def _death(self) -> WorkerDied:
        code = await self._process.wait()
        words = (await self._listening).decode(errors="replace").strip()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        said = f": {words.splitlines()[-1]}" if words else ""
        return WorkerDied(f"worker {self._share.number + 1} of {self._share.of} ended with {how}{said}")

    def _end(self, error: PolyclinicError) -> None:
        self._ended = self._ended or error
        waiting: list[asyncio.Future[Any]] = [self._opening, *self._waiting.values()]
        for coming in waiting:
            if not coming.done():
                coming.set_exception(self._ended)
        self._waiting.clear()


async def _last_words(stream: asyncio.StreamReader) -> bytes:
    """Passes on what a worker says on standard error, and returns the end of it."""
    words = b""
    while said := await stream.read(4096):
        sys.stderr.write(said.decode(errors="replace"))
        words = (words + said)[-_LAST_WORDS:]
    return words


# What follows runs in the worker.


def main() -> None:
    """Runs a worker until its input ends."""
    collect_seldom()
    # Whatever a library prints must not stand among the frames.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with contextlib.suppress(BrokenPipeError):
        asyncio.run(_work(out))


async def _work(out: BinaryIO) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=2**20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    answer = partial(_answer, out)
    (hello,) = await received(reader, to_worker)
    assert isinstance(hello, WorkerSetup)  # noqa: S101
    try:
        async with open_clinic(hello.setup, hello.share) as clinic:
            # What is there now stays to the end: it need not be looked through for garbage.
            gc.freeze()
            answer(ClinicOpen())
            await _serve(clinic, reader, answer, at_once=_AT_ONCE if hello.setup.asks_models else 1)
    except PolyclinicError as error:
        answer(_run_over(error))


async def _serve(
    clinic: Clinic,
    reader: asyncio.StreamReader,
    answer: Callable[[EpisodeDone | LessonDone | RunOver], None],
    *,
    at_once: int,
) -> None:
    running: set[asyncio.Task[None]] = set()
    # Rules never wait: one after another they let the worker look in between whether its input has ended.
    places, asks = Limit(at_once), True

    async def compute(task: EpisodeTask | ToLearn) -> None:
        if isinstance(task, EpisodeTask):
            WANTED.set(task.wanted)
        try:
            async with places:
                await asyncio.sleep(0)
                if isinstance(task, EpisodeTask):
                    answer(EpisodeDone(task.number, await clinic.compute(task.request)))
                else:
                    answer(LessonDone(task.number, await clinic.learn(task.request)))
        except Exception as error:
            answer(_run_over(error))

    try:
        while messages := await received(reader, to_worker):
            for message in messages:
                if isinstance(message, MemoryNews):
                    clinic.publish(message.publication)
                elif isinstance(message, NoMoreQuestions):
                    for ledger in clinic.minds.ledgers:
                        ledger.close()
                    asks = False
                elif not isinstance(message, WorkerSetup):
                    computing = asyncio.create_task(compute(message))
                    running.add(computing)
                    computing.add_done_callback(running.discard)
    finally:
        for computing in running if asks else ():
            computing.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _run_over(error: Exception) -> RunOver:
    kind = next((name for name, ending in _ENDINGS.items() if isinstance(error, ending)), "")
    return RunOver(kind, str(error) if kind else f"{type(error).__name__}: {error}")


def _answer(out: BinaryIO, message: FromWorker) -> None:
    """Writes a message to the parent; waits where it is slow to read."""
    left = memoryview(frame([message]))
    while left:
        left = left[out.write(left) :]


if __name__ == "__main__":
    main()
