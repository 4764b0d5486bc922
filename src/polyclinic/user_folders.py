"""Where the files of a user lie: what is to stay, and what can be had again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Returns where is kept what can be had again: the user's cache folder, by the habits of the operating system."""
    return _own_folder("XDG_CACHE_HOME", mac="Caches", elsewhere=".cache")


def data_folder() -> Path:
    """Returns where a user's data is kept, by the habits of the operating system."""
    return _own_folder("XDG_DATA_HOME", mac="Application Support", elsewhere=".local/share")


def _own_folder(variable: str, *, mac: str, elsewhere: str) -> Path:
    if home := os.environ.get(variable):
        return Path(home) / "polyclinic"
    if sys.platform == "darwin":
        return Path.home() / "Library" / mac / "polyclinic"
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "polyclinic"
    return Path.home() / elsewhere / "polyclinic"
