"""Serves the pages on a port until Ctrl-C, with a limited number of connections.

If all are in use, a new connection replaces the one that has been idle for longest, so that idle connections and half
requests keep nobody out. Connections that are being answered are kept.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import logging
import queue
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from logging.handlers import QueueHandler, QueueListener
from threading import Thread
from typing import Any, TextIO
from urllib.parse import quote

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from polyclinic.errors import UserError
from polyclinic.stopping import EndedBy
from polyclinic.web.application import application
from polyclinic.web.serving import Serving

resource: Any = importlib.import_module("resource") if importlib.util.find_spec("resource") else None
"""The bounds of the system; some systems have none."""

MOST = 1_024  # connections at a time, where the system has files for twice as many
HEAD = 20.0  # seconds in which a request's head must have come
_SPARE = 2  # files that the system allows, to a connection: what is served needs some too


def allow_files() -> None:
    """Lets this process have the files that all places need, or as many as the system allows it."""
    if resource is None:
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST * _SPARE if most == resource.RLIM_INFINITY else min(MOST * _SPARE, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def places() -> int:
    """Returns the most connections at a time."""
    if resource is None or (files := resource.getrlimit(resource.RLIMIT_NOFILE)[0]) == resource.RLIM_INFINITY:
        return MOST
    return max(min(MOST, int(files) // _SPARE), 2)


class BoundedConnection(H11Protocol):
    """A connection that is closed where its place is needed, or where it asks nothing for too long."""

    _since = 0.0  # when it came, or was last answered
    _gone = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes it; where there is no place, the one that has asked nothing for longest goes, or else this one."""
        super().connection_made(transport)
        self._wait_for_a_head()
        there = [one for one in self.connections if isinstance(one, BoundedConnection) and not one._gone]
        if len(there) > places():
            idle = (one for one in there if one._is_free or one.cycle.more_body)
            longest = min(idle, key=lambda one: (one is self, one._since))
            longest._gone = True
            longest.transport.abort()

    def on_response_complete(self) -> None:
        """Begins to wait for the next request."""
        self._wait_for_a_head()
        super().on_response_complete()

    @property
    def _is_free(self) -> bool:
        """Whether no head of a request has come that is not answered yet."""
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_a_head(self) -> None:
        self._since = self.loop.time()
        self.loop.call_later(HEAD, self._end_idle, self._since)

    def _end_idle(self, since: float) -> None:
        if since == self._since and self._is_free and not self.transport.is_closing():
            self.transport.abort()


_REQUEST = 16_384  # bytes of a request's head
_AT_ONCE = 32  # connections that are taken before the first of them is looked at
_FAREWELL = 1  # seconds that open streams are given at the end
_UNTOLD = 1_000  # lines of the log that wait for a terminal; more are dropped
_TURN = 0.001  # seconds after which a computing thread yields, so that a quick answer need not wait


def bound(host: str, port: int) -> socket.socket:
    """Takes a port."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror:
        raise UserError(
            f"--host {host!r} is not an address; 127.0.0.1 is this machine alone, 0.0.0.0 all networks"
        ) from None
    taken = socket.socket(family, kind, number)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
        taken.listen(128)
    except OSError as error:
        taken.close()
        why = error.strerror or str(error)
        raise UserError(
            f"port {port} of {host} is not available ({why}); choose another with --port N, or any with --port 0"
        ) from None
    return taken


def address(taken: socket.socket, host: str, *, token: str = "", page: str = "") -> str:
    """Returns where a browser finds a page."""
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)  # noqa: S104
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{taken.getsockname()[1]}/{page}{f'?token={quote(token)}' if token else ''}"


class _LogQueue(QueueHandler):
    """Passes log lines to a thread, because writing to a stopped terminal or an unread pipe blocks."""

    def enqueue(self, record: logging.LogRecord) -> None:
        """Drops a line if too many wait."""
        with suppress(queue.Full):
            self.queue.put_nowait(record)


def tell_later(stream: TextIO | None = None) -> Callable[[], None]:
    """Has a thread write the server's log, by default to stderr; returns a function that ends it."""
    log = logging.getLogger("uvicorn")
    writing = logging.StreamHandler(stream)
    writing.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    lines = _LogQueue(queue.Queue(_UNTOLD))
    listener = QueueListener(lines.queue, writing)

    def stop() -> None:
        with suppress(queue.Full):
            listener.stop()

    def end() -> None:
        log.removeHandler(lines)
        last = Thread(target=stop, daemon=True)
        last.start()
        last.join(_FAREWELL)

    listener.start()
    log.addHandler(lines)
    log.propagate = False
    return end


class _PageServer(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to who listens to them for the whole program."""
        yield


def serve(serving: Serving, taken: socket.socket) -> None:
    """Serves until it is stopped, which raises nothing."""
    end = tell_later()
    allow_files()
    settings = uvicorn.Config(
        application(serving),
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        http=BoundedConnection,
        ws="none",
        loop="asyncio",
        h11_max_incomplete_event_size=_REQUEST,
        timeout_graceful_shutdown=_FAREWELL,
        backlog=_AT_ONCE,
    )
    sys.setswitchinterval(_TURN)
    # Collecting what is loaded by now again and again would delay requests by 40 ms.
    gc.freeze()
    try:
        server = _PageServer(settings)
        with EndedBy(partial(setattr, server, "should_exit", True)):
            server.run(sockets=[taken])
    finally:
        end()
