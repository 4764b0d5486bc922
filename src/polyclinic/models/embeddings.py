"""Vectors of texts from an OpenAI-compatible `/embeddings`: batched, counted in the ledger, and kept in the journal."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from polyclinic.errors import Broken, EndpointError
from polyclinic.models import wire
from polyclinic.models.direct import Direct
from polyclinic.models.journal import AskedQuestion, Journal, Key, StoredReply
from polyclinic.models.ledger import Ledger
from polyclinic.models.model import Usage
from polyclinic.models.retry import Fault
from polyclinic.tasks import run_all

BATCH = 32
"""Texts in one request."""

PURPOSE = "embedding"

_encode = msgspec.json.Encoder().encode


class EmbeddingModel(Protocol):
    """Makes vectors of texts."""

    @property
    def name(self) -> str:
        """Names the model in results and journals."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns a row for each text, as the model gives it.

        Raises:
            EndpointError: no answer came, or one with other numbers than those of the texts.
            WrongKey: the endpoint wants another key.
            BudgetSpent: the run has cost what it may cost.
        """


class Embeddings:
    """A model behind an endpoint that makes vectors. The provider is open, and stays its owner's.

    Args:
        provider: how the endpoint is reached; its limit holds for vectors as for answers.
        ledger: where the cost is written down, under `role`.
        journal: where the vectors are kept; an equal batch of the same `episode` is not asked for twice.
        batch: texts in one request.
    """

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
        self._provider, self._ledger, self._journal = provider, ledger, journal
        self._role, self._episode, self._batch = role, episode, batch

    @property
    def name(self) -> str:
        """Names the model behind."""
        return self._provider.name

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns a row for each text; batches are asked for at once, as far as the limit allows."""
        batches = [tuple(texts[start : start + self._batch]) for start in range(0, len(texts), self._batch)]
        keys = [None if self._journal is None else self._journal.key(self._episode, self._hash(one)) for one in batches]
        asked = [functools.partial(self._answer, one, key) for one, key in zip(batches, keys, strict=True)]
        rows = await run_all(asked)
        if len({part.shape[1] for part in rows}) > 1:
            raise Broken(f"{self.name}: vectors of different lengths for texts of one kind")
        return np.concatenate(rows) if rows else np.zeros((0, 0), dtype=np.float32)

    def _hash(self, texts: tuple[str, ...]) -> bytes:
        return hashlib.blake2b(_encode((self.name, PURPOSE, texts)), digest_size=16).digest()

    async def _answer(self, texts: tuple[str, ...], key: Key | None) -> NDArray[np.float32]:
        """Takes the vectors from the journal, or asks for them and stores them."""
        stored = None if self._journal is None or key is None else await self._journal.find(AskedQuestion(key, PURPOSE))
        if stored is not None:
            vectors, usage, attempts = _unpack(stored.text), stored.usage, stored.attempts
        else:
            vectors, usage, attempts = await self._ask(texts)
            if self._journal is not None and key is not None:
                kept = StoredReply(_pack(vectors), usage=usage, attempts=attempts)
                with self._provider.limit.storing():
                    first = await self._journal.store(AskedQuestion(key, PURPOSE), kept)
                vectors = vectors if first is None else _unpack(first.text)
        if self._ledger is not None and stored is not None:
            self._ledger.add(self._role, PURPOSE, usage, attempts=attempts, replayed=True)
        return vectors

    async def _ask(self, texts: tuple[str, ...]) -> tuple[NDArray[np.float32], Usage, int]:
        """Asks as far as the ledger lets in, and writes there what that cost."""
        if self._ledger is None:
            return await self._post(texts)
        line = await self._ledger.enter(self._provider.limit)
        try:
            vectors, usage, attempts = await self._post(texts)
            self._ledger.spend(usage, attempts=attempts)
            self._ledger.add(self._role, PURPOSE, usage, attempts=attempts)
        finally:
            self._ledger.leave(line, self._provider.limit)
        return vectors, usage, attempts

    async def _post(self, texts: tuple[str, ...]) -> tuple[NDArray[np.float32], Usage, int]:
        body = {"model": self._provider.model, "input": texts, "encoding_format": "float"}
        try:
            answer, attempts = await self._provider.post("embeddings", body, lambda raw: _read(raw, len(texts)))
        except EndpointError as failure:
            if self._ledger is not None:
                self._ledger.spend(None, attempts=failure.attempts, failed=True)
                self._ledger.add(self._role, PURPOSE, None, attempts=failure.attempts, failed=True)
            raise
        usage = answer.usage if self._provider.price is None else self._provider.price.of(answer.usage)
        return answer.vectors, usage, attempts


class _EmbeddingTokens(msgspec.Struct):
    prompt_tokens: int | None = None
    cost: float | None = None


class _OneEmbedding(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _EmbeddingsBody(msgspec.Struct):
    data: list[_OneEmbedding]
    usage: _EmbeddingTokens | None = None


class _EmbeddingsAnswer(NamedTuple):
    vectors: NDArray[np.float32]
    usage: Usage


_BODY = msgspec.json.Decoder(_EmbeddingsBody)


def _read(raw: bytes, wanted: int) -> _EmbeddingsAnswer | Fault:
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
    return _EmbeddingsAnswer(vectors, Usage(tokens_in=said.prompt_tokens or 0, cost=said.cost))


def _pack(vectors: NDArray[np.float32]) -> str:
    """Returns vectors as text: how many there are, and their numbers in base 64."""
    return f"{len(vectors)}:{base64.b64encode(vectors.astype('<f4').tobytes()).decode()}"


def _unpack(text: str) -> NDArray[np.float32]:
    rows, _, numbers = text.partition(":")
    flat = np.frombuffer(base64.b64decode(numbers), dtype="<f4").astype(np.float32)
    return flat.reshape(int(rows), -1)
