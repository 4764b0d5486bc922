"""The options of every command that asks a model: where and how models are asked, and their budget."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Self

from polyclinic.errors import UserError
from polyclinic.models.ledger import KeptCalls, Ledger, Spending
from polyclinic.models.limits import WHOLE, Share
from polyclinic.models.model import LONGEST, Price
from polyclinic.models.model_file import NOTHING_SAID, ModelFile, read_model_file
from polyclinic.models.open import provider_named
from polyclinic.models.secrets import check_address, check_variable
from polyclinic.settings import ASIDE_IN_COMMANDS, name_of, setting

_MOST = {"temperature": 2.0, "timeout": LONGEST}
_LEAST = {
    "concurrency": 1,
    "requests_per_minute": 0.1,
    "tokens_per_minute": 1,
    "max_tokens": 1,
    "token_budget": 1,
    "cost_budget": 0,
    "temperature": 0,
    "timeout": 0.001,
    "wait_for_server": 0,
}

_ASIDE = {"resumed": True, "same_run": True}
"""Metadata of an option that alters no answer: where and how fast models are asked, and what it may cost.

With another value of it, a run is `resumed`, and is the `same_run` in a database that several machines share. An
option without metadata alters answers.
"""


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where language models are asked."""

    base_url: str | list[str] | None = field(default=None, metadata=_ASIDE)
    """The endpoint of direct/ models without one in models.model-file, up to /v1; again for each server."""
    api_key_env: Annotated[str, setting("models")] = field(default="OPENAI_API_KEY", metadata=_ASIDE)
    """The environment variable that holds the key."""
    # What the file says may alter answers: its content is compared.
    model_file: Annotated[Path | None, setting("models")] = field(default=None, metadata={"same_run": True})
    """Where each model, and each role, is asked, with which key, how, and what it costs; TOML."""

    def __post_init__(self) -> None:
        check_variable(self.api_key_env)
        for url in self.base_urls:
            check_address(url)

    @property
    def base_urls(self) -> list[str]:
        """The addresses; none where none is given."""
        return [self.base_url] if isinstance(self.base_url, str) else list(self.base_url or ())

    def addresses(self, model: str, role: str = "") -> list[str]:
        """Returns where a model is asked in a role; none if its provider knows."""
        return self.said.asking(model, role).base_urls or (self.base_urls if provider_named(model) == "direct" else [])

    @functools.cached_property
    def said(self) -> ModelFile:
        """What the file says; nothing where there is none."""
        return NOTHING_SAID if self.model_file is None else read_model_file(Path(self.model_file))

    def at_temperatures(self, temperatures: Mapping[str, float]) -> Self:
        """Returns the same, with roles that are asked at these temperatures, as if the file said so."""
        made = replace(self)
        vars(made)["said"] = self.said.at_temperatures(temperatures)
        return made


@dataclass(frozen=True, kw_only=True)
class ModelSettings(Address):
    """How the language models of a run are asked, and their budget; a value that cannot be used is a `UserError`."""

    # The command line makes its options from these, with the text below each as its help. A run of the hospital keeps
    # them, and the metadata of each says whether it alters answers.

    concurrency: int | None = field(default=None, metadata=_ASIDE)
    """Maximum number of requests in flight at each endpoint; adapts by default."""
    requests_per_minute: Annotated[float | None, setting("models")] = field(default=None, metadata=_ASIDE)
    """Maximum number of requests to a model per minute, over all processes."""
    tokens_per_minute: Annotated[float | None, setting("models")] = field(default=None, metadata=_ASIDE)
    """Maximum number of tokens of its prompts and answers per minute, over all processes."""
    temperature: float | None = None
    """Sampling temperature from 0 to 2; the server's default otherwise."""
    max_tokens: Annotated[int | None, setting("models")] = None
    """Maximum length of an answer in tokens, where a request sets none; the server's default otherwise."""
    token_budget: int | None = field(default=None, metadata=_ASIDE)
    """Stop when the models have used this many tokens."""
    cost_budget: float | None = field(default=None, metadata=_ASIDE)
    """Stop when the models have cost this much."""
    timeout: Annotated[float | None, setting("models")] = field(default=None, metadata=_ASIDE)
    """Timeout of a call in seconds; 300 by default."""
    wait_for_server: Annotated[float | None, setting("models")] = field(default=None, metadata=_ASIDE)
    """Seconds to wait for the server of a direct/ model while it is down; 0 by default."""
    price: Annotated[str | None, setting("models")] = field(default=None, metadata=_ASIDE)
    """The price of a million tokens, in and out, such as 0.15,0.60; a third price is for cached tokens."""
    hooks: Annotated[list[str] | None, setting("models")] = field(default=None, metadata={"resumed": True})
    """Hooks around every call to a model: FILE.py:NAME, or the name of an installed hook."""
    dry_run: bool = field(default=False, metadata=_ASIDE)
    """Estimate calls, tokens and cost without asking a model."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= _MOST.get(name, value):
                allowed = f"{least} to {_MOST[name]:g}" if name in _MOST else f"{least} or more"
                raise UserError(f"{name_of(ModelSettings, name)} {value:g}; allowed: {allowed}")
        read_price(self.price)
        _ = self.said

    def price_of(self, model: str, role: str = "") -> Price | None:
        """Returns what the tokens of a model in a role cost; None if nobody says."""
        said = self.said.asking(model, role).price
        return read_price(self.price) if said is None else Price(*said)

    def budget(self, share: Share = WHOLE, *, spending: Spending | None = None) -> Ledger:
        """Returns a ledger that holds the share of the budget that one of several processes has."""
        return Ledger(
            cost_budget=None if self.cost_budget is None else self.cost_budget / share.of,
            token_budget=None if self.token_budget is None else max(1, self.token_budget // share.of),
            calls=KeptCalls() if share is WHOLE else None,
            spending=spending,
        )


def options_with(mark: str) -> frozenset[str]:
    """Returns the options whose metadata has a mark."""
    return frozenset(option.name for option in fields(ModelSettings) if option.metadata.get(mark))


ASIDE = ASIDE_IN_COMMANDS | options_with("resumed")
"""Options that alter no answer."""


def read_price(text: str | None) -> Price | None:
    """Reads `IN,OUT` or `IN,OUT,CACHED`, what a million tokens cost; anything else is a `UserError`."""
    if text is None:
        return None
    try:
        tokens_in, tokens_out, *cached = map(float, text.split(","))
        return Price(tokens_in, tokens_out, *cached)
    except (ValueError, TypeError):
        raise UserError(f"models.price {text!r}; needs what a million tokens cost, in and out: 0.15,0.60") from None
