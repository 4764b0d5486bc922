"""Models opened together: how they are asked, what is kept of their answers, and what all of them cost."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import msgspec

from polyclinic.errors import NoAddress, PlayFailure, UserError
from polyclinic.models.dry_run import DryRunOver, StandIn
from polyclinic.models.journal import Answers, Journal, Journalling
from polyclinic.models.ledger import Budget, Counting, KeptCalls, Ledger, Spending
from polyclinic.models.limits import WHOLE, Limit, Paces, Share
from polyclinic.models.model import LONGEST, Model, Price
from polyclinic.models.model_file import NOTHING_SAID, SILENT, ModelFile, check_key, read_model_file
from polyclinic.models.open import Nowhere, OpenModels, open_model, provider_named
from polyclinic.models.pipeline import Asker, Hook, OneConversation, Pipeline, Repeating, Tuning, find_hook, with_hooks
from polyclinic.models.provider import Provider
from polyclinic.models.secrets import check_address, check_no_key, check_variable
from polyclinic.settings import name_of, setting
from polyclinic.tasks import AT_ONCE

MOST_AT_ONCE = 1024  # questions at a time to an endpoint that is adapted to, over all processes of a run

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


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where language models are asked."""

    base_url: str | list[str] | None = None
    """The endpoint of direct/ models without one in models.model-file, up to /v1; again for each server."""
    api_key_env: Annotated[str, setting("models")] = "OPENAI_API_KEY"
    """The environment variable that holds the key."""
    model_file: Annotated[Path | None, setting("models")] = None
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

    # The command line makes its options from these, with the text below each as its help.

    concurrency: int | None = None
    """Maximum number of requests in flight at each endpoint; adapts by default."""
    requests_per_minute: Annotated[float | None, setting("models")] = None
    """Maximum number of requests to a model per minute, over all processes."""
    tokens_per_minute: Annotated[float | None, setting("models")] = None
    """Maximum number of tokens of its prompts and answers per minute, over all processes."""
    temperature: float | None = None
    """Sampling temperature from 0 to 2; the server's default otherwise."""
    max_tokens: Annotated[int | None, setting("models")] = None
    """Maximum length of an answer in tokens, where a request sets none; the server's default otherwise."""
    token_budget: int | None = None
    """Stop when the models have used this many tokens."""
    cost_budget: float | None = None
    """Stop when the models have cost this much."""
    timeout: Annotated[float | None, setting("models")] = None
    """Timeout of a call in seconds; 300 by default."""
    wait_for_server: Annotated[float | None, setting("models")] = None
    """Seconds to wait for the server of a direct/ model while it is down; 0 by default."""
    price: Annotated[str | None, setting("models")] = None
    """The price of a million tokens, in and out, such as 0.15,0.60; a third price is for cached tokens."""
    hooks: Annotated[list[str] | None, setting("models")] = None
    """Hooks around every call to a model: FILE.py:NAME, or the name of an installed hook."""
    dry_run: bool = False
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

    def budget(self, share: Share = WHOLE, *, spending: Spending | None = None) -> Ledger:
        """Returns a ledger that holds the share of the budget that one of several processes has."""
        return Ledger(
            cost_budget=None if self.cost_budget is None else self.cost_budget / share.of,
            token_budget=None if self.token_budget is None else max(1, self.token_budget // share.of),
            calls=KeptCalls() if share is WHOLE else None,
            spending=spending,
        )


class Session(NamedTuple):
    """Models that are open, by name, what is kept of their answers, and what all of them cost."""

    models: OpenModels
    journal: Journal | None
    ledger: Ledger
    made_up: bool = False
    """Whether answers are made up, to estimate the cost."""

    @property
    def at_once(self) -> int:
        """How many items to begin at a time, so that some can still be stopped; in batches all are begun."""
        return max((int(getattr(model, "at_once", AT_ONCE)) for model in self.models.values()), default=AT_ONCE)

    def model(self, name: str, asker: Asker, *, repeating: bool = False) -> Pipeline:
        """Returns a model for an asker, with the hooks of the run; `repeating`, an answer that broke is asked for anew.

        An asker without an item is counted under its episode.
        """
        hooks = [OneConversation(), *([Repeating()] if repeating else [])]
        said = asker if asker.item else msgspec.structs.replace(asker, item=asker.episode)
        return asked_by(said, self.models, name, *hooks, journal=self.journal, ledgers=(self.ledger,))


def asked_by(
    asker: Asker, models: OpenModels, name: str, *hooks: Hook, journal: Journal | None, ledgers: Iterable[Ledger]
) -> Pipeline:
    """Returns a model for an asker, with what keeps and counts its answers."""
    model = models.asked(models.of(name, asker.role), name, asker.role)
    of_run: list[Hook] = [] if journal is None else [Journalling(journal)]
    for ledger in ledgers:
        ledger.asked_of.add((asker.role, model.name))
        of_run += [Counting(ledger), Budget(ledger)]
    return with_hooks(model, *hooks, *of_run, **msgspec.structs.asdict(asker))


@asynccontextmanager
async def open_models(
    names: Iterable[str],
    settings: ModelSettings,
    *,
    ledger: Ledger | None = None,
    journal: Journal | None = None,
    hooks: Iterable[Hook] = (),
    seed: int = 0,
    share: Share = WHOLE,
    batches: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Session]:
    """Opens language models, each once, as long as they are needed.

    In a dry run no model is asked and no journal is opened. It ends where the models would be closed, with
    `DryRunOver`; where a `ledger` is given, its owner ends it.

    Args:
        names: of the models.
        settings: how they are asked.
        ledger: where costs are written down; one with the settings' budget if None.
        journal: keeps every answer; it is opened and closed with the models. See `journal_of`.
        hooks: see every call of every model, as do those that the settings name.
        seed: of the pauses between requests, and of what a local model draws.
        share: the part of the limits that this process has.
        batches: asks direct/ models in batches, which the journal keeps.
        report: told what becomes of batches.

    Raises:
        UserError: a name or a file cannot be used.
        DryRunOver: it was a dry run.
    """
    names, paces = list(dict.fromkeys(names)), Paces(share.of)
    check_addresses(names, settings)
    if settings.dry_run:
        async with estimating(names, settings, ledger=ledger, seed=seed) as estimated:
            yield estimated
        return
    hooks = [*hooks, *map(find_hook, settings.hooks or ())]
    if settings.max_tokens is not None:
        hooks.append(Tuning(max_tokens=settings.max_tokens))
    async with AsyncExitStack() as journals, AsyncExitStack() as stack:  # the models close first

        def open_for(name: str, role: str) -> Model:
            # Providers connect when they are first asked: there is nothing to wait for.
            provider = open_provider(name, settings, role, paces=paces, share=share, seed=seed)
            stack.push_async_exit(provider)
            return provider

        models = OpenModels(settings.said, open_for, settings.temperature, hooks=tuple(hooks))
        providers: dict[str, Provider] = {}
        for name in names:
            try:
                providers[name] = open_provider(name, settings, paces=paces, share=share, seed=seed)
            except NoAddress as nowhere:
                if not any(said.base_url for said in settings.said.roles.values()):
                    raise
                models[name] = Nowhere(name, nowhere)
        spending = None
        if journal is not None:
            await journals.enter_async_context(journal)
            spending = journal.spending
        for name, provider in providers.items():
            if batches and journal is not None:
                provider = _batched(provider, journal, settings, report)  # noqa: PLW2901
            models[name] = await stack.enter_async_context(provider)
        yield Session(models, journal, settings.budget(share, spending=spending) if ledger is None else ledger)


@asynccontextmanager
async def estimating(
    names: Sequence[str], settings: ModelSettings, *, ledger: Ledger | None, seed: int
) -> AsyncIterator[Session]:
    """Opens stand-ins for models; see `open_models`."""

    def stand_in(name: str, role: str) -> Model:
        if provider_named(name) in ("", "own"):
            open_model(name)  # raises an error if there is no such model, or its file is wrong
        said = settings.said.asking(name, role)
        price = Price(*said.price) if said.price is not None else read_price(settings.price)
        return StandIn(name, price=price, longest=settings.max_tokens, seed=seed)

    models = OpenModels(settings.said, stand_in, settings.temperature)
    models.update({name: stand_in(name, "") for name in names})
    counted = Ledger() if ledger is None else ledger
    over = DryRunOver(counted, token_budget=settings.token_budget, cost_budget=settings.cost_budget)
    try:
        yield Session(models, None, counted, made_up=True)
    except PlayFailure:
        if ledger is not None:
            raise  # of answers that were made up
    except DryRunOver as inner:
        if ledger is None:
            inner.ledger.include(counted)
        raise
    if ledger is None:
        raise over


def journal_of(where: Answers | None, *, run: str = "", prompts: bool = True) -> Journal | None:
    """Returns the journal of a run in a file, a database or what a command keeps for its workers; None for none."""
    return None if where is None else Journal(where, run=run, prompts=prompts)


def check_addresses(names: Sequence[str], options: Address) -> None:
    """Refuses an address that would reach nobody, as a provider of Inspect's or of the user's has one of its own."""
    check_no_key(names, "the name of a model")
    elsewhere = {
        "own": "your own provider has one",
        "inspect": "where Inspect's models are asked their provider's variable says, or base_url in models.model-file",
    }
    providers = {provider_named(name) for name in names}
    if options.base_url is not None and len(providers) == 1 and (where := elsewhere.get(*providers)):
        raise UserError(f"--base-url is the address of direct/ models, and {names[0]} is none; {where}")


def _batched(provider: Provider, journal: Journal, settings: ModelSettings, report: Callable[[str], None]) -> Provider:
    # With these comes what reaches an endpoint.
    from polyclinic.models.batch import Batched  # noqa: PLC0415
    from polyclinic.models.direct import Direct  # noqa: PLC0415

    if not isinstance(provider, Direct):
        return provider
    price = settings.said.asking(provider.name).batch_price
    return Batched(provider, journal, price=None if price is None else Price(*price), report=report)


def open_provider(
    name: str,
    options: ModelSettings,
    role: str = "",
    *,
    paces: Paces | None = None,
    share: Share = WHOLE,
    seed: int = 0,
    **more: Any,
) -> Provider:
    """Returns the provider to a model in a role, not open yet; `more` goes before what the options say of it."""
    said, provider = options.said.asking(name, role), provider_named(name)
    of_local = msgspec.structs.replace(SILENT, threads=said.threads)
    if said.of_provider not in (SILENT, of_local) and provider not in ("direct", "inspect"):
        how = ", ".join(msgspec.to_builtins(said.of_provider))
        raise UserError(f"models.model-file says where or how {name} is reached, and it is no endpoint's: {how}")
    if said.threads is not None and provider != "local":
        raise UserError(
            f"models.model-file says threads of {name}; it is for models on this machine: local, local/FILE.gguf"
        )
    addresses = options.addresses(name, role)
    if provider == "inspect" and len(addresses) > 1:
        raise UserError(f"models.model-file has several addresses for {name}; only direct/ models may have several")
    check_key(options.said, options.model_file, name, role)
    requests = said.requests_per_minute or options.requests_per_minute
    tokens = said.tokens_per_minute or options.tokens_per_minute
    # A key is for the address that it was named with: that of the command line goes to no address of the file.
    key = options.api_key_env if provider == "direct" and not said.base_urls else None
    given = {
        "base_url": (addresses[0] if provider == "inspect" else addresses) if addresses else None,
        "api_key_env": said.api_key_env or key,
        "timeout": options.timeout if said.timeout is None else said.timeout,
        "wait_for_server": options.wait_for_server,
        "extra_body": said.extra_body,
        "threads": said.threads,
        "price": Price(*said.price) if said.price is not None else read_price(options.price),
        "pace": (paces or Paces()).of(name, addresses, requests=requests, tokens=tokens),
        "concurrency": _limit(said.concurrency or options.concurrency, share),
        "seed": seed,
        **more,
    }
    return open_model(name, **{option: value for option, value in given.items() if value is not None})


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
        raise UserError(f"models.price {text!r}; needs what a million tokens cost, in and out: 0.15,0.60") from None
