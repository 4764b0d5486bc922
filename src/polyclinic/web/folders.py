"""The folders that may be shown, and the runs in them, each under an id that is no path.

A request names a run by its id, which is looked up among those that were found: no text of a request
becomes a path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from polyclinic.errors import UserError
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.run_file import RUN, is_locked

_DEPTH = 3  # folders below one that was given
_MOST = 500  # runs that are looked for
_READ = 5_000  # folders that are looked into


class NoSuchRun(UserError):
    """There is no run of that id."""

    status = 404


class ShelvedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run, or what kept it from being read."""

    id: str  # unique among those that are shown
    name: str  # of its folder, below the one that was given
    problem: str = ""  # why it cannot be shown; "" where it can
    summary: dict[str, object] = {}  # a few figures
    over: bool = False  # whether it has come to its end
    stopped: bool = False  # whether it has not, and nobody is at it


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
        """Returns the folder of a run.

        Raises:
            NoSuchRun: there is none of that id.
        """
        if id not in self._found:
            self.look()
        if id not in self._found:
            raise NoSuchRun("there is no run of that name here")
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
    looked, found = 0, 0
    line = [(folder, 0)]
    while line and looked < _READ and found < _MOST:
        path, depth = line.pop(0)
        looked += 1
        if (path / RUN).is_file():
            found += 1
            yield path
            continue
        if depth < _DEPTH:
            try:
                below = sorted(one for one in path.iterdir() if one.is_dir() and not one.name.startswith("."))
            except OSError:
                continue
            # A link may lead anywhere, also out of the folder that was given.
            line += [(one, depth + 1) for one in below if not one.is_symlink()]
