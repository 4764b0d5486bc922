"""The calls of a run, one by one: kept while it lasts, for whoever wants them beside their sums."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from polyclinic.files import whole

_IN_MEMORY = 1 << 20


class KeptCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question to a model, repairs and retries included.

    Attributes:
        role: who asked; purpose: what for.
        item: the question or case that it was asked for, as in the items of the run; else what tells its answers apart.
        player: to whom the item was put: the method, or the doctor or the team who saw the case.
        cost: in the currency of the prices; None where there are none.
        seconds: until it was answered, waiting included.
        requests: that were made for it.
        error: the name of the failure; "" where it was answered.
        replayed: the answer comes from a journal, and cost nothing now; tokens, cost and seconds are those of then.
    """

    role: str
    model: str
    purpose: str = ""
    item: str = ""
    player: str = ""
    tokens_in: int = 0
    cached: int = 0
    tokens_out: int = 0
    cost: float | None = None
    seconds: float = 0.0
    requests: int = 1
    error: str = ""
    replayed: bool = False


AskedFor = Callable[[KeptCall], tuple[str, str, str]]
"""For which row of the results a call was made, by its model, set ("" of whatever set) and item."""


def asked_by_player(call: KeptCall) -> tuple[str, str, str]:
    """Returns the row of the player, of whatever set."""
    return call.player, "", call.item


class KeptCalls:
    """The calls of a run in the order in which they ended, in a file that goes away where nobody writes them."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - it is closed with this
        self._encode = msgspec.json.Encoder().encode
        weakref.finalize(self, self._file.close)
        self.n = 0

    def add(self, call: KeptCall) -> None:
        """Keeps a call."""
        self._file.write(self._encode(call) + b"\n")
        self.n += 1

    def __iter__(self) -> Iterator[KeptCall]:
        self._file.seek(0)
        try:
            for line in self._file:
                yield msgspec.json.decode(line, type=KeptCall)
        finally:
            self._file.seek(0, 2)

    def write(self, path: Path) -> None:
        """Writes them as lines of JSON.

        Raises:
            BadInput: the file cannot be written.
        """
        with whole(path) as temporary, temporary.open("wb") as out:
            self._file.seek(0)
            shutil.copyfileobj(self._file, out)
            self._file.seek(0, 2)
