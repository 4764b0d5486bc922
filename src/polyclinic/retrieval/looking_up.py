"""Looking something up for somebody: the passages that fit, cut to what a prompt can hold."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from polyclinic.cases.presentation import Question, ShownPassage
from polyclinic.errors import UserError
from polyclinic.language.content_words import terms
from polyclinic.language.language import is_chinese
from polyclinic.retrieval.retriever import By, Retriever

PASSAGES = 3
"""Passages for a question, as in Tree-of-Reasoning."""

MOST = 1_500
"""Characters of a passage that are shown, 600 of a Chinese one; the rest is left out, and marked by three dots."""

_MOST_CHINESE = 600
_QUERY = 4_000
"""Characters that are looked for; the last ones, where there are more."""


_LARGEST = 50


@dataclass(frozen=True, kw_only=True)
class LibraryOptions:
    """What things are looked up in; a value that cannot be used is a `UserError`."""

    # The command line makes its options from these, and says what stands below each.

    corpus: str | None = None
    """Show passages that fit: the name of a corpus (see polyclinic corpus list), or the path of its folder."""
    by: By = "bm25"
    """How they are found: by words, by meaning, or by both."""
    passages: int | None = None
    """How many are shown; 3 where left out."""

    def __post_init__(self) -> None:
        if self.passages is not None and not 1 <= self.passages <= _LARGEST:
            raise UserError(f"--passages {self.passages}; allowed: 1 to {_LARGEST}")
        idle = {"--by": self.by != "bm25", "--passages": self.passages is not None}
        if self.corpus is None and (given := [option for option, other in idle.items() if other]):
            raise UserError(f"{given[0]} has no effect without a corpus; it needs --corpus NAME, or leave it out")


@dataclass(frozen=True)
class LookingUp:
    """A retriever, and how many passages are taken from it for each question."""

    retriever: Retriever
    passages: int = PASSAGES

    async def references(self, query: str) -> tuple[ShownPassage, ...]:
        """Returns what fits a query best, the best first; errors are those of `Retriever.search`."""
        found = await self.retriever.search(_content(query)[-_QUERY:], self.passages)
        return tuple(
            ShownPassage(source=one.source, title=one.title, text=_cut(one.text), score=one.score) for one in found
        )

    async def question(self, question: Question) -> Question:
        """Returns a question with what was looked up for its stem; its options are not looked for, as in MedRAG."""
        return msgspec.structs.replace(question, references=await self.references(question.stem))


def _content(query: str) -> str:
    """Returns what people said without the words that say nothing; of it there is much, and few passages to fit it."""
    return query if is_chinese(query) else " ".join(word for word in query.split() if terms(word, "en"))


def _cut(text: str) -> str:
    text = " ".join(text.split())
    most = _MOST_CHINESE if is_chinese(text) else MOST
    if len(text) <= most:
        return text
    kept = text[:most]
    return f"{kept if is_chinese(kept) else kept.rpartition(' ')[0] or kept} ..."
