"""Workers on the nodes of a Ray cluster: one that is there, or one that is made on this machine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Self, TypeVar

from polyclinic.errors import MissingExtra, UserError, in_short
from polyclinic.parallel.alike import Installed, looking, refuse_others
from polyclinic.parallel.messages import HEAD, frame, unframed
from polyclinic.parallel.ray_joining import LEASE, LOCAL, SECONDS, cause, joined, look, show_token
from polyclinic.parallel.shipping import FOLDER
from polyclinic.parallel.sites import PROGRAM, ClusterLost, WorkerLost, ended_with

T = TypeVar("T")

_WITHIN = 1.0  # seconds that a relay waits for frames
_CALLS = 4  # of a relay at once: it sends while it waits for frames
_LAST_WORDS = 2000  # bytes of a dead worker's standard error


class Relay:
    """Runs on a node: starts a worker there, and passes frames on between it and the command."""

    def ready(self) -> Installed:
        """Returns what is installed there."""
        return looking()()

    def start(self, folder: str) -> None:
        """Starts the worker, in the working directory of the command if it is there."""
        self._here = tempfile.TemporaryDirectory(prefix="polyclinic-", ignore_cleanup_errors=True)
        self._errors = (Path(self._here.name) / "said").open("w+b")
        self._frames: SimpleQueue[bytes] = SimpleQueue()
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            PROGRAM,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=folder if Path(folder).is_dir() else self._here.name,
            env={**os.environ, FOLDER: self._here.name},
        )
        self._heard = time.monotonic()
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._end_alone, daemon=True).start()

    def send(self, frames: bytes) -> None:
        """Passes frames on to the worker."""
        assert self._process.stdin is not None  # noqa: S101
        with suppress(OSError):  # it has ended, which `receive` tells
            self._process.stdin.write(frames)
            self._process.stdin.flush()

    def receive(self, within: float) -> list[bytes]:
        """Returns frames of the worker; an empty one is its end."""
        self._heard = time.monotonic()
        found: list[bytes] = []
        with suppress(Empty):
            found.append(self._frames.get(timeout=within))
            while True:
                found.append(self._frames.get_nowait())
        return found

    def death(self) -> str:
        """Returns how the worker ended."""
        code = self._process.wait()
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - _LAST_WORDS))
        return ended_with(code, self._errors.read())

    def stop(self) -> None:
        """Ends the worker."""
        self._process.kill()
        self._process.wait()
        self._errors.close()
        self._here.cleanup()

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101
        while len(head := self._process.stdout.read(HEAD)) == HEAD:
            self._frames.put(self._process.stdout.read(int.from_bytes(head)))
        self._frames.put(b"")

    def _end_alone(self) -> None:
        # A cluster keeps relays for a while when their command was killed.
        while self._process.poll() is None:
            if time.monotonic() - self._heard > LEASE:
                self._process.kill()
            time.sleep(LEASE / 10)


class RayWorkers:
    """Workers for the processors of a cluster. Made by `connect`."""

    is_here = False

    def __init__(self, ray: Any, address: str, left: threading.Event) -> None:
        self._ray, self._address, self._left, self.workers = ray, address, left, 1
        self._idle: list[Any] = []
        self._is_gone = False
        self._remote = ray.remote(num_cpus=1, max_restarts=0, max_concurrency=_CALLS)(Relay)

    @classmethod
    async def connect(cls, address: str, workers: int | None = None) -> Self:
        """Joins a cluster, `ray://HOST:PORT`, or makes one on this machine, `ray`.

        Raises:
            MissingExtra: Ray is not installed.
            UserError: nobody is there, it is no Ray of our version, its nodes have another polyclinic or Python, or no
                processor is free.
        """
        if address != LOCAL:
            show_token()
        try:
            import ray  # noqa: PLC0415 - an extra, and slow to import
        except ImportError:
            raise MissingExtra("--on ray needs Ray: pip install 'polyclinic[ray]'") from None
        if address != LOCAL:
            look(address)
        left = threading.Event()
        await joined(ray, address, workers, left)
        cluster = cls(ray, address, left)
        try:
            cluster.workers = workers or await cluster._processors()
            await cluster._meet()
        except BaseException:
            await cluster.close()
            raise
        return cluster

    async def start(self) -> RelayedProcess:
        """Has a worker started on a node, when one has a processor free."""
        relay = self._idle.pop() if self._idle else await self._relay()
        await self.asked(relay.start, str(Path.cwd()))
        return RelayedProcess(self, relay)

    async def asked(self, method: Any, *given: object) -> Any:
        """Returns what a relay answers.

        Raises:
            WorkerLost: it is gone, or its node.
            ClusterLost: the head is gone.
        """
        return await self._result(await self.told(method.remote, *given))

    async def told(self, call: Callable[..., Any], *given: object) -> Any:
        """Calls Ray, which may wait, in a thread.

        Raises:
            ClusterLost: the head is gone.
        """
        if self._is_gone:
            self._check_connected()
        try:
            return await asyncio.to_thread(call, *given)
        except Exception:
            self._check_connected()
            raise

    def let_go(self, relay: Any) -> None:
        """Ends a relay, so that its processor is free."""
        if not self._is_gone:
            with suppress(Exception):
                self._ray.kill(relay)

    async def close(self) -> None:
        """Leaves the cluster; one that was made here ends."""
        # Ray counts who refers to a relay, by names that the next cluster gives again.
        self._idle.clear()
        await asyncio.to_thread(self._ray.shutdown)
        self._left.set()

    async def _relay(self) -> Any:
        """Returns a relay on a node that computes the same; the cluster may have grown since the nodes were met."""
        made = await self.told(self._remote.remote)
        there = await self.asked(made.ready)
        refuse_others(self._address, {there["machine"] if isinstance(there, Mapping) else "a node": there})
        return made

    async def _result(self, reference: Any) -> Any:
        coming = asyncio.wrap_future(reference.future())
        coming.add_done_callback(lambda one: one.cancelled() or one.exception())  # nobody may wait for it any more
        try:
            # Ray answers also those who have gone, and would meet a future that is cancelled.
            return await asyncio.shield(coming)
        except self._ray.exceptions.RayTaskError:
            raise
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            self._check_connected()
            raise WorkerLost(f"a worker of the cluster is gone ({in_short(error)[:200]})") from None

    def _check_connected(self) -> None:
        # Ray's client has waited for the head to come back, and says so in errors of many classes.
        if self._is_gone or (self._address != LOCAL and not self._ray.util.client.ray.is_connected()):
            self._is_gone = True
            raise ClusterLost(
                f"--on {self._address}: the head of the cluster is gone; what was answered is kept by --journal, "
                "--out or --store: the same command goes on from there when a head is there again"
            ) from None

    async def _processors(self) -> int:
        return max(1, int((await self.told(self._ray.cluster_resources)).get("CPU", 1)))

    async def _on_nodes(self, call: Callable[[], T]) -> dict[str, T]:
        """Returns what a function returns on each node with processors that is not lost, by its name."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415 - see `connect`

        task = self._ray.remote(num_cpus=0)(call)
        nodes = {
            one["NodeID"]: f"node {one['NodeManagerAddress']}:{one['NodeManagerPort']}"
            for one in await self.told(self._ray.nodes)
            if one["Alive"] and one["Resources"].get("CPU")
        }

        async def on(node: str) -> T:
            there = task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))
            answer: T = await asyncio.wait_for(self._result(await self.told(there.remote)), SECONDS)
            return answer

        came = await asyncio.gather(*map(on, nodes), return_exceptions=True)
        for one in came:
            if isinstance(one, BaseException) and not isinstance(one, WorkerLost | TimeoutError):
                raise one
        return {name: one for name, one in zip(nodes.values(), came, strict=True) if not isinstance(one, BaseException)}

    async def _meet(self) -> None:
        """Refuses nodes that would not compute the same, and a cluster that has no processor free.

        Raises:
            UserError: that is so.
        """
        on = f"--on {self._address}"
        first = asyncio.ensure_future(self._relay())
        try:
            refuse_others(self._address, await self._on_nodes(looking()))
            self._idle.append(await asyncio.wait_for(first, SECONDS))
        except TimeoutError:
            raise UserError(f"{on}: no node has a processor free within {SECONDS:g} s") from None
        except (self._ray.exceptions.RayTaskError, WorkerLost) as error:
            raise UserError(f"{on}: {cause(error)}; install the same polyclinic there") from None
        finally:
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)


class RelayedProcess:
    """A worker on a node, behind its relay."""

    def __init__(self, cluster: RayWorkers, relay: Any) -> None:
        self._cluster, self._relay = cluster, relay
        self._outbox: list[bytes] = []
        self._sending: asyncio.Task[None] | None = None

    def send(self, messages: Sequence[object]) -> None:
        """Sends messages, after those that are on their way."""
        self._outbox.append(frame(messages))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        with suppress(WorkerLost, ClusterLost):  # which `receive` raises, too
            while self._outbox:
                frames, self._outbox = b"".join(self._outbox), []
                await self._cluster.asked(self._relay.send, frames)

    async def receive(self) -> list[Any]:
        """Waits for messages."""
        while True:
            frames = await self._cluster.asked(self._relay.receive, _WITHIN)
            if frames:
                return [message for body in frames if body for message in unframed(body)]

    async def death(self) -> str:
        """Returns how the worker ended."""
        how: str = await self._cluster.asked(self._relay.death)
        return how

    async def stop(self) -> None:
        """Ends the worker, and its relay."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)
        with suppress(WorkerLost, ClusterLost):
            await self._cluster.asked(self._relay.stop)
        await asyncio.to_thread(self._cluster.let_go, self._relay)
