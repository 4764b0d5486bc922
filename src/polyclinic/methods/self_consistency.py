"""Self-consistency: several chains of thought at once, and the answer that most of them end in.

Papers: Wang et al., arXiv:2203.11171; the baseline of Tang et al., MedAgents, arXiv:2311.10537, §4.1 and table 2.
Defaults: 5 samples at temperature 0.7, as MedAgents' experiments, without examples. The prompts are those of
`chain_of_thought`, word for word.
The card `docs/methods/self-consistency.md` has the cost and where we differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polyclinic.answering.calls import Calls, TextAnswer, at_least, conversation, together, usable
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.errors import ModelError, PlayFailure, UserError
from polyclinic.models.model import Model
from polyclinic.questions.examples import Example, examples_for
from polyclinic.seeds import derive

# What is sampled is chain of thought: with prompts of its own, a difference between the two could be the prompts'.
PROMPTS = Path(__file__).with_name("chain_of_thought.md")


async def self_consistency(
    question: Question,
    model: Model,
    *,
    samples: int = 5,
    temperature: float | None = 0.7,
    examples: Sequence[Example] = (),
    budget_calls: int | None = None,
    budget_tokens: int | None = None,
    seed: int = 0,
) -> Outcome:
    """Samples chains of thought and takes the answer that most of them end in; see `chain_of_thought`.

    A budget takes the place of `samples`: so many calls, or as many as fit into so many tokens, in and out, where each
    costs what the first did, and at least one. The seed gives each sample's and the draw among equals. The rationale is
    a chain that ends in the answer; a failure is the outcome's end, and is not raised.

    Raises:
        UserError: a number below 1, two budgets, an example without reasoning, or a token budget for a model that does
            not report its tokens.
    """
    at_least(1, samples=samples, budget_calls=budget_calls, budget_tokens=budget_tokens)
    if budget_calls is not None and budget_tokens is not None:
        raise UserError("budget_calls and budget_tokens are both given; at most one of them is")
    shown = examples_for(question, examples)
    messages = conversation(PROMPTS, question, shown, section="instructions_examples" if shown else "instructions")
    calls = Calls(model, temperature=temperature)

    async def sample(number: int, round_trip: int) -> TextAnswer:
        draw = derive(seed, question.id, "sample", number).getrandbits(31)
        return await calls.answer(messages, question, round_trip=round_trip, purpose=f"sample {number}", seed=draw)

    came: list[TextAnswer | ModelError] = []
    try:
        # 1. With a budget of tokens, the first sample shows what one costs.
        if budget_tokens is not None:
            came = await together(sample(1, 1))
            samples = _affordable(budget_tokens, calls, came[0])
        # 2. All others at once.
        round_trip = 2 if came else 1
        wanted = range(len(came) + 1, (budget_calls or samples) + 1)
        came += await together(*(sample(number, round_trip) for number in wanted))
        voters = usable(came)
    except PlayFailure as failure:
        return calls.failed(question.id, failure)
    # 3. The majority of those that can be read.
    return calls.majority(question.id, voters, seed=seed)


def _affordable(budget: int, calls: Calls, first: TextAnswer | ModelError) -> int:
    usage = calls.trace[0].usage
    cost = usage.tokens_in + usage.tokens_out
    if cost:
        return budget // cost
    if isinstance(first, ModelError):
        raise first
    raise UserError("the model does not report its tokens, so budget_tokens cannot be kept; budget_calls can")
