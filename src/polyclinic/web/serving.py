"""The state that every part of the server gets: the folders it may show, the token, and what to close at the end.

A request names a run by an id that is looked up among those found. No text of a request becomes a path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from starlette.routing import BaseRoute

from polyclinic.errors import UserError
from polyclinic.hospital.record.recorded import RecordedRun, is_locked
from polyclinic.web.browse.holdings import Holdings, unused_name
from polyclinic.web.browse.recordings import run_facts
from polyclinic.web.chair.catalogue import Catalogue
from polyclinic.web.chair.staff import OfferedPlayers
from polyclinic.web.practice import Practice
from polyclinic.web.refused import NotFound


def _listed(id: str, path: Path) -> dict[str, Any]:
    """Returns a few figures of a run, or what kept it from being read."""
    listed: dict[str, Any] = {"id": id, "name": id, "problem": "", "summary": {}, "over": False, "stopped": False}
    try:
        with RecordedRun(path) as run:
            figures, summary = run_facts(run), run.summary
        figures |= {name: summary[name] for name in ("visits", "accuracy", "died") if summary and name in summary}
        over = summary is not None
        return listed | {"summary": figures, "over": over, "stopped": not over and not is_locked(path)}
    except UserError as error:
        return listed | {"problem": str(error).replace(str(path), id)}


LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})  # names under which only this machine is reached
MOST_STREAMS = 256  # streams of events at once; more are refused
MOST_STREAMS_OF_ONE = 64  # those from one address: a browser opens six at most, and a class may share an address


class Serving:
    """A running server: the runs in the `folders`, and people's documents in `practice`.

    Every request needs the `token`, unless it is empty. `cases` are played besides the shipped ones, and wrong answers
    to the questions of `exams` can be judged.
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
        self.practice = Practice.at(practice or folders[0] / "practice")
        self.holdings = Holdings(folders, without=[self.practice.folder])
        self.host, self.token = host, token
        self.streams = Counter[str]()  # open ones, by address
        self.catalogue, self.exams, self.players = Catalogue(cases), tuple(exams), players or OfferedPlayers()
        self.closing: list[Callable[[], object]] = []  # called at the end
        self.ending: list[Callable[[], Awaitable[None]]] = []  # awaited before

    def runs(self, *, again: bool = True) -> dict[str, Path]:
        """Returns the folders of all runs of the hospital by id, looked for again or as they were found last."""
        found: dict[str, Path] = {}
        for one in (self.holdings.look() if again else self.holdings.known()).values():
            if one.holds == "hospital" and one.path not in found.values():
                found[unused_name(one.name, found, "{name}~{number}")] = one.path
        return found

    def run(self, id: str) -> Path:
        """Returns the folder of a run."""
        folder = self.runs(again=False).get(id) or self.runs().get(id)
        if folder is None:
            raise NotFound("there is no run of that name here")
        return folder

    def listed(self) -> list[dict[str, Any]]:
        """Returns all runs, those that cannot be read with the reason."""
        return [_listed(id, path) for id, path in self.runs().items()]

    async def end(self) -> None:
        """Ends what parts of the server have begun, and closes what they have opened."""
        for end in self.ending:
            await end()
        self.close()

    def close(self) -> None:
        """Closes what parts of the server have opened."""
        for close in (self.practice.close, *self.closing):
            close()


Part = Callable[[Serving], Sequence[BaseRoute]]
"""A part of the server: its routes, below `/api/` and its name.

A route below `/api/NAME/by-link/` needs no token: the part checks the key in the link itself.
"""
