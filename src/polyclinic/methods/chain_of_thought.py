"""Chain of thought: one model reasons, then answers, in one call; with or without examples that reason.

Papers: the baselines of Tang et al., MedAgents, arXiv:2311.10537, §4.1, after Wei et al., arXiv:2201.11903 (few-shot)
and Kojima et al., arXiv:2205.11916 (zero-shot).
Defaults: zero-shot; the server's temperature (MedAgents' experiments: temperature 1, top_p 1).
The card `docs/methods/chain-of-thought.md` has the cost and where we differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polyclinic.answering.calls import ask_once, conversation
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.models.model import Model
from polyclinic.questions.examples import Example, examples_for

PROMPTS = Path(__file__).with_suffix(".md")


async def chain_of_thought(
    question: Question,
    model: Model,
    *,
    examples: Sequence[Example] = (),
    temperature: float | None = None,
) -> Outcome:
    """Asks for reasoning, the outcome's rationale, that ends in the answer; see `zero_shot`.

    The examples are from a training set, with their reasoning, in the order in which they are shown: none for
    zero-shot, `shipped_examples(question.language)` for those that are shipped.

    Raises:
        UserError: an example has no reasoning.
    """
    shown = examples_for(question, examples)
    section = "instructions_examples" if shown else "instructions"
    messages = conversation(PROMPTS, question, shown, section=section)
    purpose = "reasoning and answer"
    return await ask_once(messages, question, model, purpose=purpose, temperature=temperature)
