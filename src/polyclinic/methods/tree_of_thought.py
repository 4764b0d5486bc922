"""Tree of thoughts, breadth first: thoughts are proposed, evaluated, the best are kept and thought further.

Paper: Yao et al., Tree of Thoughts: Deliberate Problem Solving with Large Language Models, arXiv:2305.10601, §3 and
algorithm 1 (ToT-BFS). Named as a baseline for medical questions by the Tree-of-Reasoning paper.
Defaults: 2 steps, 3 thoughts proposed from each line of thought, 2 lines kept, values. The paper has no medical task;
these are small: 13 calls in 5 round trips (see `docs/methods/tree-of-thought.md` for the formula).
The card `docs/methods/tree-of-thought.md` has the cost and where we differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from polyclinic.answering.calls import Asker, at_least, exactly, usable
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.errors import PlayFailure
from polyclinic.models.model import Model

PROMPTS = Path(__file__).with_suffix(".md")

Evaluation = Literal["value", "vote"]
Line = tuple[str, ...]
"""A line of thought: its thoughts, the first one first."""


class Value(msgspec.Struct, frozen=True):
    """How promising a line of thought is, 10 for surely leading to the answer."""

    reason: str
    score: Annotated[int, msgspec.Meta(ge=1, le=10)]


async def tree_of_thought(
    question: Question,
    model: Model,
    *,
    depth: int = 2,
    breadth: int = 3,
    keep: int = 2,
    evaluation: Evaluation = "value",
    voters: int = 3,
    temperature: float | None = 0.7,
    top_p: float | None = None,
) -> Outcome:
    """Answers a question by a breadth-first search over lines of thought, and decides from the best.

    At each of `depth` steps (T in the paper), thoughts are proposed from each line that was kept (`breadth`, k), and
    the best lines are kept (`keep`, b). "value" scores each line by itself, "vote" lets so many voters choose among all
    lines of a step. A failure is the outcome's end; it is not raised.

    Raises:
        UserError: a number that is below 1, or a question without options.
    """
    at_least(1, depth=depth, breadth=breadth, keep=keep, voters=voters)
    search = _Search(PROMPTS, question, model, temperature=temperature, top_p=top_p)
    kept: list[Line] = [()]
    try:
        for step in range(1, depth + 1):
            # 1. From each line that was kept, the next thoughts are proposed.
            lines = await search.propose(kept, breadth, step, depth)
            # 2. All lines are evaluated.
            worth = await (search.value(lines, step) if evaluation == "value" else search.vote(lines, step, voters))
            # 3. The best are kept; `sorted` leaves equals in the order in which they were proposed.
            kept = sorted(worth, key=lambda line: -worth[line])[:keep]
        # 4. The best line decides.
        return await search.decide(search.thoughts(kept[0]))
    except PlayFailure as failure:
        return search.calls.failed(question.id, failure)


class _Search(Asker):
    """Asks about lines of thought on a question."""

    def thoughts(self, line: Line) -> str:
        steps = (self._prompts("thought", number=n, text=text.strip()) for n, text in enumerate(line, start=1))
        return "\n\n".join(steps)

    async def propose(self, kept: Sequence[Line], breadth: int, step: int, depth: int) -> list[Line]:
        """Returns each line with each of its next thoughts, equal ones once; a ModelError where none can be read."""
        stage, told = ("propose first" if step == 1 else "propose next"), [(self.thoughts(line),) for line in kept]
        blanks = {"answer": exactly(breadth), "number": breadth, "step": step, "depth": depth}
        came = await self.ask_each(stage, f"propose {step}, line", told, **blanks)
        usable(came)
        grown = [
            (*line, thought)
            for line, thoughts in zip(kept, came, strict=True)
            if isinstance(thoughts, tuple)
            for thought in thoughts
        ]
        return list(dict.fromkeys(grown))

    async def value(self, lines: Sequence[Line], step: int) -> dict[Line, int]:
        """Returns the score of each line that has one; a ModelError where none has."""
        told = [(self.thoughts(line),) for line in lines]
        came = await self.ask_each("value", f"value {step}, line", told, answer=Value)
        usable(came)
        return {line: value.score for line, value in zip(lines, came, strict=True) if isinstance(value, Value)}

    async def vote(self, lines: Sequence[Line], step: int, voters: int) -> dict[Line, int]:
        """Returns how many votes each line got; a ModelError where none can be read."""
        numbers = tuple(str(number) for number in range(1, len(lines) + 1))
        shown = "\n\n".join(
            self._prompts("line", number=number, thoughts=self.thoughts(line))
            for number, line in zip(numbers, lines, strict=True)
        )
        came = await self.ask_each("vote", f"vote {step}, voter", [(shown,)] * voters, answer=numbers)
        votes = Counter(usable(came))
        return {line: votes[number] for number, line in zip(numbers, lines, strict=True)}
