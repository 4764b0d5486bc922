"""What every part of the server is given: what it may show, who may look, and what is closed at the end."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

from starlette.routing import BaseRoute

from polyclinic.web.chair.staff import OfferedPlayers
from polyclinic.web.folders import Shelf
from polyclinic.web.practice import hold, let_go

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names under which this machine alone is reached."""

MOST_STREAMS = 256
"""Streams of events at once; more are refused."""

MOST_STREAMS_OF_ONE = 64
"""Of these, from one address, this machine's own too: a browser has six at most, and a class may share an address."""


class Serving:
    """A server while it is up.

    Args:
        folders: what may be shown: runs, or folders of runs.
        host: the address that is listened on.
        token: whoever asks must know it; "" for nobody must, which is for this machine alone.
        live: the id of the run that the town opens with, as it goes on; "" for none.
        practice: the folder that keeps what is played and taught; `practice` in the first folder by default.
        cases: case files of one's own that can be played.
        exams: files of exam questions, so that wrong answers to them can be judged.
        players: who may play beside a person.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        host: str = "127.0.0.1",
        token: str = "",
        live: str = "",
        practice: Path | None = None,
        cases: Sequence[Path] = (),
        exams: Sequence[Path] = (),
        players: OfferedPlayers | None = None,
    ) -> None:
        self.folders = tuple(folders)
        self.shelf = Shelf(self.folders)
        self.host, self.token, self.live = host, token, live
        self.streams = Counter[str]()  # that are open, by address
        self.practice = practice or self.folders[0] / "practice"
        self.cases, self.exams, self.players = tuple(cases), tuple(exams), players or OfferedPlayers()
        self._practises = False
        self._closing, self._ending = ExitStack(), AsyncExitStack()

    def hold_practice(self) -> None:
        """Takes the folder of practice for this server, as whatever is played, taught or judged is written there.

        Raises:
            PracticeTaken: another server has it.
            BadInput: it cannot be made.
        """
        if not self._practises:
            self.on_close(functools.partial(let_go, hold(self.practice)))
            self._practises = True

    def on_close(self, close: Callable[[], object]) -> None:
        """Lets something be closed when the server ends."""
        self._closing.callback(close)

    def on_end(self, end: Callable[[], Awaitable[None]]) -> None:
        """Lets something be awaited when the server ends."""
        self._ending.push_async_callback(end)

    async def end(self) -> None:
        """Ends what parts of the server have begun, and closes what they have opened."""
        await self._ending.aclose()
        self.close()

    def close(self) -> None:
        """Closes what parts of the server have opened."""
        self._closing.close()


Part = Callable[[Serving], Sequence[BaseRoute]]
"""A part of the server: its routes, below `/api/` and its name.

A route below `/api/NAME/by-link/` is reached without the server's token: the part looks at the key in the link itself.
"""
