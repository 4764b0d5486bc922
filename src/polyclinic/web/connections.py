"""Connections of the server: no more than there are places for, and none that is held without asking anything.

Where all places are taken, whoever comes gets that of the connection that has asked nothing for longest. So half
requests and idle connections keep nobody out, however many they are; whoever is being answered, as by a stream of
events, stays.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 1_024
"""Connections at a time, where the system has files for twice as many."""

HEAD = 20.0
"""Seconds in which a request's head must have come."""

_SPARE = 2  # files that the system allows, to a connection: what is served needs some too
_NO_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_SILENCE = 60.0  # seconds between two lines that say so
_log = logging.getLogger("uvicorn")


def allow_files() -> None:
    """Lets this process have the files that all places need, or as many as the system allows it."""
    try:
        import resource  # noqa: PLC0415 - not every system has such bounds
    except ImportError:
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST * _SPARE if most == resource.RLIM_INFINITY else min(MOST * _SPARE, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def places() -> int:
    """Returns how many connections there may be at a time; one address elsewhere has half of them at most."""
    try:
        import resource  # noqa: PLC0415 - not every system has such bounds
    except ImportError:
        return MOST
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if files == resource.RLIM_INFINITY else max(min(MOST, files // _SPARE), 2)


class FilesRunOut:
    """What a loop does with errors that nobody waits for: of files that have run out it says a line a minute.

    The loop itself takes no connection for a second then.
    """

    def __init__(self) -> None:
        self._again = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Tells of an error."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _NO_FILES:
            loop.default_exception_handler(context)
        elif loop.time() >= self._again:
            self._again = loop.time() + _SILENCE
            _log.warning("connections wait: %s (`ulimit -n` says how many files may be open)", error.strerror)


class BoundedConnection(H11Protocol):
    """A connection that is closed where its place is needed, or where it asks nothing for too long."""

    _head: asyncio.TimerHandle | None = None
    _since = 0.0  # when it came, or was last answered
    _gone = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes it, in the place of another where there is none."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._wait_for_a_head()
        most, host = places(), _host(self)
        there = [one for one in self.connections if isinstance(one, BoundedConnection) and not one._gone]
        theirs = [one for one in there if _host(one) == host]
        if len(theirs) > (most if _is_here(host) else max(most // 2, 1)):
            self._make_room(theirs)
        elif len(there) > most:
            self._make_room(there)

    def data_received(self, data: bytes) -> None:
        """Reads on; while a request is answered nobody is waited for."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        else:
            self._wait_for_a_head()

    def on_response_complete(self) -> None:
        """Begins to wait for the next request."""
        self._since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits for nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _make_room(self, among: list[BoundedConnection]) -> None:
        """Closes the one that has asked nothing for longest: this one itself where all others are being answered."""
        longest = min((one for one in among if one._asks_nothing), key=lambda one: (one is self, one._since))
        longest._gone = True
        longest.transport.abort()

    @property
    def _asks_nothing(self) -> bool:
        """Whether no request has come as a whole that is not answered yet."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _wait_for_a_head(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(HEAD, self._too_late)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _too_late(self) -> None:
        self._head = None
        if not self.transport.is_closing():
            self.transport.abort()


def _host(connection: object) -> str:
    client = getattr(connection, "client", None)
    return client[0] if client else ""


def _is_here(host: str) -> bool:
    """Whether an address is this machine, whose programs and proxies all have the same."""
    return not host or host == "::1" or host.removeprefix("::ffff:").startswith("127.")
