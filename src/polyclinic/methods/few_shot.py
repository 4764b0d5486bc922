"""Few-shot: answered questions first, then one call, the answer at once.

Paper: the baseline of Tang et al., MedAgents, arXiv:2311.10537, §4.1, after Brown et al., arXiv:2005.14165.
Defaults: 5 examples, those that are shipped for the question's language and kind; the server's temperature (MedAgents'
experiments: temperature 1, top_p 1).

Cost: 1 call.

Where we differ: an example is a turn of a conversation, the question from the user and the answer's last line from the
assistant, and not one text with the question. An example that asks what is asked is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polyclinic.answering.calls import Calls
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.errors import PlayFailure
from polyclinic.models.model import Message, Model
from polyclinic.prompts import read_prompts
from polyclinic.questions.answers import show_form
from polyclinic.questions.demonstrations import examples_for, turns
from polyclinic.questions.examples import Example
from polyclinic.questions.shown import show

PROMPTS = Path(__file__).with_suffix(".md")
SHOTS = 5


async def few_shot(
    question: Question,
    model: Model,
    *,
    examples: Sequence[Example] | None = None,
    temperature: float | None = None,
    repair: bool = False,
) -> Outcome:
    """Shows answered questions and asks for the answer to this one, and nothing else.

    Args:
        question: what is asked.
        model: who answers.
        examples: from a training set, in the order in which they are shown; their reasoning is not. None for the first
            five of the shipped ones.
        temperature: as `Model.ask`.
        repair: a reply that cannot be read is asked for once more, in a second call.

    Returns:
        The outcome. A failure is its end; it is not raised.
    """
    shown = examples_for(question, examples)
    form = show_form(language=question.language, several=question.several)
    messages: list[Message] = [
        ("system", read_prompts(PROMPTS)[question.language]("instructions", form=form)),
        *turns(shown[:SHOTS] if examples is None else shown, reasoning=False),
        ("user", show(question)),
    ]
    calls = Calls(model, temperature=temperature)
    try:
        said = await calls.answer(messages, question, round_trip=1, purpose="answer", repair=repair)
    except PlayFailure as failure:
        return calls.failed(question.id, failure)
    return calls.outcome(question.id, said.keys, rationale=said.text)
