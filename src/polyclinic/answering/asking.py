"""How methods ask: with their prompts, worked examples and the question, in a conversation or section by section."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from polyclinic.answering.calls import Calls
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.errors import PlayFailure
from polyclinic.models.model import Answer, AskOptions, Message, Model
from polyclinic.prompts import read_prompts
from polyclinic.questions.demonstrations import turns
from polyclinic.questions.examples import Example
from polyclinic.questions.formats import show_form
from polyclinic.questions.shown import show


def conversation(
    prompts: Path,
    question: Question,
    examples: Iterable[Example] = (),
    *,
    section: str = "instructions",
    reasoning: bool = True,
) -> list[Message]:
    """Returns the instructions with the form of the answer, the examples as turns, and the question.

    Raises:
        UserError: an example has no reasoning, and it is to be shown.
    """
    form = show_form(language=question.language, several=question.several)
    instructions = read_prompts(prompts)[question.language](section, form=form)
    return [("system", instructions), *turns(examples, reasoning=reasoning), ("user", show(question))]


async def ask_once(
    messages: list[Message],
    question: Question,
    model: Model,
    *,
    purpose: str = "answer",
    temperature: float | None,
    repair: bool,
) -> Outcome:
    """Asks for the answer in one call, or with `repair` once more for what cannot be read; raises no PlayFailure."""
    calls = Calls(model, temperature=temperature)
    try:
        said = await calls.answer(messages, question, round_trip=1, purpose=purpose, repair=repair)
    except PlayFailure as failure:
        return calls.failed(question.id, failure)
    return calls.outcome(question.id, said.keys, rationale=said.text)


class Asker:
    """Asks about a question with the sections of prompts; `trip` is the round trip that the next calls belong to."""

    def __init__(self, prompts: Path, question: Question, calls: Calls) -> None:
        self.calls, self.trip = calls, 0
        self._prompts = read_prompts(prompts)[question.language]
        self._stem, self._question = show(question, options=False), show(question)

    async def ask(
        self,
        section: str,
        purpose: str,
        *told: str,
        answer: Answer = None,
        options: bool = True,
        trip: int | None = None,
        temperature: float | None = None,
        **blanks: object,
    ) -> Any:
        """Asks with a section, the question, and what else is told, the most changing last.

        The temperature is that of all calls unless another is given.
        """
        said = "\n\n".join(part for part in (self._question if options else self._stem, *told) if part)
        messages: list[Message] = [("system", self._prompts(section, **blanks)), ("user", said)]
        own: AskOptions = {"purpose": purpose}
        if temperature is not None:
            own["temperature"] = temperature
        return (await self.calls.ask(messages, round_trip=trip or self.trip, answer=answer, **own)).value
