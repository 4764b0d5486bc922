"""Answers that several share: who asks a model what another has asked it gets the same answer, and no call is made.

Teams with the same doctors, of which one is an ablation of the other, are asked the same until they part. What one of
them asks twice is asked twice: the second time it gets the second answer.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, defaultdict
from typing import Unpack

import msgspec

from polyclinic.models.model import Answer, AskOptions, Messages, Model, Reply, Wrapper
from polyclinic.models.schema import form_of
from polyclinic.models.tally import CallTally, TakenCall

Key = tuple[str, bytes, int]


class SharedAnswers:
    """What was answered to whom; what failed is asked anew."""

    def __init__(self) -> None:
        self.replies: dict[Key, tuple[Reply, TakenCall]] = {}
        self.asking: defaultdict[Key, asyncio.Lock] = defaultdict(asyncio.Lock)

    def of(self, model: Model, tally: CallTally | None = None) -> Sharing:
        """Returns a model for one of those who share, in whose tally each answer stands that it gets."""
        return Sharing(model, self, tally or CallTally())


class Sharing(Wrapper):
    """A model whose answers others have as well."""

    def __init__(self, model: Model, shared: SharedAnswers, tally: CallTally) -> None:
        super().__init__(model)
        self._shared, self._tally, self._tallied = shared, tally, tally.of(model)
        self._asked: Counter[bytes] = Counter()

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks what nobody has asked, and fails as `Model.ask`."""
        form = "" if answer is None else form_of(answer).text
        told = msgspec.json.encode([messages, form, str(options.get("purpose", "")), options.get("temperature")])
        digest = hashlib.blake2b(told, digest_size=16).digest()
        key = (self.name, digest, self._asked[digest])
        self._asked[digest] += 1
        async with self._shared.asking[key]:
            if key not in self._shared.replies:
                self._shared.replies[key] = await self._tallied.ask_for_others(messages, answer=answer, **options)
            reply, call = self._shared.replies[key]
            self._tally.take([call])
            return reply
