"""What files are called in a corpus, and the ids of their passages begin with: what of a path tells them apart."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""What no id can be typed with; the last are bytes of a name that is no text."""


def called(files: Iterable[Path | str], known: Mapping[str, str]) -> Iterator[tuple[Path | str, str, str]]:
    """Yields files, each once, with a key that no other has, and what each is called.

    A file is called by its name, with so many of the folders above it as it takes to tell it from the others; what is
    no path is called as it is.

    Args:
        files: in their order.
        known: what files are called already, by key; they keep their names, and no other file gets one of these.
    """
    places = {_key(file): file for file in files}
    parts = {key: _parts(file) for key, file in places.items() if key not in known}
    endings = Counter(ending for one in parts.values() for ending in _endings(one))
    taken = set(known.values())
    for key, file in places.items():
        name = known.get(key)
        if name is None:
            free = (ending for ending in _endings(parts[key]) if endings[ending] == 1 and ending not in taken)
            name = next(free, None) or _numbered("/".join(parts[key]), taken)
            taken.add(name)
        yield file, key, name


def _place(file: Path) -> Path:
    # The folder is the real one, the name the given one: links to files are made to give them names.
    return file.parent.resolve() / file.name


def _key(file: Path | str) -> str:
    """Returns what tells a file from all others; of its path it shows nothing."""
    if isinstance(file, str):
        return file
    return hashlib.blake2b(str(_place(file)).encode(errors="surrogateescape"), digest_size=16).hexdigest()


def _parts(file: Path | str) -> tuple[str, ...]:
    if isinstance(file, str):
        return (file,)
    place = _place(file)
    return tuple(_CONTROL.sub("?", part) for part in place.relative_to(place.anchor).parts)


def _endings(parts: tuple[str, ...]) -> Iterator[str]:
    return ("/".join(parts[start:]) for start in range(len(parts) - 1, -1, -1))


def _numbered(name: str, taken: set[str]) -> str:
    number = 2
    while f"{name}~{number}" in taken:
        number += 1
    return f"{name}~{number}"
