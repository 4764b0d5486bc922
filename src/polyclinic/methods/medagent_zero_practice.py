"""MedAgent-Zero: a doctor who learns from its own patients, with a library of records and a base of experience.

Paper: Li et al., Agent Hospital, arXiv:2405.02957, §4.3 and §4.4.
Defaults: 3 records and 3 principles come to mind, as the paper; the server's temperature.

Cost: 1 call for an answer, and 1 more in an earlier round trip where there is experience, whose helpfulness is judged.
A wrong answer costs 3 more, in 3 round trips: the reflection, the same question with its principle, and, where that is
right, the principle in general terms.

Where we differ: all principles that came to mind are judged in one call, not each in its own. The most like record
stands last, next to the question; the paper does not say.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.answering.calls import Calls
from polyclinic.cases.presentation import Question
from polyclinic.errors import ModelError, Rejected
from polyclinic.memory.entries import Lesson
from polyclinic.memory.recall import CameToMind, Put, TaskAnswer
from polyclinic.memory.remembering import Remembered, helpful, remembered_text
from polyclinic.models.model import Model
from polyclinic.prompts import Prompts, read_prompts
from polyclinic.questions.shown import show

PROMPTS = Path(__file__).with_suffix(".md")


class MedAgentZero:
    """A language model that learns; see `polyclinic.memory.recall.Learner`.

    Args:
        models: returns for the name of an episode the model that answers, reflects and judges in it.
        temperature: of the model; None leaves it to the server.
    """

    def __init__(self, models: Callable[[str], Model], *, temperature: float | None = None) -> None:
        self._models, self._temperature = models, temperature

    async def answer(self, put: Put, brought: CameToMind) -> TaskAnswer:
        """See `Learner.answer`; there is no label if the model's answer cannot be used."""
        calls = self._calls(put, "answer")
        try:
            return await self._answered(put, calls, await self._told(put, brought, calls))
        except (ModelError, Rejected):
            return TaskAnswer("")

    async def learn(self, put: Put, brought: CameToMind, answered: TaskAnswer, right: Sequence[str]) -> Lesson | None:
        """Reflects, answers the same question with the principle, and keeps it if the answer is now right."""
        calls, prompts = self._calls(put, "lesson"), _prompts(put.question)
        came = prompts("came", answer=answered.label, reasoning=answered.reasoning, right=" / ".join(right))
        try:
            principle = await self._principle(
                prompts("reflect"), f"{show(put.question)}\n\n{came}", calls, "reflection"
            )
            told = [prompts("principle", principle=principle)]
            again = await self._answered(put, calls, told, purpose="answer, once more")
            if again.label not in right:
                return None
            general = await self._principle(prompts("abstract"), principle, calls, "abstraction")
        except (ModelError, Rejected):
            return None
        return Lesson(general, again.label)

    def _calls(self, put: Put, what: str) -> Calls:
        return Calls(self._models(f"{put.question.id} {put.when}, {what}"), temperature=self._temperature)

    async def _told(self, put: Put, brought: CameToMind, calls: Calls) -> list[str]:
        """Returns the recalled cases in words: helpful experience, and records, the most similar last."""
        base, language = brought.experience.pairs, put.question.language
        useful = await helpful([one for one, _ in base], show(put.question), language, calls)
        came = Remembered(
            task=put.task,
            records=tuple(brought.records.pairs),
            experience=tuple(pair for pair in base if pair[0] in useful),
        )
        text = remembered_text(came, language)
        return [text] if text else []

    async def _answered(self, put: Put, calls: Calls, told: Sequence[str], *, purpose: str = "answer") -> TaskAnswer:
        keys = tuple(put.question.options)
        user = "\n\n".join([*told, show(put.question)])
        messages = [("system", _prompts(put.question)("answer")), ("user", user)]
        said: Any = (await calls.ask(messages, answer=_reasoned(keys), purpose=purpose)).value
        return TaskAnswer(put.labels[keys.index(said.answer)], said.reasoning.strip())

    async def _principle(self, system: str, user: str, calls: Calls, purpose: str) -> str:
        messages = [("system", system), ("user", user)]
        said: Any = (await calls.ask(messages, answer=_Principle, purpose=purpose)).value
        return str(said.principle).strip()


class _Principle(msgspec.Struct, frozen=True):
    principle: str


@functools.cache
def _reasoned(keys: tuple[str, ...]) -> type[msgspec.Struct]:
    """Returns the form of an answer. The reasoning comes first: a model must not decide before it has reasoned."""
    return msgspec.defstruct("Reasoned", [("reasoning", str), ("answer", Literal[keys])], frozen=True)


def _prompts(question: Question) -> Prompts:
    return read_prompts(PROMPTS)[question.language]
