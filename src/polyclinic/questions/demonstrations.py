"""Which solved questions are shown to a model before its own, and how."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from polyclinic.cases.presentation import Question
from polyclinic.errors import UserError
from polyclinic.language.language import CHINESE
from polyclinic.questions.examples import Example, kind_of, shipped_examples
from polyclinic.questions.formats import write_answer
from polyclinic.questions.shown import show

_RUN = re.compile(rf"(?P<han>[{CHINESE}]+)|[^\W{CHINESE}]+")


def asks_the_same(one: Question, other: Question) -> bool:
    """Tells whether two questions have the same stem, case and signs aside, and no contexts that differ."""
    contexts = {_folded(one.context), _folded(other.context)} - {""}
    return _folded(one.stem) == _folded(other.stem) and len(contexts) < 2


def examples_for(question: Question, examples: Iterable[Example] | None = None) -> list[Example]:
    """Returns the examples that may be shown before a question: an example that asks the same is left out.

    By default they are the shipped ones of its language and kind.
    """
    if examples is None:
        examples = shipped_examples(question.language, kind_of(question))
    return [example for example in examples if not asks_the_same(example.question, question)]


def turns(examples: Iterable[Example], *, reasoning: bool) -> list[tuple[str, str]]:
    """Returns examples as a conversation: each question from the user, each answer, or reasoning and answer, after it.

    Raises:
        UserError: an example has no reasoning, and it is to be shown.
    """
    said: list[tuple[str, str]] = []
    for example in examples:
        answer = write_answer(example.key, language=example.question.language)
        if reasoning:
            if not example.reasoning.strip():
                raise UserError(f"example {example.question.id!r} has no reasoning; an example that reasons needs some")
            answer = f"{example.reasoning.strip()}\n\n{answer}"
        said += [("user", show(example.question)), ("assistant", answer)]
    return said


class Neighbours:
    """Finds the examples most like a question: by the cosine of TF-IDF vectors over the words of context and stem.

    A word is a run of letters or digits; of Chinese characters, every two that stand side by side.
    """

    def __init__(self, examples: Sequence[Example]) -> None:
        self._examples = tuple(examples)
        counted = [Counter(_words(example.question)) for example in examples]
        within = Counter(word for words in counted for word in words)
        # A word that all examples hold counts for little, but for something: one example has no rarer words.
        self._rarity = {word: float(np.log((len(counted) + 1) / (number + 0.5))) for word, number in within.items()}
        found: dict[str, list[tuple[int, float]]] = {word: [] for word in within}
        for place, words in enumerate(counted):
            for word, weight in self._vector(words).items():
                found[word].append((place, weight))
        # Word to the places of the examples that hold it, and its weight in each.
        self._places = {word: np.array([place for place, _ in pairs]) for word, pairs in found.items()}
        self._weights = {word: np.array([weight for _, weight in pairs]) for word, pairs in found.items()}

    def nearest(self, question: Question, number: int) -> list[Example]:
        """Returns the examples most like a question, the most like first; of equals, the one that stands first.

        An example that asks the same is left out.
        """
        likeness: NDArray[np.float64] = np.zeros(len(self._examples))
        for word, weight in self._vector(Counter(_words(question))).items():
            likeness[self._places[word]] += weight * self._weights[word]
        order = (self._examples[place] for place in np.argsort(-likeness, kind="stable"))
        return list(itertools.islice((e for e in order if not asks_the_same(e.question, question)), number))

    def _vector(self, words: Counter[str]) -> dict[str, float]:
        """Returns a vector of length 1, without the words that no example holds."""
        weights = {word: (1 + np.log(n)) * self._rarity[word] for word, n in words.items() if word in self._rarity}
        length = np.sqrt(sum(weight**2 for weight in weights.values()))
        return {word: float(weight / length) for word, weight in weights.items()}


def _words(question: Question) -> Iterator[str]:
    for run in _RUN.finditer(f"{question.context} {question.stem}".casefold()):
        text = run[0]
        if run["han"] and len(text) > 1:
            yield from (text[place : place + 2] for place in range(len(text) - 1))
        else:
            yield text


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
