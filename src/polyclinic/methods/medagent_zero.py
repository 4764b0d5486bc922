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

from collections.abc import Callable, Sequence
from pathlib import Path

from polyclinic.answering.calls import Calls, TextAnswer
from polyclinic.cases.presentation import Question
from polyclinic.errors import PlayFailure
from polyclinic.memory.entries import Experience, MedicalRecord
from polyclinic.memory.learner import CameToMind, Lesson, Put, TaskAnswer
from polyclinic.memory.options import NEAREST
from polyclinic.memory.remembering import helpful
from polyclinic.models.model import Model
from polyclinic.prompts import Prompts, read_prompts
from polyclinic.questions.answers import read_answer
from polyclinic.questions.formats import show_form
from polyclinic.questions.shown import show

PROMPTS = Path(__file__).with_suffix(".md")


class MedAgentZero:
    """A language model that learns; see `polyclinic.memory.learner.Learner`.

    Args:
        name: of the model.
        models: returns for the name of an episode the model that answers, reflects and judges in it.
        records, experience: how many of each come to mind.
        temperature: of the model; None leaves it to the server.
    """

    def __init__(
        self,
        name: str,
        models: Callable[[str], Model],
        *,
        records: int = NEAREST,
        experience: int = NEAREST,
        temperature: float | None = None,
    ) -> None:
        self.name, self._models, self._temperature = name, models, temperature
        self.wanted = (records, experience)

    async def answer(self, put: Put, brought: CameToMind) -> TaskAnswer:
        """See `Learner.answer`; a failure of the model is the answer's problem, and no answer."""
        calls = self._calls(put, "answer")
        try:
            return await self._answered(put, calls, await self._told(put, brought, calls))
        except PlayFailure as failure:
            return TaskAnswer("", problem=f"{type(failure).__name__}: {failure}")

    async def learn(self, put: Put, brought: CameToMind, answered: TaskAnswer, right: Sequence[str]) -> Lesson | None:
        """Reflects, asks itself the same question with the principle, and keeps it where the answer is now right."""
        calls, prompts = self._calls(put, "lesson"), _prompts(put.question)
        came = prompts("came", answer=answered.label, reasoning=answered.reasoning, right=" / ".join(right))
        try:
            principle = await self._text(prompts("reflect"), f"{show(put.question)}\n\n{came}", calls, "reflection")
            told = [prompts("principle", principle=principle)]
            again = await self._answered(put, calls, told, purpose="answer, once more")
            if again.label not in right:
                return None
            general = await self._text(prompts("abstract"), principle, calls, "abstraction")
        except PlayFailure:
            return None
        return Lesson(general, again.label)

    def _calls(self, put: Put, what: str) -> Calls:
        return Calls(self._models(f"{put.question.id} {put.when}, {what}"), temperature=self._temperature)

    async def _told(self, put: Put, brought: CameToMind, calls: Calls) -> list[str]:
        """Returns in words what came to mind: helpful experience, and records, the most like last."""
        prompts = _prompts(put.question)
        records: list[MedicalRecord] = [brought.records.entries[n] for n in brought.near_records.places]
        experience: list[Experience] = [brought.experience.entries[n] for n in brought.near_experience.places]
        told = []
        if useful := await helpful(experience, show(put.question), put.question.language, calls):
            told.append(prompts("experience", experience="\n".join(f"- {one.principle}" for one in useful)))
        if records:
            shown = (
                prompts("record", known=one.asked.query, reasoning=one.reasoning, answer=one.answer)
                for one in reversed(records)
            )
            told.append(prompts("records", records="\n\n".join(shown)))
        return told

    async def _answered(self, put: Put, calls: Calls, told: Sequence[str], *, purpose: str = "answer") -> TaskAnswer:
        question = put.question
        form = show_form(language=question.language, several=question.several)
        user = "\n\n".join([*told, show(question)])
        messages = [("system", _prompts(question)("answer", form=form)), ("user", user)]
        reply = await calls.ask(messages, purpose=purpose)
        said = TextAnswer(reply.text, read_answer(reply.text, question))
        (key,) = said.keys
        return TaskAnswer(put.labels[list(question.options).index(key)], _reasoning(said.text))

    async def _text(self, system: str, user: str, calls: Calls, purpose: str) -> str:
        return (await calls.ask([("system", system), ("user", user)], purpose=purpose)).text.strip()


def _prompts(question: Question) -> Prompts:
    return read_prompts(PROMPTS)[question.language]


def _reasoning(text: str) -> str:
    """Returns a reply without its last line, which is the answer; all of it where that is all."""
    before, _, _ = text.strip().rpartition("\n")
    return before.strip() or text.strip()
