"""Jobs on the nodes of a Ray cluster: one that is there, or one that is made on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import socket
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from polyclinic.cluster.alike import looking, refuse_others
from polyclinic.cluster.jobs import ClusterJob, ClusterLost, JobEnded, News, WorkerLost
from polyclinic.cluster.left import forget_left, left_answers
from polyclinic.cluster.worker import LEASE, JobWorker
from polyclinic.errors import MissingExtra, UserError, in_short
from polyclinic.models.journal_parts import JournalRow

LOCAL = "ray"
SCHEME = "ray://"
_PORT = 10001

SECONDS = 60.0
"""For the cluster to be there; Ray's own client waits for minutes on a head that is not."""

ANSWERS = 5.0  # seconds for the head's port to take a connection
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How every client of HTTP/2 begins, Ray's too; whoever knows no HTTP/2 answers in that which it knows."""

_WEB = b"HTTP/1"
_VERSION = re.compile(r"\b(Ray|Python): (\S+)")
_JOB = "polyclinic"  # what this is among the jobs of a cluster
_TRIES = 3  # to be let in; the server that a head starts for each client may end as it begins

_ThreadHook = Callable[[threading.ExceptHookArgs], object]
_CLIENT = ("ray", "grpc")


def _without_client(hook: _ThreadHook) -> _ThreadHook:
    """Returns what is done of an error that ends a thread: nothing of one of Ray's client."""

    def told(args: threading.ExceptHookArgs) -> object:
        frames = traceback.walk_tb(args.exc_traceback)
        if any(str(frame.f_globals.get("__name__")).partition(".")[0] in _CLIENT for frame, _ in frames):
            return None
        return hook(args)

    return told


def show_token() -> None:
    """Has Ray's client show the token where there is one: 'ray start' asks for it then, and the client does not know.

    Ray reads this as it is imported. A cluster without tokens lets in who shows one.
    """
    there = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    if os.environ.get("RAY_AUTH_TOKEN") or there.is_file():
        os.environ.setdefault("RAY_AUTH_MODE", "token")


def look(address: str) -> None:
    """Refuses an address at which nobody listens; a UserError."""
    place = urlsplit(address)
    try:
        port = place.port or _PORT
    except ValueError:
        port = 0
    if not address.startswith(SCHEME) or not place.hostname or not port:
        raise UserError(f"--on {address!r}; a cluster is named ray://HOST:PORT, and ray makes one on this machine")
    said = b""
    try:
        with socket.create_connection((place.hostname, port), timeout=ANSWERS) as there:
            there.sendall(_HELLO)
            with contextlib.suppress(TimeoutError):
                said = there.recv(len(_WEB))
    except OSError as error:
        raise UserError(
            f"--on {address}: nobody answers at {place.hostname} port {port} ({error.strerror or error}); "
            "start the head there with 'ray start --head --ray-client-server-port PORT'"
        ) from None

    if said == _WEB:
        raise UserError(
            f"--on {address}: a web server answers at {place.hostname} port {port}, and no Ray; name the port of the "
            "head's client server, 10001 unless 'ray start --ray-client-server-port' says otherwise"
        )


async def joined(ray: Any, address: str, workers: int | None, left: threading.Event) -> None:
    """Joins a cluster, or makes one; `left` is set when it is left.

    Raises:
        UserError: nobody lets us in, or not with this Ray and Python.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # A client that is gone keeps its processors for so long.
    os.environ.setdefault("RAY_CLIENT_RECONNECT_GRACE_PERIOD", str(int(LEASE)))
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # The client's own words on a head that is gone, which is told by us; it takes no word from those above it.
    for name in ("ray", "ray.util.client.logsclient"):
        logging.getLogger(name).addFilter(_is_error)
    # So do its threads, whose errors come to nobody who waits.
    threading.excepthook = _without_client(threading.excepthook)
    given: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address == LOCAL:
        given |= {"address": "local", "include_dashboard": False, "num_cpus": workers}
    else:
        given |= {"address": address}
    try:
        async with asyncio.timeout(SECONDS):
            for left_tries in reversed(range(_TRIES)):
                try:
                    with _unnamed(ray):
                        await _apart(lambda: ray.init(**given), left)
                    return
                except ConnectionAbortedError:
                    if not left_tries:
                        raise
                    await asyncio.to_thread(ray.shutdown)
    except Exception as error:
        if isinstance(error, TimeoutError) or (type(error) is ConnectionError and "timeout" in str(error)):
            raise UserError(
                f"--on {address}: something listens there, and it did not let us in; is it the port of Ray's client "
                "server, and does the cluster want a token? It lies in ~/.ray/auth_token of who started it: bring it "
                "here, or name it by RAY_AUTH_TOKEN_PATH, with RAY_AUTH_MODE=token"
            ) from None
        raise UserError(f"--on {address}: {_other_versions(error, ray.__version__) or cause(error)}") from None


@contextlib.contextmanager
def _unnamed(ray: Any) -> Iterator[None]:
    """Has Ray keep no words of the command, in which a password may stand; its list of jobs shows them to everybody."""
    utils: Any = ray._private.utils  # nothing public says what a job is called
    named = getattr(utils, "get_entrypoint_name", None)
    utils.get_entrypoint_name = lambda: _JOB
    try:
        yield
    finally:
        utils.get_entrypoint_name = named


async def _apart(call: Callable[[], object], left: threading.Event) -> None:
    """Waits for a call in a thread of its own, which nobody waits for where it takes too long.

    The thread stays until the cluster is left: Linux ends the processes that a thread has begun with it.
    """
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def settle(error: Exception | None) -> None:
        if over.done():
            return
        if error is None:
            over.set_result(None)
        else:
            over.set_exception(error)

    def run() -> None:
        problem: Exception | None = None
        try:
            call()
        except Exception as error:
            problem = error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, problem)
        left.wait()

    threading.Thread(target=run, daemon=True).start()
    await over


def _other_versions(error: Exception, here: str) -> str:
    """Returns in one line what Ray says of a cluster of another Ray or Python; "" for anything else."""
    if isinstance(error, ConnectionAbortedError):  # which a head of another Ray does before it tells of itself
        return (
            f"the head does not let us in ({cause(error)}); its Ray has to be the one here, {here}: "
            "look with 'ray --version' there, and install the same on both"
        )
    if "ersion mismatch" not in str(error):
        return ""
    match _VERSION.findall(str(error)):
        case [("Ray", ray), ("Python", python), ("Ray", our_ray), ("Python", our_python)]:
            return (
                f"Ray {ray} and Python {python} there, Ray {our_ray} and Python {our_python} here; Ray, and the first "
                "two numbers of Python, have to be the same on both: install what is there here, or what is here there"
            )
    return ""


def _is_error(said: logging.LogRecord) -> bool:
    return said.levelno >= logging.ERROR


def cause(error: BaseException) -> str:
    """Returns the last line of what Ray says, which tells what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1][:300]}" if lines else type(error).__name__


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
