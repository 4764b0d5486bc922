"""Models opened together: how they are asked, what is kept of their answers, and what all of them cost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from polyclinic.errors import UserError
from polyclinic.models.journal import Journal
from polyclinic.models.ledger import Ledger
from polyclinic.models.limits import Limit
from polyclinic.models.model import Model, Price
from polyclinic.models.open import open_model

MOST_AT_ONCE = 1024
"""Questions at a time to an endpoint that is adapted to, over all processes of a run."""

_HOTTEST = 2.0


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where language models are asked."""

    base_url: str | None = None
    """The endpoint's address, up to /v1."""
    api_key_env: str = "OPENAI_API_KEY"
    """The environment variable that holds the key."""


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Address):
    """How language models are asked, and what they may cost; a value that cannot be used is a `UserError`."""

    # The command line makes its options from these, and says what stands below each.

    concurrency: int | None = None
    """Questions at a time to an endpoint; adapts where left out."""
    temperature: float | None = None
    """From 0, always the likeliest word, to 2; the server's where left out."""
    max_tokens: int | None = None
    """Stop when the models have used so many tokens."""
    max_cost: float | None = None
    """Stop when the models have cost so much."""
    price: str | None = None
    """What a million tokens cost, in and out, such as 0.15,0.60; a third price is that of tokens from the cache."""

    def __post_init__(self) -> None:
        for name, least in (("concurrency", 1), ("max_tokens", 1), ("max_cost", 0), ("temperature", 0)):
            value = getattr(self, name)
            most = _HOTTEST if name == "temperature" else value
            if value is not None and not least <= value <= most:
                allowed = f"{least} to {_HOTTEST:g}" if name == "temperature" else f"{least} or more"
                raise UserError(f"--{name.replace('_', '-')} {value:g}; allowed: {allowed}")
        read_price(self.price)


class Share(NamedTuple):
    """One of so many equal parts of what a run may use: `number` from 0 of `of` processes."""

    number: int = 0
    of: int = 1


WHOLE = Share()


class Session(NamedTuple):
    """Models that are open, by name, what is kept of their answers, and what all of them cost."""

    models: Mapping[str, Model]
    journal: Journal | None
    ledger: Ledger

    def metered(self, name: str, *, role: str, episode: str) -> Model:
        """Returns a model, its answers kept for the episode and its cost written down under the role."""
        model = self.models[name]
        return self.ledger.meter(model if self.journal is None else self.journal.wrap(model, episode=episode), role)


@asynccontextmanager
async def open_session(
    names: Iterable[str],
    options: ModelOptions,
    *,
    journal: str | Path | None = None,
    run: str = "",
    seed: int = 0,
    share: Share = WHOLE,
) -> AsyncIterator[Session]:
    """Opens language models, each once, and what is kept of their answers, as long as they are needed.

    The journal is the file that keeps every answer, for runs of the same name; each of several processes has a file of
    its own beside it, and the `share` of the limits that is its own. The seed is that of the pauses between requests,
    and of what a local model draws. A name or a file that cannot be used is a `UserError`.
    """
    ledger = Ledger(
        max_cost=None if options.max_cost is None else options.max_cost / share.of,
        max_tokens=None if options.max_tokens is None else max(1, options.max_tokens // share.of),
    )
    async with AsyncExitStack() as stack:
        models = {
            name: await stack.enter_async_context(
                open_model(
                    name,
                    base_url=options.base_url,
                    api_key_env=options.api_key_env,
                    concurrency=_limit(options.concurrency, share),
                    price=read_price(options.price),
                    seed=seed,
                )
            )
            for name in dict.fromkeys(names)
        }
        kept = None
        if journal is not None:
            journal = Path(journal)
            if share.of > 1:
                journal = journal.with_name(f"{journal.stem}.{share.number + 1}-of-{share.of}{journal.suffix}")
            kept = await stack.enter_async_context(Journal(journal, run=run))
        yield Session(models, kept, ledger)


def _limit(concurrency: int | None, share: Share) -> Limit | int:
    if concurrency is None:
        return Limit(max(1, MOST_AT_ONCE // share.of), adaptive=True)
    whole, rest = divmod(concurrency, share.of)
    return max(1, whole + (share.number < rest))


def read_price(text: str | None) -> Price | None:
    """Reads `IN,OUT` or `IN,OUT,CACHED`, what a million tokens cost; anything else is a `UserError`."""
    if text is None:
        return None
    try:
        tokens_in, tokens_out, *cached = map(float, text.split(","))
        return Price(tokens_in, tokens_out, *cached)
    except (ValueError, TypeError):
        raise UserError(f"--price {text!r}; needs what a million tokens cost, in and out: 0.15,0.60") from None
