"""A dry run: an estimate of the calls, tokens and cost of a command, for which no model is asked.

Every model is replaced by one that makes up answers in the required form. The calls are those that the settings lead
to and the prompts are the real ones; each answer is taken to have `ASSUMED` tokens. Made-up votes seldom agree and
made-up dialogues seldom end early, so that the estimate is near the most that a run can take.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from polyclinic.errors import PolyclinicError
from polyclinic.models.answers import Completion
from polyclinic.models.ledger import Ledger, Line
from polyclinic.models.model import AskOptions, Price, Usage
from polyclinic.models.provider import Provider, Said
from polyclinic.models.schema import Form
from polyclinic.seeds import derive
from polyclinic.testing.instances import instance

ASSUMED = 150
"""Tokens of an answer."""

_IMAGE = 1_000  # tokens, about
_LETTERS = 4  # of a token, in English; a Chinese character is about one token
_LETTER = "ABCD"
_OPTION = re.compile(r"^([A-Z]|[a-z]{2,8})\. ", re.MULTILINE)
_TRUE = 0.2  # of the values that would be true every other time


class MadeUp(Provider):
    """Answers that are made up, in the required form, for trying things out without a model."""

    name = "made-up"

    def __init__(self, *, seed: int = 0) -> None:
        self._rng = derive(seed, "made-up")

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Makes up an answer; see `Provider.complete`."""
        del options
        if form is not None:
            value = _seldom_true(instance(form.schema, self._rng), self._rng)
            return Completion(msgspec.json.encode(value).decode())
        texts = [text for _, text in said if isinstance(text, str)]
        # The options that are shown, one a line: some data sets have others than letters.
        shown = next((keys for text in reversed(texts) if len(keys := _OPTION.findall(text)) > 1), _LETTER)
        return Completion(f"Answer: {self._rng.choice(shown)}")


class StandIn(MadeUp):
    """Stands in for a model in a dry run; `longest` limits answers to questions without a limit of their own."""

    repairs = 0

    def __init__(self, name: str, *, price: Price | None = None, longest: int | None = None, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.name, self.price, self._longest = name, price, longest

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Makes up an answer with an estimate of its tokens; see `Provider.complete`."""
        completion = await super().complete(said, form, options)
        longest = options.get("max_tokens") or self._longest or ASSUMED
        tokens_in = round(sum(_tokens(content) for _, content in said))
        usage = Usage(tokens_in=tokens_in, tokens_out=min(ASSUMED, longest))
        return msgspec.structs.replace(completion, usage=usage)


class _Sums(msgspec.Struct, kw_only=True):
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    unpriced: int = 0


class ExpectedCalls(_Sums, kw_only=True):
    """The expected calls of one role and purpose; `unpriced` of them have no price."""

    role: str
    purpose: str


class ExpectedRun(_Sums, kw_only=True):
    """All expected calls of a run, and the options whose budget it would exceed."""

    by: list[ExpectedCalls]
    beyond: list[str] = []


class DryRunOver(PolyclinicError):
    """A dry run has come to its end; its ledger has the calls that a run would make."""

    def __init__(self, ledger: Ledger, *, token_budget: int | None = None, cost_budget: float | None = None) -> None:
        self.ledger, self._tokens, self._cost = ledger, token_budget, cost_budget
        super().__init__("the dry run is over")

    @classmethod
    def together(cls, runs: Sequence[DryRunOver]) -> DryRunOver:
        """Returns several as one: their calls are added, and they share the budget."""
        over = cls(Ledger(), token_budget=runs[0]._tokens, cost_budget=runs[0]._cost)
        for one in runs:
            over.ledger.include(one.ledger)
        return over

    @property
    def expected(self) -> ExpectedRun:
        """What a real run is expected to take."""
        lines: dict[tuple[str, str], Line] = {}
        for (role, purpose), line in sorted(self.ledger.lines.items()):
            lines.setdefault((role, _kind(purpose)), Line()).add(line)
        by = [ExpectedCalls(role=role, purpose=purpose, **_sums(line)) for (role, purpose), line in lines.items()]
        total = self.ledger.total
        exceeded = {
            "--token-budget": self._tokens is not None and total.usage.tokens >= self._tokens,
            "--cost-budget": self._cost is not None and (total.usage.cost or 0.0) >= self._cost,
        }
        return ExpectedRun(
            **_sums(total), by=by, beyond=[name for name, is_exceeded in exceeded.items() if is_exceeded]
        )


def _sums(line: Line) -> dict[str, Any]:
    usage = line.usage
    return {
        "calls": line.calls,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cost": usage.cost,
        "unpriced": line.unpriced,
    }


def _kind(purpose: str) -> str:
    """Returns what a question is for, without its subject and number: "vote" of "vote 2, expert 3"."""
    return purpose.partition(",")[0].rstrip("0123456789 ")


def _tokens(content: Any) -> float:
    """Returns about how many tokens the content of a message has."""
    if isinstance(content, str):
        wide = sum(letter >= "\u2e80" for letter in content)
        return wide + (len(content) - wide) / _LETTERS
    return sum(_tokens(part.text) if hasattr(part, "text") else _IMAGE for part in content)


def _seldom_true(value: Any, rng: random.Random) -> Any:
    """Returns a value in which few things are true: a dialogue that could end at each turn ends at one in ten."""
    if isinstance(value, bool):
        return value and rng.random() < _TRUE
    if isinstance(value, dict):
        return {key: _seldom_true(one, rng) for key, one in value.items()}
    return [_seldom_true(one, rng) for one in value] if isinstance(value, list) else value
