"""How much of what a server is sent it has been sent before: what a prefix cache has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

BLOCK = 4
"""Characters; a prefix is repeated in whole blocks, as engines cache blocks of tokens."""


class PromptPrefixes:
    """Prompts that were sent so far, by their beginnings.

    Attributes:
        characters: of all prompts.
        repeated: those of them in a prefix that an earlier prompt had too.
    """

    def __init__(self) -> None:
        self.characters = self.repeated = 0
        self._seen: set[int] = set()

    def add(self, messages: Iterable[Mapping[str, Any]]) -> float:
        """Takes note of a prompt, as the wire has it; returns which share of it repeats a prefix."""
        text = "\n".join(f"{message['role']}\n{message.get('content')}" for message in messages)
        before, repeated, place = len(self._seen), 0, 0
        for start in range(0, len(text), BLOCK):
            # A block counts with all that stands before it.
            place = hash((place, text[start : start + BLOCK]))
            if place in self._seen and len(self._seen) == before:
                repeated = min(start + BLOCK, len(text))
            self._seen.add(place)
        self.characters += len(text)
        self.repeated += repeated
        return repeated / len(text) if text else 0.0

    @property
    def share(self) -> float:
        """The share of all characters that repeat a prefix; 0 before there are any."""
        return self.repeated / self.characters if self.characters else 0.0
