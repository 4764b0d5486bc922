"""Models opened together: how they are asked, what is kept of their answers, and what all of them cost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import msgspec

from polyclinic.errors import NoAddress, PlayFailure, UserError
from polyclinic.models.answers import Completion
from polyclinic.models.journal import Answers, Journal, Journalling
from polyclinic.models.ledger import Budget, Counting, Ledger
from polyclinic.models.limits import WHOLE, Limit, Pace, Share
from polyclinic.models.model import AskOptions, Model, Price
from polyclinic.models.model_file import NOTHING_SAID, ROLES, SILENT, ModelFile, check_key
from polyclinic.models.open import open_model, provider_named
from polyclinic.models.pipeline import Asker, Hook, OneConversation, Pipeline, Repeating, Tuning, find_hook, with_hooks
from polyclinic.models.provider import Provider, Said
from polyclinic.models.schema import Form
from polyclinic.models.secrets import check_no_key
from polyclinic.models.settings import Address, ModelSettings
from polyclinic.tasks import AT_ONCE

MOST_AT_ONCE = 1024  # questions at a time to an endpoint that is adapted to, over all processes of a run


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
        """Returns a model for an asker with the hooks of the run; `repeating` asks again after a broken answer."""
        hooks = [OneConversation(), *([Repeating()] if repeating else [])]
        said = asker if asker.item else msgspec.structs.replace(asker, item=asker.episode)
        return self.models.asked_by(said, name, *hooks, journal=self.journal, ledgers=(self.ledger,))


class OpenModels(dict[str, Model]):
    """Models by name, as whoever has no role of its own asks them; `of` is for those who have."""

    def __init__(
        self,
        models: Mapping[str, Model] | None = None,
        said: ModelFile = NOTHING_SAID,
        open_one: Callable[[str, str], Model] | None = None,
        temperature: float | None = None,
        hooks: Sequence[Hook] = (),
    ) -> None:
        super().__init__(models or {})
        self._said, self._open, self._temperature, self._hooks = said, open_one, temperature, hooks
        self._of_roles: dict[tuple[str, str], Model] = {}

    def of(self, name: str, role: str) -> Model:
        """Returns the model as it is opened for a role; the same for all roles of which the file says nothing."""
        if self._open is None or self._said.roles.get(role, SILENT).of_provider == SILENT:
            if isinstance(model := self[name], Nowhere):
                raise model.problem
            return model
        if (name, role) not in self._of_roles:
            self._of_roles[name, role] = self._open(name, role)
        return self._of_roles[name, role]

    def sees(self, name: str, role: str) -> bool:
        """Whether somebody says that a model takes pictures, in a role."""
        return bool(self._said.asking(name, role).sees)

    def asked_by(
        self, asker: Asker, name: str, *hooks: Hook, journal: Journal | None, ledgers: Iterable[Ledger]
    ) -> Pipeline:
        """Returns a model for an asker, with what keeps and counts its answers.

        What the file says of a temperature goes before the question's own, for the roles that it may speak of. Methods
        are none of them: they have temperatures of their own, and are asked at the file's where they have none.
        """
        role, model = asker.role, self.of(name, asker.role)
        said = self._said.asking(name, role)
        firm = said.temperature if role in ROLES else None
        otherwise = self._temperature if role == "judge" and firm is None else said.temperature
        every = [*hooks] if journal is None else [*hooks, Journalling(journal)]
        for ledger in ledgers:
            ledger.asked_of.add((role, model.name))
            every += [Counting(ledger), Budget(ledger)]
        every += self._hooks
        if firm is not None or otherwise is not None or said.effort is not None:
            every.append(Tuning(temperature=firm, otherwise=otherwise, effort=said.effort))
        return with_hooks(model, *every, **msgspec.structs.asdict(asker))


class Nowhere(Provider):
    """A model that has an address in some roles alone."""

    def __init__(self, name: str, problem: NoAddress) -> None:
        self.name, self.problem = name, problem

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Raises the error that the model cannot be asked."""
        raise self.problem


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
    names, paces = list(dict.fromkeys(names)), dict[Any, Pace]()
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

        models = OpenModels(None, settings.said, open_for, settings.temperature, hooks)
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
            if batches and journal is not None and provider_named(name) == "direct":
                from polyclinic.models.batch import Batched  # noqa: PLC0415 - with what reaches an endpoint

                price = settings.said.asking(name).batch_price
                given = None if price is None else Price(*price)
                provider = Batched(provider, journal, price=given, report=report)  # type: ignore[arg-type]  # noqa: PLW2901
            models[name] = await stack.enter_async_context(provider)
        yield Session(models, journal, settings.budget(share, spending=spending) if ledger is None else ledger)


@asynccontextmanager
async def estimating(
    names: Sequence[str], settings: ModelSettings, *, ledger: Ledger | None, seed: int
) -> AsyncIterator[Session]:
    """Opens stand-ins for models; see `open_models`."""
    from polyclinic.models.dry_run import DryRunOver, StandIn  # noqa: PLC0415 - only of a dry run

    def stand_in(name: str, role: str) -> Model:
        if provider_named(name) in ("", "own"):
            open_model(name)  # raises an error if there is no such model, or its file is wrong
        return StandIn(name, price=settings.price_of(name, role), longest=settings.max_tokens, seed=seed)

    there = {name: stand_in(name, "") for name in names}
    models = OpenModels(there, settings.said, stand_in, settings.temperature)
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


def open_provider(
    name: str,
    options: ModelSettings,
    role: str = "",
    *,
    paces: dict[Any, Pace] | None = None,
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
    pace = None if requests is None and tokens is None else Pace(requests=requests, tokens=tokens, of=share.of)
    if pace is not None and paces is not None:  # a model may be opened more than once
        pace = paces.setdefault((name, *addresses), pace)
    # A key is for the address that it was named with: that of the command line goes to no address of the file.
    key = options.api_key_env if provider == "direct" and not said.base_urls else None
    given = {
        "base_url": (addresses[0] if provider == "inspect" else addresses) if addresses else None,
        "api_key_env": said.api_key_env or key,
        "timeout": options.timeout if said.timeout is None else said.timeout,
        "wait_for_server": options.wait_for_server,
        "extra_body": said.extra_body,
        "threads": said.threads,
        "price": options.price_of(name, role),
        "pace": pace,
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
