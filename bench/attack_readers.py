"""Every reader of what the user names, given what is nearly right: bytes that are wrong, and JSON of another shape."""

import json
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.attack import Tried
from bench.attack_files import corrupt
from bench.readers_given import READERS
from polyclinic.errors import PolyclinicError

_TRIES_OF_JSON = 0.4
_OTHERS: tuple[Any, ...] = (None, True, -1, 1e308, 10**30, "", "x" * 300, "\x00", [], {}, [[]], {"": None}, "=1+1")
_DEEP = 5_000


def readers(seed: int, n: int) -> list[Tried]:
    """Gives readers what is nearly right: only errors of ours come out."""
    rng = random.Random(seed)
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        for number in range(n):
            one = READERS[number % len(READERS)]
            place = folder / str(READERS.index(one))
            whole, path = place / "whole", place / one.name
            if not place.exists():
                place.mkdir()
                one.made(path)
                one.read(path)
                shutil.copyfile(path, whole)
            shutil.copyfile(whole, path)
            how = _reshaped(path, rng) if rng.random() < _TRIES_OF_JSON else ""
            how = how or corrupt(path, rng)
            try:
                one.read(path)
            except PolyclinicError:
                continue
            except BaseException as error:
                failed.append(f"{one.what}, try {number}, {how}: {type(error).__name__}: {error}"[:200])
    return [Tried(f"what is nearly right, given to {len(READERS)} readers", n, tuple(failed))]


def _reshaped(path: Path, rng: random.Random) -> str:
    """Puts another value, of another type, in the place of one in a file of JSON; returns how, "" where it is none."""
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except ValueError:
        return ""
    places = [*_places(records)]
    if not places:
        return ""
    held, key = rng.choice(places)
    deep = rng.random() < 1 / len(_OTHERS)
    other = "DEEP" if deep else rng.choice(_OTHERS)
    held[key] = other
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_text(text.replace('"DEEP"', "[" * _DEEP + "]" * _DEEP), encoding="utf-8")
    return f"{key!r} became {str(other)[:20]!r}"


def _places(held: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in held.items() if isinstance(held, dict) else enumerate(held):
        yield held, key
        if isinstance(value, dict | list):
            yield from _places(value)
