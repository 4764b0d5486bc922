"""Vectors of texts from an OpenAI-compatible `/embeddings`: batched, counted in the ledger, and kept in the journal."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Sequence
from functools import partial
from typing import Unpack

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import Broken
from polyclinic.models import wire
from polyclinic.models.direct import Direct
from polyclinic.models.journal import Journal, Journalling
from polyclinic.models.ledger import Budget, Counting, Ledger
from polyclinic.models.model import Answer, AskOptions, Messages, Reply, Usage
from polyclinic.models.pipeline import Hook, with_hooks
from polyclinic.models.retry import Fault
from polyclinic.tasks import run_all

BATCH = 32  # texts in one request

PURPOSE = "embedding"


class Embeddings:
    """A model behind an endpoint that makes vectors. The provider is open, and stays its owner's."""

    def __init__(
        self,
        provider: Direct,
        *,
        ledger: Ledger | None = None,
        journal: Journal | None = None,
        role: str = "retrieval",
        episode: str = "retrieval",
        batch: int = BATCH,
    ) -> None:
        self._provider, self._batch = provider, batch
        self._asker = {"role": role, "episode": episode}
        self._hooks: list[Hook] = [] if journal is None else [Journalling(journal)]
        self._hooks += [] if ledger is None else [Counting(ledger), Budget(ledger)]

    @property
    def name(self) -> str:
        """Names the model behind."""
        return self._provider.name

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns a row for each text; batches are asked for at once, as far as the limit allows."""
        batches = [tuple(texts[start : start + self._batch]) for start in range(0, len(texts), self._batch)]
        replies = await run_all(partial(self._ask, batch) for batch in batches)
        rows = [_unpacked(reply.text) for reply in replies]
        if len({part.shape[1] for part in rows}) > 1:
            raise Broken(f"{self.name}: vectors of different lengths for texts of one kind")
        return np.concatenate(rows) if rows else np.zeros((0, 0), dtype=np.float32)

    async def _ask(self, texts: tuple[str, ...]) -> Reply:
        model = with_hooks(_BatchOfTexts(self._provider, texts), *self._hooks, **self._asker)
        digest = hashlib.blake2b(msgspec.json.encode(texts), digest_size=16).hexdigest()
        return await model.ask(f"vectors of {len(texts)} texts: {digest}", purpose=PURPOSE)


class _BatchOfTexts:
    """The model, asked for the vectors of some texts, which a question only names: no journal keeps them."""

    def __init__(self, provider: Direct, texts: Sequence[str]) -> None:
        self.name, self.limit, self._provider, self._texts = provider.name, provider.limit, provider, texts

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Returns the vectors as text."""
        del messages, answer, options
        body = {"model": self._provider.model, "input": self._texts, "encoding_format": "float"}
        began = time.monotonic()
        (vectors, usage), attempts = await self._provider.post(
            "embeddings", body, lambda raw: _read(raw, len(self._texts))
        )
        usage = usage if self._provider.price is None else self._provider.price.of(usage)
        # How many there are, and their numbers in base 64.
        text = f"{len(vectors)}:{base64.b64encode(vectors.astype('<f4').tobytes()).decode()}"
        return Reply(text, None, usage, time.monotonic() - began, attempts)


class _EmbeddingTokens(msgspec.Struct):
    prompt_tokens: int | None = None
    cost: float | None = None


class _OneEmbedding(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _EmbeddingsBody(msgspec.Struct):
    data: list[_OneEmbedding]
    usage: _EmbeddingTokens | None = None


_BODY = msgspec.json.Decoder(_EmbeddingsBody)


def _read(raw: bytes, wanted: int) -> tuple[NDArray[np.float32], Usage] | Fault:
    """Reads the body of an answer with status 200: one vector for each text, in their order."""
    try:
        body = _BODY.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # Some servers report an error with status 200.
        return Fault(Broken, f"no embeddings ({wire.server_says(raw)[0] or error})")
    places = [place if one.index is None else one.index for place, one in enumerate(body.data)]
    if sorted(places) != list(range(wanted)):
        return Fault(Broken, f"{len(body.data)} vectors for {wanted} texts, or not one for each")
    rows = [one.embedding for _, one in sorted(zip(places, body.data, strict=True), key=lambda pair: pair[0])]
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        return Fault(Broken, "vectors without numbers, or of different lengths")
    vectors = np.asarray(rows, dtype=np.float32)
    if not np.isfinite(vectors).all():
        return Fault(Broken, "vectors of numbers that are none")
    said = body.usage or _EmbeddingTokens()
    return vectors, Usage(tokens_in=said.prompt_tokens or 0, cost=said.cost)


def _unpacked(text: str) -> NDArray[np.float32]:
    rows, _, numbers = text.partition(":")
    flat = np.frombuffer(base64.b64decode(numbers), dtype="<f4").astype(np.float32)
    return flat.reshape(int(rows), -1)
