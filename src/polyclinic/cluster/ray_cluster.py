"""Jobs on the nodes of a Ray cluster: one that is there, or one that is made on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

from polyclinic.cluster.jobs import ClusterJob, ClusterLost, JobEnded, News, WorkerLost
from polyclinic.cluster.left import forget_left, left_answers
from polyclinic.cluster.worker import LEASE, JobWorker
from polyclinic.errors import MissingExtra, UserError, in_short
from polyclinic.models.journal_parts import JournalRow
from polyclinic.parallel.alike import looking, refuse_others
from polyclinic.parallel.ray_joining import ANSWERS, LOCAL, SCHEME, SECONDS, cause, joined, look, show_token

__all__ = ["LOCAL", "SCHEME", "RayCluster"]

T = TypeVar("T")

_WITHIN = 1.0  # seconds that a worker waits for news


class RayCluster:
    """A worker for each processor of the cluster. Made by `connect`."""

    name = "ray"
    ships = True

    def __init__(self, ray: Any, address: str, left: threading.Event) -> None:
        self._ray, self._address, self._left, self.workers = ray, address, left, 1
        self._idle: list[Any] = []
        self._waiting: list[asyncio.Future[Any]] = []
        self._remote = ray.remote(num_cpus=1, max_restarts=0)(JobWorker)

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

    async def begin(self, job: ClusterJob, answered: Sequence[JournalRow], *, of: int) -> _OnNode:
        """Has a job begun by a worker: an idle one, a new one, or the next whose job ends, whichever is first."""
        worker = self._idle.pop() if self._idle else await self._new_or_next()
        working = _OnNode(self, worker)
        await working.asked(worker.begin, job, answered, of)
        return working

    def returned(self, worker: Any) -> None:
        """Takes a worker back whose job has ended."""
        for turn in self._waiting:
            if not turn.done():
                turn.set_result(worker)
                return
        self._idle.append(worker)

    async def _new_or_next(self) -> Any:
        """Returns a worker. Where nodes are gone, there may be no processor for a new one as long as others have it."""
        made = await self.told(self._remote.remote)
        ready = asyncio.ensure_future(self.result(made.ready.remote()))
        turn: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await asyncio.wait((ready, turn), return_when=asyncio.FIRST_COMPLETED)
            if turn.done():
                await self.told(self._ray.kill, made)
                return turn.result()
            there = ready.result()
            machine = there["machine"] if isinstance(there, Mapping) else "a node"
            refuse_others(self._address, {machine: there})  # the cluster may have grown since
            return made
        finally:
            ready.cancel()
            turn.cancel()
            self._waiting.remove(turn)

    async def result(self, reference: Any) -> Any:
        """Returns what a worker answers.

        Raises:
            WorkerLost: it is gone, or its node.
            ClusterLost: the head is gone.
        """
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

    async def told(self, call: Callable[..., Any], *given: object) -> Any:
        """Calls Ray, which may wait, beside what goes on here.

        Raises:
            ClusterLost: the head is gone.
        """
        try:
            return await asyncio.to_thread(call, *given)
        except Exception:
            self._check_connected()
            raise

    def _check_connected(self) -> None:
        # Ray's client has waited for the head to come back, and says so in errors of many classes.
        if self._address != LOCAL and not self._ray.util.client.ray.is_connected():
            raise ClusterLost(
                f"--on {self._address}: the head of the cluster is gone; what was answered is kept by --journal, "
                "--out or --store: the same command goes on from there when a head is there again"
            ) from None

    async def left(self, kept: str) -> dict[str, list[JournalRow]]:
        """Asks every node that is there."""
        found = dict[str, list[JournalRow]]()
        for there in (await self._on_nodes(left_answers, kept, 2 * LEASE)).values():
            for name, rows in there.items():
                found.setdefault(name, []).extend(rows)
        return found

    async def forget(self, kept: str) -> None:
        """Has it removed by every node that is there."""
        await self._on_nodes(forget_left, kept, within=ANSWERS)

    async def close(self) -> None:
        """Leaves the cluster; one that was made here ends."""
        # Ray counts who refers to a worker, by names that the next cluster gives again.
        self._idle.clear()
        await asyncio.to_thread(self._ray.shutdown)
        self._left.set()

    async def _processors(self) -> int:
        return max(1, int((await self.told(self._ray.cluster_resources)).get("CPU", 1)))

    async def _on_nodes(self, call: Callable[..., T], *given: object, within: float = SECONDS) -> dict[str, T]:
        """Has a function called on each node with processors; what those answer that are not lost, by their names."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415 - see `connect`

        task = self._ray.remote(num_cpus=0)(call)
        nodes = {
            one["NodeID"]: f"node {one['NodeManagerAddress']}:{one['NodeManagerPort']}"
            for one in await self.told(self._ray.nodes)
            if one["Alive"] and one["Resources"].get("CPU")
        }

        async def on(node: str) -> T:
            there = task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))
            try:
                answer: T = await asyncio.wait_for(self.result(await self.told(there.remote, *given)), within)
            except TimeoutError:
                raise WorkerLost(f"{nodes[node]} of the cluster does not answer") from None
            return answer

        came = await asyncio.gather(*map(on, nodes), return_exceptions=True)
        for one in came:
            if isinstance(one, self._ray.exceptions.RayTaskError) and isinstance(one.cause, UserError):
                raise UserError(f"--on {self._address}: {one.cause}")
            if isinstance(one, BaseException) and not isinstance(one, WorkerLost):
                raise one
        return {name: one for name, one in zip(nodes.values(), came, strict=True) if not isinstance(one, BaseException)}

    async def _meet(self) -> None:
        """Refuses nodes that would not compute the same, and a cluster that has no processor free.

        Raises:
            UserError: that is so.
        """
        on = f"--on {self._address}"
        try:
            first = asyncio.ensure_future(self._new_or_next())
            refuse_others(self._address, await self._on_nodes(looking()))
            self._idle.append(await asyncio.wait_for(first, SECONDS))
        except TimeoutError:
            raise UserError(f"{on}: no node has a processor free within {SECONDS:g} s") from None
        except (self._ray.exceptions.RayTaskError, WorkerLost) as error:
            raise UserError(f"{on}: {cause(error)}; install the same polyclinic there") from None
        finally:
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)


class _OnNode:
    def __init__(self, cluster: RayCluster, worker: Any) -> None:
        self._cluster, self._worker, self._over = cluster, worker, False

    async def asked(self, method: Any, *given: object) -> Any:
        return await self._cluster.result(await self._cluster.told(method.remote, *given))

    async def news(self) -> Sequence[News]:
        heard: Sequence[News] = await self.asked(self._worker.news, _WITHIN)
        self._over = bool(heard) and isinstance(heard[-1], JobEnded)
        return heard

    async def divide(self, of: int) -> None:
        with contextlib.suppress(WorkerLost):  # the news will say so
            await self.asked(self._worker.divide, of)

    async def stop(self) -> Sequence[JournalRow]:
        with contextlib.suppress(WorkerLost):
            rows: Sequence[JournalRow] = await self.asked(self._worker.stop)
            return rows
        return []

    async def release(self) -> None:
        with contextlib.suppress(WorkerLost):
            await self.asked(self._worker.release)
            if self._over:
                self._cluster.returned(self._worker)
