"""Zero-shot: one model, one call, the answer at once.

Paper: the baseline without examples and without reasoning of Tang et al., MedAgents, arXiv:2311.10537, §4.1, after
Kojima et al., arXiv:2205.11916.
Defaults: the server's temperature (MedAgents' experiments: temperature 1, top_p 1).
The card `docs/methods/zero-shot.md` has the cost and where we differ.
"""

from __future__ import annotations

from pathlib import Path

from polyclinic.answering.calls import ask_once, conversation
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.models.model import Model

PROMPTS = Path(__file__).with_suffix(".md")


async def zero_shot(question: Question, model: Model, *, temperature: float | None = None) -> Outcome:
    """Asks for the answer and nothing else. A failure is the outcome's end; it is not raised."""
    return await ask_once(conversation(PROMPTS, question), question, model, temperature=temperature)
