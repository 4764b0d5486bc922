"""Workers on a Ray cluster, an existing one or one that the command starts.

A worker is an actor. Ray brings it this polyclinic, whatever is installed on its node.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import socket
import tempfile
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from polyclinic.errors import MissingExtra, UserError, in_one_line, in_short
from polyclinic.parallel.messages import HEAD, frame, unframed
from polyclinic.parallel.sites import ENDS_WITHIN, ClusterLost, WorkerLost
from polyclinic.parallel.worker import OpenItems

RAY = "ray"
SCHEME = "ray://"
_PORT = 10001

SECONDS = 60.0  # for the cluster to be there; Ray's own client waits for minutes on a head that is not
_LEASE = 5  # seconds after which a command that is not heard of is taken to be gone
_WITHIN = 1.0  # seconds that a call waits for frames
_TRIES = 3  # to be let in; the server that a head starts for each client may end as it begins
_PACKAGE = Path(__file__).parents[1]


class RayWorker:
    """The actor: a worker whose frames are passed on by Ray."""

    def __init__(self, folder: str) -> None:
        with suppress(OSError):
            os.chdir(folder)  # that of the command, if it is there
        self._files = tempfile.TemporaryDirectory(prefix="polyclinic-", ignore_cleanup_errors=True)
        self._frames = asyncio.Queue[bytes]()
        self._items: OpenItems | None = None
        self._silent = 0

    async def send(self, frames: bytes) -> None:
        """Takes frames of the command."""
        if self._items is None:
            self._items = OpenItems(self._frames.put_nowait, Path(self._files.name))
            self._alone = asyncio.create_task(self._end_alone())
        while frames:
            end = HEAD + int.from_bytes(frames[:HEAD])
            for message in unframed(frames[HEAD:end]):
                self._items.take(message)
            frames = frames[end:]

    async def receive(self) -> list[bytes]:
        """Returns frames for the command."""
        self._silent = 0
        found: list[bytes] = []
        with suppress(TimeoutError):
            found.append(await asyncio.wait_for(self._frames.get(), _WITHIN))
        while not self._frames.empty():
            found.append(self._frames.get_nowait())
        return found

    async def stop(self) -> None:
        """Closes what is open."""
        if self._items is not None:
            await self._items.close()
        self._files.cleanup()

    async def _end_alone(self) -> None:
        # A cluster keeps actors for a while when their command was killed. Turns count, and not the time: what computes
        # holds them up, and what the command has sent meanwhile is heard before the next.
        while self._silent < _LEASE:
            self._silent += 1
            await asyncio.sleep(1.0)
        self._files.cleanup()
        os._exit(1)


class RayWorkers:
    """Workers for the processors of a cluster. Made by `connect`."""

    def __init__(self, ray: Any, address: str) -> None:
        self._ray, self._address, self.workers = ray, address, 1
        self._idle: list[Any] = []
        self._is_gone = False
        self._remote = ray.remote(num_cpus=1, max_restarts=0)(RayWorker)

    @classmethod
    async def connect(cls, address: str) -> Self:
        """Joins the cluster `ray://HOST:PORT`, or starts one on this machine, `ray` or `ray:N`."""
        if address.startswith(SCHEME):
            show_token()
        try:
            import ray  # noqa: PLC0415 - an extra, and slow to import
        except ImportError:
            raise MissingExtra("--on ray needs Ray: pip install 'polyclinic[ray]'") from None
        if address.startswith(SCHEME):
            look(address)
        await join(ray, address)
        cluster = cls(ray, address)
        try:
            processors = (await cluster.call(ray.cluster_resources)).get("CPU", 1)
            cluster.workers = max(1, int(processors))
            await cluster._meet()
        except BaseException:
            await cluster.close()
            raise
        return cluster

    async def start(self) -> RayProcess:
        """Has a worker started on a node, when one has a processor free."""
        return RayProcess(self, self._idle.pop() if self._idle else await self._actor())

    async def ask(self, method: Any, *given: object) -> Any:
        """Returns what an actor answers; raises `WorkerLost`, or `ClusterLost` if the head is gone."""
        reference = await self.call(method.remote, *given)
        coming = asyncio.wrap_future(reference.future())
        coming.add_done_callback(lambda one: one.cancelled() or one.exception())  # nobody may wait for it any more
        try:
            # Ray answers also those who have gone, and would meet a future that is cancelled.
            return await asyncio.shield(coming)
        except self._ray.exceptions.RayTaskError:
            raise
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            self._check_connected()
            raise WorkerLost(f"is gone ({in_short(error)[:200]})") from None

    async def call(self, function: Callable[..., Any], *given: object) -> Any:
        """Calls Ray, which may wait, in a thread; `ClusterLost` where the head is gone."""
        if self._is_gone:
            self._check_connected()
        try:
            return await asyncio.to_thread(function, *given)
        except Exception:
            self._check_connected()
            raise

    async def end(self, actor: Any) -> None:
        """Ends an actor, so that its processor is free."""
        with suppress(WorkerLost, ClusterLost, TimeoutError):
            await asyncio.wait_for(self.ask(actor.stop), ENDS_WITHIN)
        if not self._is_gone:
            with suppress(Exception):
                await asyncio.to_thread(self._ray.kill, actor)

    async def close(self) -> None:
        """Leaves the cluster; one that the command started ends."""
        # Ray counts who refers to an actor, by names that the next cluster gives again.
        self._idle.clear()
        await asyncio.to_thread(self._ray.shutdown)

    async def _actor(self) -> Any:
        """Returns an actor that is there."""
        made = await self.call(self._remote.remote, str(Path.cwd()))
        await self.ask(made.receive)
        return made

    async def _meet(self) -> None:
        """Starts the first worker; a UserError where no processor is free, or polyclinic does not run there."""
        first = asyncio.ensure_future(self._actor())
        try:
            self._idle.append(await asyncio.wait_for(first, SECONDS))
        except TimeoutError:
            raise UserError(f"--on {self._address}: no node has a processor free within {SECONDS:g} s") from None
        except (self._ray.exceptions.RayTaskError, WorkerLost) as error:
            raise UserError(f"--on {self._address}: no worker can be started there: {cause(error)}") from None
        finally:
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)

    def _check_connected(self) -> None:
        # Ray's client has waited for the head to come back, and says so in errors of many classes.
        is_joined = self._address.startswith(SCHEME)
        if self._is_gone or (is_joined and not self._ray.util.client.ray.is_connected()):
            self._is_gone = True
            raise ClusterLost(
                f"--on {self._address}: the head of the cluster is gone; what was answered is kept by --out: the same "
                "command resumes from there with the next head"
            ) from None


class RayProcess:
    """A worker on a node."""

    def __init__(self, cluster: RayWorkers, actor: Any) -> None:
        self._cluster, self._actor = cluster, actor
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
                await self._cluster.ask(self._actor.send, frames)

    async def receive(self) -> list[Any]:
        """Waits for messages."""
        while not (frames := await self._cluster.ask(self._actor.receive)):
            pass
        return [message for body in frames for message in unframed(body[HEAD:])]

    async def stop(self) -> None:
        """Ends the worker."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)
        await self._cluster.end(self._actor)


def show_token() -> None:
    """Has Ray's client show the token that 'ray start' may ask for; Ray reads this as it is imported."""
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
    if not place.hostname or not port:
        raise UserError(f"--on {address!r}; a cluster is named ray://HOST:PORT")
    try:
        socket.create_connection((place.hostname, port), timeout=_LEASE).close()
    except OSError as error:
        raise UserError(
            f"--on {address}: nobody answers at {place.hostname} port {port} ({error.strerror or error}); "
            "start the head there with 'ray start --head --ray-client-server-port PORT'"
        ) from None


async def join(ray: Any, address: str) -> None:
    """Joins a cluster, or starts one."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # A client that is gone keeps its processors for so long.
    os.environ.setdefault("RAY_CLIENT_RECONNECT_GRACE_PERIOD", str(_LEASE))
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # The client's own words on a head that is gone, which is told by us; it takes no word from those above it.
    for name in ("ray", "ray.util.client.logsclient"):
        logging.getLogger(name).addFilter(lambda record: record.levelno >= logging.ERROR)
    # So do its threads, whose errors come to nobody who waits.
    threading.excepthook = without_client(threading.excepthook)
    given: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    is_joined = address.startswith(SCHEME)
    if is_joined:
        given |= {"address": address, "runtime_env": {"py_modules": [str(_PACKAGE)], "excludes": ["web/static"]}}
    else:
        workers = int(address.partition(":")[2] or 0) or None
        given |= {"address": "local", "include_dashboard": False, "num_cpus": workers}
        # Ray's list of jobs would show the words of the command, which may contain a password.
        ray._private.utils.get_entrypoint_name = lambda: "polyclinic"
    start = functools.partial(ray.init, **given)
    try:
        async with asyncio.timeout(SECONDS):
            for left_tries in reversed(range(_TRIES)):
                try:
                    # Linux ends the processes of a new cluster with the thread that started them.
                    await (_apart(start) if is_joined else asyncio.to_thread(start))
                    return
                except ConnectionAbortedError:
                    if not left_tries:
                        raise
                    await asyncio.to_thread(ray.shutdown)
    except Exception as error:
        is_late = isinstance(error, TimeoutError) or (type(error) is ConnectionError and "timeout" in str(error))
        if is_joined and is_late:
            raise UserError(
                f"--on {address}: something listens there, and it did not let us in; is it the port of Ray's client "
                "server, and does the cluster want a token? It lies in ~/.ray/auth_token of who started it: bring it "
                "here, or name it by RAY_AUTH_TOKEN_PATH, with RAY_AUTH_MODE=token"
            ) from None
        why = cause(error)
        if "ersion mismatch" in str(error):
            why = f"{in_one_line(str(error))}; Ray, and the first two numbers of Python, have to be the same on both"
        elif isinstance(error, ConnectionAbortedError):  # a head of another Ray does this before it says its version
            why = f"the head does not let us in ({why}); its Ray has to be the one here, {ray.__version__}"
        raise UserError(f"--on {address}: {why}") from None


async def _apart(call: Callable[[], object]) -> None:
    """Makes a call in a thread of its own, which nobody waits for if it takes too long."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def settle(error: Exception | None) -> None:
        if not over.done():
            over.set_result(None) if error is None else over.set_exception(error)

    def run() -> None:
        problem = None
        try:
            call()
        except Exception as error:
            problem = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, problem)

    threading.Thread(target=run, daemon=True).start()
    await over


def without_client(hook: Callable[[threading.ExceptHookArgs], object]) -> Callable[[threading.ExceptHookArgs], object]:
    """Returns what is done of an error that ends a thread: nothing of one of Ray's client."""

    def told(args: threading.ExceptHookArgs) -> object:
        frames = traceback.walk_tb(args.exc_traceback)
        if any(str(frame.f_globals.get("__name__")).partition(".")[0] in ("ray", "grpc") for frame, _ in frames):
            return None
        return hook(args)

    return told


def cause(error: BaseException) -> str:
    """Returns the last line of what Ray says, which tells what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1][:300]}" if lines else type(error).__name__
