"""Chain of thought: one model reasons, then answers, in one call; with or without examples that reason.

Papers: the baselines of Tang et al., MedAgents, arXiv:2311.10537, §4.1, after Wei et al., arXiv:2201.11903 (few-shot)
and Kojima et al., arXiv:2205.11916 (zero-shot).
Defaults: zero-shot; the server's temperature (MedAgents' experiments: temperature 1, top_p 1).

Cost: 1 call.

Where we differ: Kojima et al. ask twice, for the reasoning and then for the answer; here the answer is the last line of
the reasoning, as in Wei et al. An example is a turn of a conversation. One that asks what is asked is left out.
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


async def chain_of_thought(
    question: Question,
    model: Model,
    *,
    examples: Sequence[Example] = (),
    temperature: float | None = None,
    repair: bool = False,
) -> Outcome:
    """Asks for reasoning that ends in the answer.

    Args:
        question: what is asked.
        model: who answers.
        examples: from a training set, with their reasoning, in the order in which they are shown; none for zero-shot,
            `shipped_examples(question.language)` for those that are shipped.
        temperature: as `Model.ask`.
        repair: a reply that cannot be read is asked for once more, in a second call.

    Returns:
        The outcome, the reasoning as its rationale. A failure is its end; it is not raised.

    Raises:
        UserError: an example has no reasoning.
    """
    shown = examples_for(question, examples)
    form = show_form(language=question.language, several=question.several)
    section = "instructions_examples" if shown else "instructions"
    messages: list[Message] = [
        ("system", read_prompts(PROMPTS)[question.language](section, form=form)),
        *turns(shown, reasoning=True),
        ("user", show(question)),
    ]
    calls = Calls(model, temperature=temperature)
    try:
        said = await calls.answer(messages, question, round_trip=1, purpose="reasoning and answer", repair=repair)
    except PlayFailure as failure:
        return calls.failed(question.id, failure)
    return calls.outcome(question.id, said.keys, rationale=said.text)
