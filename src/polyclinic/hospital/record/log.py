"""The log of a run: numbered happenings, and a hash that says whether two runs are the same, bit for bit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Protocol

import msgspec

from polyclinic.hospital.record.happenings import Happening, What

_SIZE = 16  # bytes of the hash


class Sink(Protocol):
    """Where happenings go, in order."""

    def add(self, happening: Happening) -> None:
        """Takes the next one."""


class Hash:
    """A hash over happenings in order: each as JSON with its keys in a fixed order, and a line feed."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=_SIZE)
        self._encode = msgspec.json.Encoder(order="deterministic").encode

    def add(self, happening: Happening) -> None:
        """Takes the next one."""
        self._hash.update(self._encode(happening))
        self._hash.update(b"\n")

    def hex(self) -> str:
        """Returns the hash of all so far."""
        return self._hash.hexdigest()


class Log:
    """Numbers what happens and hands it on.

    Args:
        sinks: each gets every happening, in order.
    """

    def __init__(self, *sinks: Sink) -> None:
        self._sinks = sinks
        self._next = 0

    def __len__(self) -> int:
        return self._next

    def add(self, t: int, who: str, what: What) -> None:
        """Writes down what happened, when and to whom."""
        happening = Happening(seq=self._next, t=t, who=who, what=what)
        self._next += 1
        for sink in self._sinks:
            sink.add(happening)


def log_hash(happenings: Iterable[Happening]) -> str:
    """Returns the hash of a log: equal for two runs with the same history, whatever computed it in whatever order."""
    hashed = Hash()
    for happening in happenings:
        hashed.add(happening)
    return hashed.hex()
