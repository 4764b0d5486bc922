"""What whoever looks something up sees of a corpus."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

By = Literal["bm25", "dense", "hybrid"]
"""`bm25`: by words; `dense`: by meaning; `hybrid`: both rankings made one."""


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a corpus that was found.

    Attributes:
        id: names it in its corpus.
        score: how well it fits the query. Scores of one search can be compared with one another, and with no others.
        corpus: the name of the corpus.
    """

    id: str
    score: float
    title: str = ""
    text: str
    corpus: str = ""

    @property
    def source(self) -> str:
        """Says where it stands, as `CORPUS#ID`."""
        return f"{self.corpus}#{self.id}"


class Retriever(Protocol):
    """Finds passages."""

    async def search(self, query: str, k: int) -> tuple[Passage, ...]:
        """Returns the passages that fit a query best, at most `k` of them, the best first.

        The same query on the same corpus finds the same passages in the same order; a query that nothing fits finds
        none.

        Raises:
            EndpointError: the query is compared by meaning, and the endpoint that knows it gave no answer.
        """
