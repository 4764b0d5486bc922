"""Puts the pages on a port until Ctrl-C."""

from __future__ import annotations

import asyncio
import gc
import logging
import queue
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from logging.handlers import QueueHandler
from threading import Thread
from typing import TextIO
from urllib.parse import quote

import uvicorn

from polyclinic.errors import UserError
from polyclinic.stopping import EndedBy
from polyclinic.web.application import application
from polyclinic.web.connections import BoundedConnection, FilesRunOut, allow_files
from polyclinic.web.serving import Serving

_REQUEST = 16_384  # bytes of a request's head
_AT_ONCE = 32  # connections that are taken before the first of them is looked at
_FAREWELL = 1  # seconds that open streams are given at the end
_UNTOLD = 1_000  # lines of the log that wait for a terminal; more are dropped
_TURN = 0.001  # seconds after which a thread that computes lets another go on: a quick answer is not kept waiting


def bound(host: str, port: int) -> socket.socket:
    """Takes a port.

    Raises:
        UserError: it is in use, or there is no such address here.
    """
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror:
        raise UserError(
            f"--host {host!r} is no address; 127.0.0.1 is this machine alone, 0.0.0.0 all networks"
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
            f"port {port} of {host} cannot be had ({why}); another: --port N, any free one: --port 0"
        ) from None
    return taken


def address(taken: socket.socket, host: str, *, token: str = "", page: str = "") -> str:
    """Returns where a browser finds a page."""
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)  # noqa: S104
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{taken.getsockname()[1]}/{page}{f'?token={quote(token)}' if token else ''}"


class _LogQueue(QueueHandler):
    """Hands lines of the log to a thread that writes them.

    A terminal that stands still, or a pipe that nobody reads, keeps whoever writes to it waiting: that must not be the
    server, which would answer nobody until then.
    """

    def enqueue(self, record: logging.LogRecord) -> None:
        """Drops a line where too many wait."""
        with suppress(queue.Full):
            self.queue.put_nowait(record)


def tell_later(stream: TextIO | None = None) -> Callable[[], None]:
    """Has the server's log written by a thread of its own, to stderr unless another stream is given.

    Returns:
        What ends that, and gives the last lines a moment.
    """
    log = logging.getLogger("uvicorn")
    lines: queue.Queue[logging.LogRecord | None] = queue.Queue(_UNTOLD)
    writing = logging.StreamHandler(stream)
    writing.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    handing_on = _LogQueue(lines)

    def write() -> None:
        while (line := lines.get()) is not None:
            writing.handle(line)

    def end() -> None:
        log.removeHandler(handing_on)
        with suppress(queue.Full):
            lines.put_nowait(None)
        thread.join(_FAREWELL)

    thread = Thread(target=write, daemon=True)
    thread.start()
    log.addHandler(handing_on)
    log.propagate = False
    return end


class _PageServer(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(FilesRunOut())
        await super().startup(sockets=sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to who listens to them for the whole program."""
        yield

    def end(self) -> None:
        """Ends it in order: what is being answered has a moment, and is then broken off."""
        self.should_exit = True


def serve(serving: Serving, taken: socket.socket) -> None:
    """Serves until somebody stops it, which raises nothing."""
    end = tell_later()
    allow_files()
    try:
        server = _PageServer(_settings(serving))
        with EndedBy(server.end):
            server.run(sockets=[taken])
    finally:
        end()


def _settings(serving: Serving) -> uvicorn.Config:
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
    # What is there by now stays: looked through again and again, it would cost whoever seeks just then 40 ms.
    gc.freeze()
    return settings
