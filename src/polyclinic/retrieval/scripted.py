"""A retriever for tests: it finds what it was told to find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyclinic.retrieval.retriever import Passage


class ScriptedRetriever:
    """Finds the passages that stand under the first word or phrase that the query holds, capitals or not.

        retriever = ScriptedRetriever({"wheeze": [Passage(id="1", score=1.0, text="Asthma wheezes.")]})

    Attributes:
        queries: what was looked up so far, in order.
    """

    def __init__(self, found: Mapping[str, Sequence[Passage]]) -> None:
        self._found = {phrase.casefold(): tuple(passages) for phrase, passages in found.items()}
        self.queries: list[str] = []

    async def search(self, query: str, k: int) -> tuple[Passage, ...]:
        """Returns what was scripted for the query; see `Retriever.search`."""
        self.queries.append(query)
        folded = query.casefold()
        return next((passages[:k] for phrase, passages in self._found.items() if phrase in folded), ())
