"""What all workers share, held by the command: the journal, the budget and the sums of what was asked."""

from __future__ import annotations

import asyncio

from polyclinic.models.journal import Journal, Keeper, Key
from polyclinic.models.ledger import Ledger
from polyclinic.parallel.messages import Admit, Counted, Find, Left, Put, Spent


class Holder:
    """Does for workers what only one process may do.

    An answer is in the journal before the worker uses it. A question is admitted by the one budget. Each call counts
    once in the sums, also if its item is computed again because a worker died.
    """

    def __init__(self, journal: Journal | None, ledger: Ledger) -> None:
        self._journal, self._ledger = journal, ledger
        self._stored: dict[Key, asyncio.Task[bytes | None] | None] = {}
        self._counted: set[int] = set()

    @property
    def goes_on(self) -> bool:
        """Whether the journal may have answers."""
        return self._journal is not None and self._journal.goes_on

    def reread(self) -> None:
        """Has the journal answer from what was stored since it was opened."""
        if self._journal is not None and (self._journal.stored or self._stored):
            self._keeper.reread()

    async def answer(self, what: Find | Put | Admit) -> object:
        """Answers a question of a worker.

        Raises:
            BudgetSpent: it asks whether a further question is admitted, and none is.
            BadInput: the journal cannot be read or written.
        """
        match what:
            case Find(keys):
                return await self._keeper.find(keys)
            case Put():
                return await self._put(what)
            case Admit():
                await self._ledger.admit()
                return None

    def take(self, what: Counted | Spent | Left) -> None:
        """Takes note of what a worker reports."""
        match what:
            case Counted():
                self._count(what)
            case Spent(usage, attempts, failed):
                self._ledger.spend(usage, attempts=attempts, failed=failed)
            case Left():
                self._ledger.release()

    async def _put(self, what: Put) -> bytes | None:
        if what.key not in self._stored:
            self._stored[what.key] = storing = asyncio.ensure_future(self._keeper.put(what.rows))
            stood = await asyncio.shield(storing)
            self._stored[what.key] = None
            return stood
        # Two workers were asked the same at once, such as equal questions to a judge: the first answer holds.
        if (first := self._stored[what.key]) is not None:
            await asyncio.wait([first])
        self._keeper.reread()
        found = await self._keeper.find([what.key])
        return None if found is None else found[1]

    def _count(self, what: Counted) -> None:
        call, key = what.call, hash(what.key)
        if what.key is not None:
            if call.replayed and key in self._counted:
                return  # asked by a worker that died before its item was over
            self._counted.add(key)
        self._ledger.add(
            call.role,
            call.purpose,
            what.usage,
            attempts=call.requests,
            failed=bool(call.error),
            replayed=call.replayed,
            of=call.model,
        )
        self._ledger.asked_of.add((call.role, call.model))
        if what.server:
            self._ledger.add_at(call.model, what.server, what.usage, call.requests)
        if self._ledger.calls is not None:
            self._ledger.calls.add(call)

    @property
    def _keeper(self) -> Keeper:
        if self._journal is None:
            raise RuntimeError("the work has no journal")
        return self._journal.keeper
