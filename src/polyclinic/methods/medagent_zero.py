"""MedAgent-Zero on questions: records of documents as worked examples, and helpful experience of patients.

Paper: Li et al., Agent Hospital, arXiv:2405.02957, §4.4 and §6.2.
Defaults: 2 records and 2 principles, as §6.2; the server's temperature.
The card `docs/methods/medagent-zero.md` has the cost and where we differ.
"""

from __future__ import annotations

from pathlib import Path

from polyclinic.answering.calls import Calls, at_least, conversation
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.errors import PlayFailure
from polyclinic.memory.entries import quoted
from polyclinic.memory.remembering import ExamMemory, helpful
from polyclinic.models.model import Model
from polyclinic.prompts import read_prompts
from polyclinic.questions.examples import Example
from polyclinic.questions.shown import show

PROMPTS = Path(__file__).with_suffix(".md")


async def medagent_zero(
    question: Question,
    model: Model,
    *,
    memory: ExamMemory | None = None,
    records: int = 2,
    experience: int = 2,
    patients: int | None = None,
    temperature: float | None = None,
) -> Outcome:
    """Recalls records and experience like the question, has the experience judged, and answers with reasoning.

    At most so many records and principles come to mind, experience of the first so many `patients` alone. The rationale
    is the reasoning; a failure is the outcome's end, and is not raised.

    Raises:
        UserError: a number below 0, or a memory in another language.
    """
    at_least(0, records=records, experience=experience, patients=patients)
    calls = Calls(model, temperature=temperature)
    shown: list[Example] = []
    told = ""
    try:
        # 1. Records and experience like the question, and which experience helps.
        if memory is not None:
            read, learnt = await memory.bring(question, records=records, experience=experience, patients=patients)
            for one, _ in reversed(read):
                # A right answer may come without reasoning, but an example needs some.
                reasoning = one.reasoning or one.question.options[one.key]
                shown.append(Example(question=one.question, key=(one.key,), reasoning=reasoning))
            if useful := await helpful([one for one, _ in learnt], show(question), question.language, calls):
                lines = "\n".join(f"- {quoted(one.principle)}" for one in useful)
                told = read_prompts(PROMPTS)[question.language]("experience", experience=lines)
        # 2. The records as examples, then the experience and the question.
        section = "instructions_examples" if shown else "instructions"
        *before, (role, asked) = conversation(PROMPTS, question, shown, section=section)
        messages = [*before, (role, f"{told}\n\n{asked}" if told else asked)]
        said = await calls.answer(messages, question, round_trip=calls.round_trips + 1, purpose="reasoning and answer")
    except PlayFailure as failure:
        return calls.failed(question.id, failure)
    return calls.outcome(question.id, said.keys, rationale=said.text)
