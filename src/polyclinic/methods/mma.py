"""MMA: specialists put what they find into one shared pool, in a form that all can read, and the pool decides.

Paper: Peng et al., 2025, the multi-agent baseline that stands nearest to Tree-of-Reasoning in its table, described
there in appendix C.1: different specialists, structured outputs, a shared information pool, joint decision-making.
Defaults: 4 specialists, 2 rounds.
The card `docs/methods/mma.md` has the cost and where we differ.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from polyclinic.answering.calls import Asker, at_least, exactly, usable
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.errors import PlayFailure
from polyclinic.models.model import Model

PROMPTS = Path(__file__).with_suffix(".md")


class Hypothesis(msgspec.Struct, frozen=True):
    """A diagnosis or answer that a specialist holds possible."""

    name: str
    reason: str
    confidence: Literal["low", "moderate", "high"]


class Contribution(msgspec.Struct, frozen=True):
    """What a specialist adds to the pool."""

    findings: tuple[str, ...]
    hypotheses: tuple[Hypothesis, ...]


async def mma(
    question: Question,
    model: Model,
    *,
    specialists: int = 4,
    rounds: int = 2,
    temperature: float | None = None,
    top_p: float | None = None,
) -> Outcome:
    """Answers a question as specialists with a shared pool of findings do.

    A failure is the outcome's end; it is not raised.

    Raises:
        UserError: a number that is below 1, or a question without options.
    """
    at_least(1, specialists=specialists, rounds=rounds)
    asker = _Specialists(PROMPTS, question, model, temperature=temperature, top_p=top_p)
    try:
        # 1. Who is needed.
        asker.trip += 1
        wanted = exactly(specialists)
        fields: tuple[str, ...] = await asker.ask("gather", "gather", answer=wanted, options=False, number=specialists)
        # 2. Each reads the question and the pool, and adds to the pool.
        for number in range(1, rounds + 1):
            await asker.contribute(fields, number)
        # 3. The decision, from the pool.
        return await asker.decide(asker.pool())
    except PlayFailure as failure:
        return asker.calls.failed(question.id, failure)


class _Specialists(Asker):
    """Asks the specialists, and keeps what they found."""

    _added: tuple[tuple[int, str, Contribution], ...] = ()

    async def contribute(self, fields: tuple[str, ...], number: int) -> None:
        """Has every specialist add to the pool; a ModelError where the pool stays empty."""
        pool = self.pool()
        told = [
            (pool, self._prompts("you", number=place, field=field, round=number))
            for place, field in enumerate(fields, start=1)
        ]
        purpose = f"contribute {number}, specialist"
        came = await self.ask_each("contribute", purpose, told, answer=Contribution, options=False)
        if not self._added:
            usable(came)
        added = zip(range(1, len(fields) + 1), fields, came, strict=True)
        self._added += tuple((place, field, one) for place, field, one in added if isinstance(one, Contribution))

    def pool(self) -> str:
        """Returns what the specialists have added, each finding once; "" where there is nothing."""
        if not self._added:
            return ""
        findings = dict.fromkeys(text.strip() for _, _, one in self._added for text in one.findings if text.strip())
        held = [
            self._prompts("hypothesis", number=place, field=field, name=h.name, confidence=level, reason=h.reason)
            for place, field, one in self._added
            for h in one.hypotheses
            for level in [self._prompts(h.confidence)]
        ]
        listed = "\n".join(f"- {text}" for text in findings)
        return self._prompts("pool", findings=listed, hypotheses="\n".join(dict.fromkeys(held)))
