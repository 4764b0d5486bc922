"""What all workers share, held by the command: the journal, the budget and the sums of what was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from polyclinic.models.journal import Journal, Key
from polyclinic.models.ledger import KeptCall, Ledger
from polyclinic.models.model import Usage
from polyclinic.models.prompts import PromptRow


class Holder:
    """Does for workers what only one process may do: stores answers before they are used, admits and counts calls."""

    def __init__(self, journal: Journal | None, ledger: Ledger) -> None:
        self._journal, self._ledger = journal, ledger
        self.admit, self.release = ledger.admit, ledger.release
        self._stored: dict[Key, asyncio.Task[bytes | None] | None] = {}
        self._counted: set[int] = set()

    @property
    def goes_on(self) -> bool:
        """Whether the journal may have answers."""
        return self._journal is not None and self._journal.goes_on

    def reread(self) -> None:
        """Has the journal answer from what was stored since it was opened."""
        if self._journal is not None and (self._journal.stored or self._stored):
            self._journal.reread()

    async def find(self, keys: Sequence[Key]) -> tuple[Key, bytes] | None:
        """Returns the first of the keys that was answered, with what is stored."""
        return await self._held.look_up(keys)

    async def put(self, key: Key, rows: Sequence[PromptRow]) -> bytes | None:
        """Stores an answer; returns the one that holds in its place, None where it is this one."""
        if key not in self._stored:
            self._stored[key] = storing = asyncio.ensure_future(self._held.put(rows))
            stood = await asyncio.shield(storing)
            self._stored[key] = None
            return stood
        # Two workers were asked the same at once, such as equal questions to a judge: the first answer holds.
        if (first := self._stored[key]) is not None:
            await asyncio.wait([first])
        self._held.reread()
        found = await self._held.look_up([key])
        return None if found is None else found[1]

    def spend(self, usage: Usage | None, attempts: int, failed: bool) -> None:
        """Holds what an answer cost against the budget."""
        self._ledger.spend(usage, attempts=attempts, failed=failed)

    def count(self, call: KeptCall, key: Key | None) -> None:
        """Adds one call to the sums of the run; `key` is that of its answer in the journal, None if it has none."""
        if key is not None:
            if call.replayed and hash(key) in self._counted:
                return  # asked by a worker that died before its item was over
            self._counted.add(hash(key))
        self._ledger.asked_of.add((call.role, call.model))
        self._ledger.add(call)

    @property
    def _held(self) -> Journal:
        if self._journal is None:
            raise RuntimeError("the work has no journal")
        return self._journal
