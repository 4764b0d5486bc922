"""Vectors for the endpoint of tests: texts that share words lie near one another, and nothing else is meant."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import msgspec

DIMENSIONS = 64


def embedded(body: dict[str, Any], seed: int) -> bytes:
    """Returns the body of an answer to `POST /v1/embeddings`; another seed gives other vectors, as another model."""
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    data = [{"object": "embedding", "index": n, "embedding": _vector(text, seed)} for n, text in enumerate(texts)]
    tokens = sum(len(text.split()) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    # The last first: what counts is the index.
    return msgspec.json.encode({"object": "list", "data": data[::-1], "model": body["model"], "usage": usage})


def _vector(text: str, seed: int) -> Sequence[float]:
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"[^\W\u3400-\u9fff]+|[\u3400-\u9fff]", text.casefold()):
        digest = hashlib.blake2b(f"{seed} {word}".encode(), digest_size=DIMENSIONS).digest()
        vector = [sum(pair) for pair in zip(vector, (byte - 127.5 for byte in digest), strict=True)]
    return vector
