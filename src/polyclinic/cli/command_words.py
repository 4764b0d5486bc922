"""The words of the command that runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

BATCHES = "--batch-api"
"""Asks by batches; see `polyclinic.cli.batching`."""

OF_THIS_COMMAND = (
    "--api-key-env", "--concurrency", "--requests-per-minute", "--tokens-per-minute", "--max-tokens", "--max-cost",
    "--price", "--timeout", "--wait-for-server",
)  # fmt: skip
"""Options that hold for one command alone, and not for what goes on with its work unless they are given again."""

WORDS: ContextVar[Sequence[str]] = ContextVar("words", default=())


@contextmanager
def words_of(words: Sequence[str]) -> Iterator[None]:
    """While it lasts, these are the words of the command."""
    before = WORDS.set(tuple(words))
    try:
        yield
    finally:
        WORDS.reset(before)


def is_given(option: str) -> bool:
    """Whether an option such as `--doctor` is given, also where it says what would be so anyway."""
    return any(word == option or word.startswith(f"{option}=") for word in WORDS.get())


def said() -> list[tuple[str, str]]:
    """Returns the options that are given with a value, each with it."""
    words, found = WORDS.get(), []
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option.startswith("--") and (equals or at + 1 < len(words)):
            found.append((option, value if equals else words[at + 1]))
    return found


def said_again() -> str:
    """Returns, to stand behind a command that goes on with this one's work, the options that it has to give again."""
    return "".join(f" {option} {shlex.quote(value)}" for option, value in said() if option in OF_THIS_COMMAND)


def value_of(words: Sequence[str], option: str) -> str | None:
    """Returns the value that an option is given, the last where it is given more than once."""
    found = None
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == option and (equals or at + 1 < len(words)):
            found = value if equals else words[at + 1]
    return found


def without(words: Sequence[str], *options: str, switches: Sequence[str] = ()) -> list[str]:
    """Returns the words without some options, each with its value, and without some that have none."""
    left, passes = [], False
    for word in words:
        if passes:
            passes = False
        elif word in options:
            passes = True
        elif word.partition("=")[0] not in options and word not in switches:
            left.append(word)
    return left
