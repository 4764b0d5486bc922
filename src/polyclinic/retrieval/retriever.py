"""Retrievers: their interface, a scripted one for tests, and looking up passages for a prompt."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, Protocol

import msgspec

from polyclinic.cases.presentation import Question, ShownPassage
from polyclinic.errors import MissingExtra, UserError
from polyclinic.language.content_words import terms
from polyclinic.language.language import is_chinese
from polyclinic.settings import setting

By = Literal["bm25", "dense", "hybrid"]  # `bm25`: by words; `dense`: by meaning; `hybrid`: both rankings made one


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a corpus that was found."""

    id: str  # names it in its corpus
    # How well it fits the query. Scores of one search can be compared with one another, and with no others.
    score: float
    title: str = ""
    text: str
    corpus: str = ""  # the name of the corpus

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


PASSAGES = 3  # Passages for a question, as in Tree-of-Reasoning

MOST = 1_500
"""Characters of a passage that are shown, 600 of a Chinese one; the rest is left out, and marked by three dots."""

_MOST_CHINESE = 600
_QUERY = 4_000  # Characters that are looked for; the last ones, where there are more


_LARGEST = 50


@dataclass(frozen=True, kw_only=True)
class LibraryOptions:
    """What things are looked up in; a value that cannot be used is a `UserError`."""

    # The command line makes its options from these, and says what stands below each.

    corpus: str | None = None
    """Corpus of passages to show: its name ('polyclinic corpus search' lists them), or its folder."""
    by: Annotated[By, setting("retrieval")] = "bm25"
    """How they are found: by words, by meaning, or by both."""
    passages: Annotated[int | None, setting("retrieval")] = None
    """How many are shown; 3 where left out."""

    def __post_init__(self) -> None:
        if self.passages is not None and not 1 <= self.passages <= _LARGEST:
            raise UserError(f"retrieval.passages {self.passages}; allowed: 1 to {_LARGEST}")
        idle = {"retrieval.by": self.by != "bm25", "retrieval.passages": self.passages is not None}
        if self.corpus is None and (given := [option for option, other in idle.items() if other]):
            raise UserError(f"{given[0]} has no effect without a corpus; it needs --corpus NAME, or leave it out")


@dataclass(frozen=True)
class LookingUp:
    """A retriever, and how many passages are taken from it for each question."""

    retriever: Retriever
    passages: int = PASSAGES

    async def references(self, query: str) -> tuple[ShownPassage, ...]:
        """Returns what fits a query best, the best first; errors are those of `Retriever.search`."""
        # Of what people said there is much, and few passages to fit it: words that say nothing are left out.
        if not is_chinese(query):
            query = " ".join(word for word in query.split() if terms(word, "en"))
        found = await self.retriever.search(query[-_QUERY:], self.passages)
        return tuple(
            ShownPassage(source=one.source, title=one.title, text=_cut(one.text), score=one.score) for one in found
        )

    async def question(self, question: Question) -> Question:
        """Returns a question with what was looked up for its stem; its options are not looked for, as in MedRAG."""
        return msgspec.structs.replace(question, references=await self.references(question.stem))


def looked_up_once(look_up: Callable[[Question], Awaitable[Question]]) -> Callable[[Question], Awaitable[Question]]:
    """Returns what looks something up for each question once, however many methods ask for it."""
    found: dict[str, Question] = {}
    locks: dict[str, asyncio.Lock] = {}

    async def question(asked: Question) -> Question:
        async with locks.setdefault(asked.id, asyncio.Lock()):
            if asked.id not in found:
                found[asked.id] = await look_up(asked)
        return found[asked.id]

    return question


def _cut(text: str) -> str:
    text = " ".join(text.split())
    most = _MOST_CHINESE if is_chinese(text) else MOST
    if len(text) <= most:
        return text
    kept = text[:most]
    return f"{kept if is_chinese(kept) else kept.rpartition(' ')[0] or kept} ..."


@lru_cache(maxsize=8)
def library(module: str, what: str, *, extra: str = "retrieval") -> Any:
    """Returns a module; `what` says what it is for, and `extra` with which of ours it comes."""
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise MissingExtra(f"{name}, which {what}, is not installed: pip install 'polyclinic[{extra}]'") from None
