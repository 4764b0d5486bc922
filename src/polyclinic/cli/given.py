"""The words of the command line as they were given, also those that say what would be so anyway."""

from __future__ import annotations

from contextvars import ContextVar

GIVEN: ContextVar[tuple[str, ...]] = ContextVar("GIVEN", default=())
"""The words."""


def is_given(option: str) -> bool:
    """Whether an option such as `--doctor` is given."""
    return any(word == option or word.startswith(f"{option}=") for word in GIVEN.get())


def said() -> list[tuple[str, str]]:
    """Returns the options that are given with a value, each with it."""
    words, found = GIVEN.get(), []
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option.startswith("--") and (equals or at + 1 < len(words)):
            found.append((option, value if equals else words[at + 1]))
    return found
