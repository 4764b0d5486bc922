"""The words of the command that runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

WORDS: ContextVar[Sequence[str]] = ContextVar("words", default=())


@contextmanager
def words_of(words: Sequence[str]) -> Iterator[None]:
    """While it lasts, these are the words of the command."""
    before = WORDS.set(tuple(words))
    try:
        yield
    finally:
        WORDS.reset(before)
