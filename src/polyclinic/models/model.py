"""What a model is to everybody else: one verb, `ask`, and what comes back.

reply = await model.ask("Which of these?", answer=("flu", "cold"))
reply.value  # "flu"
"""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypedDict, Unpack

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import check_file
from polyclinic.opened_files import read_at_once


class Text(msgspec.Struct, frozen=True, tag="text"):
    """A part of a message that is text."""

    text: str


class Image(msgspec.Struct, frozen=True, tag="image"):
    """A part of a message that is a picture: its https address, or the picture itself as a `data:` URL."""

    url: str

    @classmethod
    def read(cls, path: str | Path) -> Image:
        """Reads a picture from a file; `BadInput` where it cannot be read, or does not end like a picture's."""
        path = Path(path)
        check_file(path)
        kind = mimetypes.guess_type(path.name)[0] or ""
        if not kind.startswith("image/"):
            raise BadInput("not a picture by its name; .png, .jpg, .gif and .webp are", path=path)
        return cls(url=f"data:{kind};base64,{base64.b64encode(read_at_once(path)).decode()}")


Part = Text | Image
Message = tuple[str, str | Sequence[Part]]  # a role ("system", "user", "assistant") and what it says
Messages = str | Sequence[Message]  # a string is what the user says

Answer = tuple[str, ...] | Any
"""What is wanted; see `Model.ask`. A type is one that msgspec knows."""


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What answers cost in tokens, and in the currency of the prices; `cost` is None where there are none.

    `cached` are those of the prompt that the server had from before, a part of `tokens_in`; `reasoning` is a part of
    `tokens_out`.
    """

    tokens_in: int = 0
    cached: int = 0
    tokens_out: int = 0
    reasoning: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        """In and out together; 0 where the server does not say."""
        return self.tokens_in + self.tokens_out

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            tokens_in=self.tokens_in + other.tokens_in,
            cached=self.cached + other.cached,
            tokens_out=self.tokens_out + other.tokens_out,
            reasoning=self.reasoning + other.reasoning,
            cost=other.cost if self.cost is None else self.cost + (other.cost or 0.0),
        )


LONGEST = 7 * 86_400  # seconds that a call may take at most; for ever is none that a clock of the event loop knows
DEAREST = 1_000_000_000  # no million tokens cost more


class Price(msgspec.Struct, frozen=True):
    """What a million tokens cost. Without a price of their own, cached tokens cost as much as others."""

    tokens_in: float
    tokens_out: float
    cached: float | None = None

    def __post_init__(self) -> None:
        if not all(0 <= price <= DEAREST for price in (self.tokens_in, self.tokens_out, self.cached or 0)):
            raise ValueError(f"a price is a number from 0 to {DEAREST:,}")

    def __str__(self) -> str:
        return ",".join(str(price) for price in msgspec.structs.astuple(self) if price is not None)

    def of(self, usage: Usage) -> Usage:
        """Returns the usage with its cost; as it is where nobody says how many tokens there were."""
        if not usage.tokens:
            return usage
        cached = self.tokens_in if self.cached is None else self.cached
        money = (usage.tokens_in - usage.cached) * self.tokens_in + usage.cached * cached
        return msgspec.structs.replace(usage, cost=(money + usage.tokens_out * self.tokens_out) / 1e6)


class Reply(msgspec.Struct, frozen=True):
    """A model's answer.

    Attributes:
        value: what the text means: the text, the option chosen, or a value of the type asked for.
        usage: what it cost, repairs included.
        seconds: from the question to the answer, waiting included.
        attempts: requests made: 1, and one for each retry and each repair.
        thought: what it thought before it answered; no part of the text.
        replayed: it comes from a journal, and costs nothing now.
        server: which of several servers answered; "" where there is one.
    """

    text: str
    value: Any
    usage: Usage = Usage()
    seconds: float = 0.0
    attempts: int = 1
    thought: str = ""
    replayed: bool = False
    server: str = ""


class AskOptions(TypedDict, total=False):
    """How a question is asked. What is left out, or None, is left to the server.

    Attributes:
        max_tokens: the longest answer. A longer one is `CutOff`.
        purpose: what the answer is for, for the sums of the usage. Equal questions that run at the same time need
            purposes or seeds of their own, so that a journal can tell them apart.
        conversation: names what it belongs to, for a model at several servers: questions of one conversation go to one
            server. By how the conversation begins where left out. No part of the request.
        wanted: when the answer is wanted; of questions that wait for a place, the smallest number goes first. No part
            of the request.
    """

    temperature: float | None  # 0 for the likeliest
    top_p: float | None  # share of the likeliest tokens that are drawn from
    max_tokens: int | None
    reasoning: str | None  # how hard to think: "none", "minimal", "low", "medium", "high"
    seed: int | None  # for servers that can repeat a draw
    purpose: str
    conversation: str
    wanted: int


class Model(Protocol):
    """Answers questions. Every provider is one, and so is anything else with a name and this verb."""

    @property
    def name(self) -> str:
        """Names the model in results, journals and error texts."""

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks, and reads the answer.

        Args:
            messages: what the user says, or the conversation so far as (role, text or parts). What is stable comes
                first, so that the server's prefix cache hits.
            answer: None for text, a tuple of strings for one of these, a type for a value of it.
            options: see `AskOptions`.

        Raises:
            UnreadableReply: the answer is not what was asked for, also when asked again.
            CutOff: it ended before its end.
            Refused: the model will not answer.
            EndpointError: no answer came, one subclass for each reason.
            WrongKey: the endpoint wants another key.
            BudgetSpent: the run has cost what it may cost.
        """
