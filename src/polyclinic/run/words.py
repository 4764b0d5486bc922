"""The words of the command that runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise

OF_THIS_COMMAND = (
    "--api-key-env", "--concurrency", "--requests-per-minute", "--tokens-per-minute", "--token-budget", "--cost-budget",
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
    words = WORDS.get()
    return any(word == option or word.startswith(f"{option}=") for word in words) or _set(words, option) is not None


def _set(words: Sequence[str], option: str) -> str | None:
    """Returns the value that `--set SECTION.KEY=VALUE` gives, the last of them."""
    found = None
    for before, word in pairwise(["", *words]):
        key, equals, value = word.removeprefix("--set=").partition("=")
        if (before == "--set" or word.startswith("--set=")) and equals and key.rpartition(".")[2] == option[2:]:
            found = value
    return found


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
    return "".join(
        f" {option} {shlex.quote(value)}"
        for option, value in said()
        if (f"--{value.partition('=')[0].rpartition('.')[2]}" if option == "--set" else option) in OF_THIS_COMMAND
    )


def value_of(words: Sequence[str], option: str) -> str | None:
    """Returns the value that an option is given, the last where it is given more than once."""
    found = _set(words, option)
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == option and (equals or at + 1 < len(words)):
            found = value if equals else words[at + 1]
    return found
