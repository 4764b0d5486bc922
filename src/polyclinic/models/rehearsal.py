"""A run that asks nobody: what it would ask, how many tokens that is, what it would cost and how long it would take.

Every model is stood in for by one that makes its answers up, in the form that is wanted. So the calls are those that
the settings lead to, and the prompts are the real ones. With a pilot the first few questions for each purpose are put
to the model; how long its answers are, and how long it takes, then holds for all others, and what is made up is drawn
from what it said.

What waits for one another is seen by letting all questions that are open be answered at once, a wave: so many waves
are the calls that have to follow one another.
"""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Unpack

import msgspec

from polyclinic.errors import PolyclinicError
from polyclinic.models.answers import Completion, read
from polyclinic.models.door import Door, Said
from polyclinic.models.ledger import Ledger
from polyclinic.models.limits import Limit
from polyclinic.models.model import Answer, AskOptions, Messages, Model, Price, Reply, Usage
from polyclinic.models.schema import Form, form_of
from polyclinic.seeds import derive
from polyclinic.testing.instances import instance

ASSUMED = 150
"""Tokens of an answer, where no pilot says how long they are."""

AT_ONCE = 32
"""Questions at a time, where nobody says how many."""

_IMAGE = 1_000  # tokens, about
_LETTERS = 4  # of a token, in English; a Chinese character is about one token
_QUIET = 25  # turns of the event loop in which nobody asks anything: then all wait for an answer
_LETTER = "ABCD"
_OPTION = re.compile(r"^([A-Z]|[a-z]{2,8})\. ", re.MULTILINE)
_PILOT_PAUSE = 0.001  # seconds between two looks at whether the pilot's answers are there
_TRUE = 0.2  # of what would be true every other time


class DryRunOver(PolyclinicError):
    """A dry run is over. Holds what a real one is expected to come to."""

    def __init__(self, expected: ExpectedRun) -> None:
        self.expected = expected
        super().__init__(f"{expected.calls} calls are expected")


class ExpectedCalls(msgspec.Struct, kw_only=True):
    """What is expected of one role and purpose; `unpriced` of the calls have no price."""

    role: str
    purpose: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    unpriced: int = 0

    def __add__(self, other: ExpectedCalls) -> ExpectedCalls:
        costs = [one for one in (self.cost, other.cost) if one is not None]
        return ExpectedCalls(
            role=self.role,
            purpose=self.purpose,
            calls=self.calls + other.calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            cost=sum(costs) if costs else None,
            unpriced=self.unpriced + other.unpriced,
        )


class ExpectedRun(msgspec.Struct, kw_only=True):
    """What a run is expected to come to.

    Attributes:
        in_a_row: calls that follow one another, from beginning to end.
        seconds: how long it takes; None where no pilot says how long a call does.
        piloted: questions that were really put, in this dry run.
        at_once: questions at a time.
        unpriced: calls without a price; where others have one, the cost is the least that it can be.
        beyond: names of the limits that the run would meet.
    """

    calls: int
    in_a_row: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    seconds: float | None
    piloted: int
    at_once: int
    by: list[ExpectedCalls]
    unpriced: int = 0
    beyond: list[str] = []


def together(runs: Sequence[DryRunOver]) -> ExpectedRun:
    """Returns what runs one after another are expected to come to."""
    lines: dict[tuple[str, str], ExpectedCalls] = {}
    for one in (one for run in runs for one in run.expected.by):
        before = lines.get((one.role, one.purpose))
        lines[one.role, one.purpose] = one if before is None else before + one
    all_of = [run.expected for run in runs]
    costs = [one.cost for one in all_of if one.cost is not None]
    seconds = [one.seconds for one in all_of if one.seconds is not None]
    return ExpectedRun(
        calls=sum(one.calls for one in all_of),
        in_a_row=sum(one.in_a_row for one in all_of),
        tokens_in=sum(one.tokens_in for one in all_of),
        tokens_out=sum(one.tokens_out for one in all_of),
        cost=sum(costs) if costs else None,
        seconds=sum(seconds) if len(seconds) == len(all_of) else None,
        piloted=sum(one.piloted for one in all_of),
        at_once=max((one.at_once for one in all_of), default=AT_ONCE),
        by=list(lines.values()),
        unpriced=sum(one.unpriced for one in all_of),
        beyond=sorted({limit for one in all_of for limit in one.beyond}),
    )


class Rehearsing:
    """What all models of a dry run share: how they answer, and who waits for whom."""

    def __init__(self, *, pilot: int = 0, at_once: int | None = None, seed: int = 0) -> None:
        self.pilot, self.at_once, self.piloted = pilot, at_once or AT_ONCE, 0
        self.ledger = Ledger()
        self._rng = derive(seed, "rehearsal")
        self._said: defaultdict[tuple[str, str], list[Reply]] = defaultdict(list)
        self._put: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._prompted: list[tuple[float, int]] = []  # of the pilot: tokens as we count them, as the server does
        self._seconds: list[float] = []
        self._waves: list[int] = []
        self._open: asyncio.Future[None] | None = None
        self._asked = self._piloting = 0

    async def answer(self, model: Model | None, messages: Messages, wanted: Answer, options: AskOptions) -> Reply:
        """Returns a reply, the model's own where it is asked, else one that is made up.

        Raises:
            ModelError: that was the model's answer in the pilot.
        """
        form = None if wanted is None else form_of(wanted)
        key = (_kind(options.get("purpose", "")), "" if form is None else form.text)
        put, self._put[key] = self._put[key], self._put[key] + 1
        if model is not None and put < self.pilot:
            self._piloting += 1
            try:
                reply = await model.ask(messages, answer=wanted, **options)
            finally:
                self._piloting -= 1
            self.piloted += 1
            self._said[key].append(reply)
            self._seconds.append(reply.seconds)
            self._prompted.append((_tokens(messages), reply.usage.tokens_in))
        await self._wave()
        said = self._said[key]
        text = self._rng.choice(said).text if said else _made_up(form, self._rng, messages)
        value = read(Completion(text), wanted, form)
        return Reply(text, value, Usage(tokens_in=self._of_prompt(messages), tokens_out=self._of_answer(key)))

    def _of_prompt(self, messages: Messages) -> int:
        counted, measured = (sum(part) for part in zip(*self._prompted, strict=True)) if self._prompted else (1, 1)
        return round(_tokens(messages) * measured / max(counted, 1))

    def _of_answer(self, key: tuple[str, str]) -> int:
        replies = self._said[key] or [reply for said in self._said.values() for reply in said]
        return round(sum(one.usage.tokens_out for one in replies) / len(replies)) if replies else ASSUMED

    async def _wave(self) -> None:
        """Waits until nobody asks anything any more; then all that wait are answered."""
        self._asked += 1
        if self._open is None:
            self._open = asyncio.get_running_loop().create_future()
            asked = -1
            while asked != self._asked or self._piloting:
                asked = self._asked
                for _ in range(_QUIET):
                    await asyncio.sleep(_PILOT_PAUSE if self._piloting else 0)
            wave, self._open = self._open, None
            self._waves.append(self._asked)
            self._asked = 0
            wave.set_result(None)
        else:
            await self._open

    def forecast(
        self,
        *,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> ExpectedRun:
        """Returns what a real run is expected to come to, and which of these limits it would meet."""
        lines: dict[tuple[str, str], ExpectedCalls] = {}
        for (role, whole), line in sorted(self.ledger.lines.items()):
            purpose = _kind(whole)
            these = ExpectedCalls(
                role=role,
                purpose=purpose,
                calls=line.calls,
                tokens_in=line.usage.tokens_in,
                tokens_out=line.usage.tokens_out,
                cost=line.usage.cost,
                unpriced=line.unpriced,
            )
            before = lines.get((role, purpose))
            lines[role, purpose] = these if before is None else before + these
        total = self.ledger.total.usage
        tokens = total.tokens_in + total.tokens_out
        seconds = sum(self._seconds) / len(self._seconds) if self._seconds else None
        rounds = sum(math.ceil(wave / self.at_once) for wave in self._waves)
        paced = [(self.ledger.total.calls, requests_per_minute), (tokens, tokens_per_minute)]
        least = max((60.0 * n / a_minute for n, a_minute in paced if a_minute), default=0.0)
        beyond = ["--max-tokens"] if max_tokens is not None and tokens >= max_tokens else []
        beyond += ["--max-cost"] if max_cost is not None and (total.cost or 0.0) >= max_cost else []
        return ExpectedRun(
            calls=self.ledger.total.calls,
            in_a_row=len(self._waves),
            tokens_in=total.tokens_in,
            tokens_out=total.tokens_out,
            cost=total.cost,
            unpriced=self.ledger.total.unpriced,
            seconds=None if seconds is None else max(seconds * rounds, least),
            piloted=self.piloted,
            at_once=self.at_once,
            by=list(lines.values()),
            beyond=beyond,
        )


class MadeUp(Door):
    """Answers that are made up, in the form that is wanted, for trying things out without a model."""

    name = "made-up"

    def __init__(self, *, seed: int = 0) -> None:
        self._rng = derive(seed, self.name)

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Makes an answer up; see `Door.complete`."""
        del options
        return Completion(_made_up(form, self._rng, said))


class Rehearsed:
    """Stands in for a model in a dry run."""

    def __init__(self, name: str, rehearsing: Rehearsing, *, price: Price | None = None, model: Model | None = None):
        self.name, self.limit = name, Limit(2**20)
        self._rehearsing, self._price, self._model = rehearsing, price, model

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Makes an answer up; see `Model.ask`."""
        reply = await self._rehearsing.answer(self._model, messages, answer, options)
        return reply if self._price is None else msgspec.structs.replace(reply, usage=self._price.of(reply.usage))


def _kind(purpose: str) -> str:
    """Returns what a question is for, without whose it is and the how-manieth: "vote" of "vote 2, expert 3"."""
    return purpose.partition(",")[0].rstrip("0123456789 ")


def _tokens(messages: Messages) -> float:
    """Returns about how many tokens a conversation is."""
    if isinstance(messages, str):
        return _of_text(messages)
    return sum(_of_content(content) for _, content in messages)


def _of_content(content: Any) -> float:
    if isinstance(content, str):
        return _of_text(content)
    return sum(_of_text(part.text) if hasattr(part, "text") else _IMAGE for part in content)


def _of_text(text: str) -> float:
    wide = sum(letter >= "\u2e80" for letter in text)
    return wide + (len(text) - wide) / _LETTERS


def _made_up(form: Form | None, rng: random.Random, messages: Messages) -> str:
    if form is None:
        texts = [messages] if isinstance(messages, str) else [text for _, text in messages if isinstance(text, str)]
        # Of the options that are shown, a line each: some data sets have others than letters.
        shown = next((keys for text in reversed(texts) if len(keys := _OPTION.findall(text)) > 1), _LETTER)
        return f"Answer: {rng.choice(shown)}"
    return msgspec.json.encode(_seldom(instance(form.schema, rng), rng)).decode()


def _seldom(value: Any, rng: random.Random) -> Any:
    """Returns a value in which hardly anything is true: what ends a dialogue is said once in ten times."""
    if isinstance(value, bool):
        return value and rng.random() < _TRUE
    if isinstance(value, dict):
        return {key: _seldom(one, rng) for key, one in value.items()}
    return [_seldom(one, rng) for one in value] if isinstance(value, list) else value
