"""The corpora of a user, by name: each a folder in the user's data folder, or in one that is named."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from polyclinic.errors import BadInput, UserError, meant
from polyclinic.retrieval.corpus import FILE
from polyclinic.user_folders import data_folder

_PLAIN = re.compile(r"[^\W_][\w.-]{0,63}")
_MOST_BYTES = 240
"""Of a name; file systems take 255."""
_SHOWN = 80


class Library:
    """The corpora in a folder; the user's own where none is named."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = data_folder() / "corpora" if folder is None else Path(folder)

    def place(self, name: str) -> Path:
        """Returns the folder of a corpus of that name, whether there is one or not.

        Raises:
            UserError: the name is no plain one, and might lead out of the library.
        """
        if not _PLAIN.fullmatch(name) or name.endswith(".") or len(name.encode()) > _MOST_BYTES:
            raise UserError(
                f"{_in_short(name)!r} is no name of a corpus; allowed: up to 64 letters, digits, '-', '_' and '.', of "
                f"which the first is a letter or digit, and {_MOST_BYTES} bytes"
            )
        place = self.folder / name
        try:
            link = place.is_symlink()
        except OSError as error:
            raise BadInput(f"cannot be used ({error.strerror})", path=_in_short(str(place))) from None
        if link:
            raise BadInput("this is a link; a corpus is a folder of its own", path=place)
        return place

    def find(self, name: str) -> Path:
        """Returns the folder of a corpus that is there; errors are those of `place`.

        Raises:
            UserError: there is none of that name; says which there are.
        """
        place = self.place(name)
        if not (place / FILE).is_file():
            near, there = meant(name, [*self.names(), "knowledge"]), ", ".join(self.names()) or "none yet"
            file = "knowledge" if name == "knowledge" else "FILE"
            told = f"make it with: polyclinic corpus add {name} {file}"
            raise UserError(f"no corpus {name!r}{near} in {self.folder}; there are: {there}; {told}")
        return place

    def names(self) -> Iterator[str]:
        """Yields the names of the corpora that are there, in order."""
        if self.folder.is_dir():
            for place in sorted(self.folder.iterdir()):
                if _PLAIN.fullmatch(place.name) and not place.is_symlink() and (place / FILE).is_file():
                    yield place.name

    def remove(self, name: str) -> None:
        """Takes a corpus out of the library, with all that it holds; errors are those of `find`."""
        place = self.find(name)
        try:
            # The passages first: what is left without them is no corpus any more.
            (place / FILE).unlink()
            shutil.rmtree(place)
        except OSError as error:
            raise BadInput(f"cannot be removed ({error.strerror})", path=place) from None


def find_corpus(name: str) -> Path:
    """Returns the folder of a corpus by its name in the user's library, or by the path of its folder.

    Raises:
        UserError: there is none.
    """
    if os.sep in name or name.startswith("."):
        try:
            folder = Path(name).expanduser()
            there = (folder / FILE).is_file()
        except (OSError, RuntimeError) as error:
            raise BadInput(f"cannot be used ({getattr(error, 'strerror', error)})", path=_in_short(name)) from None
        if not there:
            raise BadInput("no corpus is here; make one with: polyclinic corpus add", path=folder)
        return folder
    return Library().find(name)


def _in_short(name: str) -> str:
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
