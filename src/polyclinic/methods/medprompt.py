"""Medprompt: the nearest training questions with reasoning of the model's own, and a vote over shuffled options.

Paper: Nori et al., Can Generalist Foundation Models Outcompete Special-Purpose Tuning? Case Study in Medicine,
arXiv:2311.16452, §4 and algorithm 1; a baseline of Agent Hospital, arXiv:2405.02957, §6.
Defaults: 5 neighbours, 5 orders of the options, as the paper; the server's temperature.
The card `docs/methods/medprompt.md` has the cost and where we differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from polyclinic.answering.calls import Calls, TextAnswer, at_least, conversation, together, usable
from polyclinic.answering.neighbours import Nearest
from polyclinic.answering.outcome import Call, Outcome
from polyclinic.cases.presentation import Question
from polyclinic.errors import PlayFailure
from polyclinic.models.model import Model
from polyclinic.questions.examples import Example, examples_for
from polyclinic.questions.shuffle import shuffle_options
from polyclinic.retrieval.retriever import By
from polyclinic.seeds import derive

PROMPTS = Path(__file__).with_suffix(".md")

_ANSWER_LINE = re.compile(r"\W*(?:answer|答案)\W", re.IGNORECASE)


class Pool:
    """Training questions that can be searched for those most like another; made once, for any number of questions.

    They are never from the set that is tested on. Where they are `reasoned`, the reasoning is a model's own, and led it
    to the right answer: so many were left out because it answered wrongly, or because its answer was unusable.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        *,
        reasoned: bool = False,
        wrong: int = 0,
        unusable: int = 0,
        trace: tuple[Call, ...] = (),
    ) -> None:
        self.examples, self.reasoned = tuple(examples), reasoned
        self.wrong, self.unusable, self.trace = wrong, unusable, trace
        self._nearest: dict[By, Nearest] = {}

    def nearest(self, by: By) -> Nearest:
        """Returns what finds its examples; made once for each way of measuring likeness."""
        if by not in self._nearest:
            self._nearest[by] = Nearest(self.examples, by)
        return self._nearest[by]


async def prepare(training: Sequence[Example], model: Model, *, temperature: float | None = None) -> Pool:
    """Lets the model that is going to answer reason about every training question, all at once.

    Returns:
        The pool of those that were answered rightly. It may be empty; see its counts.

    Raises:
        EndpointError: the endpoint gave no answer; with a journal, what was answered is not asked again.
    """
    calls = Calls(model, temperature=temperature)
    chains = await together(*(_chain(e, calls, n) for n, e in enumerate(training, start=1)))
    examples = [chain for chain in chains if isinstance(chain, Example)]
    wrong = sum(chain is None for chain in chains)
    unusable = len(chains) - len(examples) - wrong
    return Pool(examples, reasoned=True, wrong=wrong, unusable=unusable, trace=calls.trace)


async def _chain(example: Example, calls: Calls, number: int) -> Example | None:
    """Returns the example with the model's own reasoning; None where its answer is wrong."""
    asked = example.question
    said = await calls.answer(conversation(PROMPTS, asked), asked, round_trip=1, purpose=f"reasoning {number}")
    if said.keys != frozenset(example.key):
        return None
    return msgspec.structs.replace(example, reasoning=_reasoning(said.text))


def _reasoning(text: str) -> str:
    """Returns a reply without the line of the answer, which an example has anew; all of it where that is all."""
    before, _, last = text.strip().rpartition("\n")
    return before.strip() if before.strip() and _ANSWER_LINE.match(last) else text.strip()


async def medprompt(
    question: Question,
    model: Model,
    *,
    pool: Pool | None = None,
    neighbours: int = 5,
    neighbours_by: By = "bm25",
    shuffles: int = 5,
    temperature: float | None = None,
    seed: int = 0,
) -> Outcome:
    """Shows the nearest training questions with the model's own reasoning, shuffles the options, and counts votes.

    The pool is `await prepare(training, model)`, or `Pool(training)` for reasoning about the neighbours of this
    question alone; None for the shipped examples of its language and kind. At most so many neighbours are shown, found
    by words as in a corpus (`bm25`), by meaning (`dense`) or by both (`hybrid`); each shuffle is a call. The seed gives
    the orders, each call's seed and the draw among equals. The rationale is reasoning that ends in the answer, and
    names the keys as they were shown to it; a failure is the outcome's end, and is not raised.

    Raises:
        UserError: a number that is too small.
        MissingExtra: what finds the neighbours is not installed.
    """
    at_least(0, neighbours=neighbours)
    at_least(1, shuffles=shuffles)
    if pool is None:
        pool = Pool(examples_for(question))
    calls = Calls(model, temperature=temperature)
    try:
        # 1. The nearest training questions; the model reasons about them, where it has not yet.
        nearest = await pool.nearest(neighbours_by).to(question, neighbours) if neighbours else []
        round_trip = 1
        if nearest and not pool.reasoned:
            chains = await together(*(_chain(e, calls, n) for n, e in enumerate(nearest, start=1)))
            nearest = [chain for chain in chains if isinstance(chain, Example)]
            round_trip = 2
        nearest.reverse()

        # 2. The question in several orders of its options, all at once; what is chosen is put back into its own order.
        async def member(number: int) -> TextAnswer:
            shown, own = shuffle_options(question, seed=seed, count=number)
            draw = derive(seed, question.id, "draw", number).getrandbits(31)
            messages = conversation(PROMPTS, shown, nearest)
            said = await calls.answer(messages, shown, round_trip=round_trip, purpose=f"order {number}", seed=draw)
            return TextAnswer(said.text, frozenset(own[key] for key in said.keys))

        voters = usable(await together(*map(member, range(1, shuffles + 1))))
    except PlayFailure as failure:
        return calls.failed(question.id, failure)
    # 3. The majority of those that can be read.
    return calls.majority(question.id, voters, seed=seed)
