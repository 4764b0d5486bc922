"""Connections of the server: no more than there are places for, and none that is held without asking anything."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 1_024
"""Connections at a time, where the system has files for twice as many."""

HEAD = 20.0
"""Seconds in which a request's head must have come."""

_SPARE = 2  # files that the system allows, to a connection: what is served needs some too


def places() -> int:
    """Returns how many connections there may be at a time; one address has half of them at most."""
    try:
        import resource  # noqa: PLC0415 - not every system has such bounds
    except ImportError:
        return MOST
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if files == resource.RLIM_INFINITY else max(min(MOST, files // _SPARE), 2)


class BoundedConnection(H11Protocol):
    """A connection that is closed where there is no place for it, or where it asks nothing for too long."""

    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes it, or closes it."""
        super().connection_made(transport)
        most = places()
        theirs = sum(_host(one) == _host(self) for one in self.connections)
        if len(self.connections) > most or theirs > max(most // 2, 1):
            transport.abort()
            return
        self._wait_for_a_head()

    def data_received(self, data: bytes) -> None:
        """Reads on; while a request is answered nobody is waited for."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        else:
            self._wait_for_a_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits for nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

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
