"""Few-shot: answered questions first, then one call, the answer at once.

Paper: the baseline of Tang et al., MedAgents, arXiv:2311.10537, §4.1, after Brown et al., arXiv:2005.14165.
Defaults: 5 examples, those that are shipped for the question's language and kind; the server's temperature (MedAgents'
experiments: temperature 1, top_p 1).
The card `docs/methods/few-shot.md` has the cost and where we differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polyclinic.answering.calls import ask_once, conversation
from polyclinic.answering.neighbours import Nearest
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.models.model import Model
from polyclinic.questions.examples import Example, examples_for
from polyclinic.retrieval.retriever import By

PROMPTS = Path(__file__).with_suffix(".md")
SHOTS = 5


async def few_shot(
    question: Question,
    model: Model,
    *,
    examples: Sequence[Example] | None = None,
    neighbours_by: By | None = None,
    temperature: float | None = None,
) -> Outcome:
    """Shows answered questions without their reasoning, and asks for the answer to this one; see `zero_shot`.

    The examples are from a training set, in the order in which they are shown; None for the first five shipped ones.
    With `neighbours_by` the five that are most like the question are shown, the most like last; see `medprompt`.

    Raises:
        MissingExtra: what finds the neighbours is not installed.
    """
    shown = examples_for(question, examples)
    if neighbours_by is not None:
        shown = (await Nearest(shown, neighbours_by).to(question, SHOTS))[::-1]
    elif examples is None:
        shown = shown[:SHOTS]
    messages = conversation(PROMPTS, question, shown, reasoning=False)
    return await ask_once(messages, question, model, temperature=temperature)
