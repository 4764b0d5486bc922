"""Joining a Ray cluster: one that is there, or one that is made on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import socket
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from polyclinic.errors import UserError

LOCAL = "ray"
SCHEME = "ray://"
_PORT = 10001

SECONDS = 60.0
"""For the cluster to be there; Ray's own client waits for minutes on a head that is not."""

LEASE = 5.0
"""Seconds after which a command that is not heard of is taken to be gone."""

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
