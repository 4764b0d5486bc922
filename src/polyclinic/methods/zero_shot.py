"""Zero-shot: one model, one call, the answer at once.

Paper: the baseline without examples and without reasoning of Tang et al., MedAgents, arXiv:2311.10537, §4.1, after
Kojima et al., arXiv:2205.11916.
Defaults: the server's temperature (MedAgents' experiments: temperature 1, top_p 1).

Cost: 1 call.

Where we differ: the paper lets the model go on from the beginning of an answer; a chat model is told the form of its
answer's last line instead, and the answer is read from that line.
"""

from __future__ import annotations

from pathlib import Path

from polyclinic.answering.calls import Calls
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.errors import PlayFailure
from polyclinic.models.model import Message, Model
from polyclinic.prompts import read_prompts
from polyclinic.questions.answers import show_form
from polyclinic.questions.shown import show

PROMPTS = Path(__file__).with_suffix(".md")


async def zero_shot(
    question: Question, model: Model, *, temperature: float | None = None, repair: bool = False
) -> Outcome:
    """Asks for the answer and nothing else.

    Args:
        question: what is asked.
        model: who answers.
        temperature: as `Model.ask`.
        repair: a reply that cannot be read is asked for once more, in a second call.

    Returns:
        The outcome. A failure is its end; it is not raised.
    """
    prompts = read_prompts(PROMPTS)[question.language]
    instructions = prompts("instructions", form=show_form(language=question.language, several=question.several))
    messages: list[Message] = [("system", instructions), ("user", show(question))]
    calls = Calls(model, temperature=temperature)
    try:
        said = await calls.answer(messages, question, round_trip=1, purpose="answer", repair=repair)
    except PlayFailure as failure:
        return calls.failed(question.id, failure)
    return calls.outcome(question.id, said.keys, rationale=said.text)
