"""What every part of the server gets: the folders it may show, the token, and what is closed at the end.

A request names a run by an id that is looked up among those found. No text of a request becomes a path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack
from itertools import islice
from pathlib import Path

import msgspec
from starlette.routing import BaseRoute

from polyclinic.errors import UserError
from polyclinic.hospital.record.recorded import RUN, RecordedRun, is_locked
from polyclinic.web.browse.holdings import folders_below
from polyclinic.web.chair.catalogue import Catalogue
from polyclinic.web.chair.staff import OfferedPlayers
from polyclinic.web.practice import Practice
from polyclinic.web.refused import NotFound

_MOST = 500  # runs that are looked for


class ShelvedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run, or what kept it from being read."""

    id: str  # unique among those that are shown
    name: str  # of its folder, below the one that was given
    problem: str = ""  # why it cannot be shown; "" where it can
    summary: dict[str, object] = {}  # a few figures
    over: bool = False  # whether it has come to its end
    stopped: bool = False  # whether it has not, and no process continues it


class Shelf:
    """The runs in some folders. They are looked for anew whenever they are listed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._found: dict[str, Path] = {}

    def look(self) -> dict[str, Path]:
        """Returns the folders of all runs that are there, by id."""
        found: dict[str, Path] = {}
        for folder in self._folders:
            for path in _runs(folder.resolve()):
                name = path.name if path == folder.resolve() else path.relative_to(folder.resolve()).as_posix()
                id, number = name, 2
                while id in found and found[id] != path:
                    id, number = f"{name}~{number}", number + 1
                found[id] = path
        self._found = found
        return found

    def folder(self, id: str) -> Path:
        """Returns the folder of a run."""
        if id not in self._found:
            self.look()
        if id not in self._found:
            raise NotFound("there is no run of that name here")
        return self._found[id]

    def listed(self) -> list[ShelvedRun]:
        """Returns all runs, those that cannot be read with the reason."""
        return [_listed(id, path) for id, path in self.look().items()]


def _listed(id: str, path: Path) -> ShelvedRun:
    try:
        with RecordedRun(path) as run:
            about, summary = run.configuration, run.summary
            figures: dict[str, object] = {
                "events": len(run),
                "t": run.rows(len(run) - 1, 1)[0][1] if len(run) else 0,
                "residents": about.get("residents"),
                "days": about.get("days"),
                "seed": about.get("seed"),
                "hospital": (about.get("hospital") or {}).get("name"),
                "minds": {role: (about.get("setup") or {}).get(role) for role in ("doctor", "nurse", "patient")},
            }
            for name in ("visits", "accuracy", "died"):
                if summary is not None and name in summary:
                    figures[name] = summary[name]
            over = summary is not None
            return ShelvedRun(id=id, name=id, summary=figures, over=over, stopped=not over and not is_locked(path))
    except UserError as error:
        return ShelvedRun(id=id, name=id, problem=str(error).replace(str(path), id))


def _runs(folder: Path) -> Iterator[Path]:
    def is_run(path: Path) -> bool:
        return (path / RUN).is_file()

    return islice((path for path, _ in folders_below(folder, ends=is_run) if is_run(path)), _MOST)


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
        token: which every request must bring; "" if none is needed, for this machine alone.
        practice: the folder that keeps what people make; `practice` in the first folder by default.
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
        practice: Path | None = None,
        cases: Sequence[Path] = (),
        exams: Sequence[Path] = (),
        players: OfferedPlayers | None = None,
    ) -> None:
        self.folders = tuple(folders)
        self.shelf = Shelf(self.folders)
        self.host, self.token = host, token
        self.streams = Counter[str]()  # that are open, by address
        self.practice = Practice(practice or self.folders[0] / "practice")
        self.catalogue, self.exams, self.players = Catalogue(cases), tuple(exams), players or OfferedPlayers()
        self._closing, self._ending = ExitStack(), AsyncExitStack()

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
        self.practice.close()
        self._closing.close()


Part = Callable[[Serving], Sequence[BaseRoute]]
"""A part of the server: its routes, below `/api/` and its name.

A route below `/api/NAME/by-link/` is reached without the server's token: the part looks at the key in the link itself.
"""
