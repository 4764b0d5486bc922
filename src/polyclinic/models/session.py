"""Models opened together: how they are asked, what is kept of their answers, and what all of them cost."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from polyclinic.errors import NoAddress, PlayFailure, UserError
from polyclinic.models.door import Door
from polyclinic.models.journal import Journal, SharedRun
from polyclinic.models.kept_calls import KeptCalls
from polyclinic.models.ledger import Ledger
from polyclinic.models.limits import Limit
from polyclinic.models.model import LONGEST, Model, Price
from polyclinic.models.model_file import NOTHING_SAID, SILENT, Asking, ModelFile, check_key, read_model_file
from polyclinic.models.open import door_named, open_model
from polyclinic.models.opened import Belonging, ModelDoors, Nowhere, OpenModels, addresses_of, door_of
from polyclinic.models.pace import Paces
from polyclinic.models.persistent import Persistent
from polyclinic.models.rehearsal import DryRunOver, Rehearsed, Rehearsing
from polyclinic.models.secrets import check_address, check_no_key, check_variable
from polyclinic.models.share import WHOLE, Share, part_of, parts_of
from polyclinic.stores.address import is_store
from polyclinic.tasks import unbounded

MOST_AT_ONCE = 1024
"""Questions at a time to an endpoint that is adapted to, over all processes of a run."""

_MOST = {"temperature": 2.0, "timeout": LONGEST}
_LEAST = {
    "concurrency": 1,
    "requests_per_minute": 0.1,
    "tokens_per_minute": 1,
    "max_tokens": 1,
    "max_cost": 0,
    "temperature": 0,
    "timeout": 0.001,
    "wait_for_server": 0,
    "pilot": 0,
}


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where language models are asked."""

    base_url: str | list[str] | None = None
    """The endpoint's address, up to /v1, of all direct/ models that --model-file gives none; again for each server."""
    api_key_env: str = "OPENAI_API_KEY"
    """The environment variable that holds the key."""
    model_file: Path | None = None
    """Where each model, and each role, is asked, with which key, how, and what it costs; TOML."""

    def __post_init__(self) -> None:
        check_variable(self.api_key_env)
        for url in self.base_urls:
            check_address(url)

    @property
    def base_urls(self) -> list[str]:
        """The addresses; none where none is given."""
        return [self.base_url] if isinstance(self.base_url, str) else list(self.base_url or ())

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
class ModelOptions(Address):
    """How language models are asked, and what they may cost; a value that cannot be used is a `UserError`."""

    # The command line makes its options from these, and says what stands below each.

    concurrency: int | None = None
    """Questions at a time to an endpoint; adapts where left out."""
    requests_per_minute: float | None = None
    """Requests to a model in any minute at most, over all processes."""
    tokens_per_minute: float | None = None
    """Tokens of its prompts and answers in any minute at most, over all processes."""
    temperature: float | None = None
    """From 0, always the likeliest word, to 2; the server's where left out."""
    max_tokens: int | None = None
    """Stop when the models have used so many tokens."""
    max_cost: float | None = None
    """Stop when the models have cost so much."""
    timeout: float | None = None
    """Seconds that one call may take; 300 where left out."""
    wait_for_server: float | None = None
    """Seconds that the server of a direct/ model is waited for while it is away; 0 where left out."""
    price: str | None = None
    """What a million tokens cost, in and out, such as 0.15,0.60; a third price is that of tokens from the cache."""
    dry_run: bool = False
    """Ask nobody, write nothing: say how many calls, tokens and money the run is expected to take."""
    pilot: int = 0
    """With --dry-run: put the first so many questions of each purpose to the model, to measure tokens and seconds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= _MOST.get(name, value):
                allowed = f"{least} to {_MOST[name]:g}" if name in _MOST else f"{least} or more"
                raise UserError(f"--{name.replace('_', '-')} {value:g}; allowed: {allowed}")
        if self.pilot and not self.dry_run:
            raise UserError(f"--pilot {self.pilot} is of a dry run; add --dry-run, or leave it out")
        read_price(self.price)
        _ = self.said  # what cannot be used is told before anything begins


class Session(NamedTuple):
    """Models that are open, by name, what is kept of their answers, and what all of them cost."""

    models: OpenModels
    journal: Journal | None
    ledger: Ledger

    def metered(
        self, name: str, *, role: str, episode: str, persistent: bool = False, item: str = "", player: str = ""
    ) -> Model:
        """Returns a model as a role asks it, its answers kept for the episode, and its cost under the role.

        Where it is `persistent`, an answer that broke is asked for anew. `item` and `player` are as in `KeptCall`.
        """
        model = self.models.of(name, role)
        if persistent:
            model = Persistent(model)
        if len(getattr(model, "addresses", ())) > 1 and episode and role != "judge":
            # All judging of a run is one episode, and no conversation.
            model = Belonging(model, f"{role} {episode}")
        model = self.ledger.gate(model)
        if self.journal is not None:
            model = self.journal.wrap(model, episode=episode, role=role)
        asked = self.models.asked(model, name, role)
        return self.ledger.meter(asked, role, item=item or episode, player=player, gated=True)


@asynccontextmanager
async def open_session(
    names: Iterable[str],
    options: ModelOptions,
    *,
    journal: str | Path | None = None,
    run: str = "",
    shared: SharedRun | None = None,
    seed: int = 0,
    share: Share = WHOLE,
    prompts: bool = True,
    batches: Path | str | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Session]:
    """Opens language models, each once, and what is kept of their answers, as long as they are needed.

    The journal is the file that keeps every answer, for runs of the same name, and what was asked, unless `prompts` is
    False; each of several processes has a file of its own beside it, and the `share` of the limits that is its own. It
    may be a database's address (`postgresql://...`), which all of them share; or the run may be `shared` in one beside
    its files.
    With `batches`, the file of their ids or a store's address, direct/ models are asked so; what comes is `report`ed.
    The seed is that of the pauses between requests, and of what a local model draws. A name or a file that cannot be
    used is a `UserError`.

    A dry run asks nobody, and ends with what it expects where the models would be closed: `DryRunOver`.
    """
    if options.dry_run:
        async with _rehearsed(list(dict.fromkeys(names)), options, seed=seed) as session:
            yield session
        return
    ledger = Ledger(
        max_cost=None if options.max_cost is None else options.max_cost / share.of,
        max_tokens=None if options.max_tokens is None else max(1, options.max_tokens // share.of),
        calls=KeptCalls() if share is WHOLE else None,
    )
    names, paces = list(dict.fromkeys(names)), Paces()
    check_addresses(names, options)
    async with AsyncExitStack() as stack:
        if batches is not None:
            stack.enter_context(unbounded())

        def open_for(name: str, role: str) -> Model:
            # Doors to endpoints connect when they are first asked: there is nothing to wait for.
            found = _doors(name, role, options, paces, share=share, seed=seed)
            for door in found.doors:
                stack.push_async_exit(door)
            return found.as_one(found.doors, seed)

        def to_open(name: str) -> ModelDoors:
            found = _doors(name, "", options, paces, share=share, seed=seed)
            if batches is not None:
                found = found._replace(doors=_batched(name, found.doors, (batches, run), options, report))
            return found

        models = OpenModels(options.said, open_for, options.temperature)
        for name in names:
            try:
                found = to_open(name)
            except NoAddress as nowhere:
                if not any(said.base_url for said in options.said.roles.values()):
                    raise
                models[name] = Nowhere(name, nowhere)
                continue
            models[name] = found.as_one([await stack.enter_async_context(door) for door in found.doors], seed)
        kept = None
        if journal is not None and is_store(journal):
            kept = await stack.enter_async_context(Journal(journal, run=run, prompts=prompts))
        elif journal is not None:
            whole, journal = Path(journal), Path(journal)
            if share.of > 1:
                journal = part_of(whole, share)
            kept = await stack.enter_async_context(
                Journal(journal, run=run, beside=parts_of(whole, journal), prompts=prompts, shared=shared)
            )
        yield Session(models, kept, ledger)


_REHEARSING: ContextVar[Rehearsing | None] = ContextVar("rehearsing", default=None)


@asynccontextmanager
async def _rehearsed(names: Sequence[str], options: ModelOptions, *, seed: int) -> AsyncIterator[Session]:
    """Opens stand-ins for models; those that were opened first, of several sessions, say what is expected."""
    outer = _REHEARSING.get()
    rehearsing = outer or Rehearsing(pilot=options.pilot, at_once=options.concurrency, seed=seed)
    paces = Paces()
    async with AsyncExitStack() as stack:

        def stand_in(name: str, role: str) -> Model:
            if door_named(name) in ("", "own"):
                open_model(name)  # says which names there are, or what is wrong with a file
            said = options.said.asking(name, role)
            price = Price(*said.price) if said.price is not None else read_price(options.price)
            if not options.pilot:
                return Rehearsed(name, rehearsing, price=price)
            found = _doors(name, role, options, paces, share=WHOLE, seed=seed)
            for door in found.doors:
                stack.push_async_exit(door)
            return Rehearsed(name, rehearsing, price=price, model=found.as_one(found.doors, seed))

        models = OpenModels(options.said, stand_in, options.temperature)
        models.update({name: stand_in(name, "") for name in names})
        before = _REHEARSING.set(rehearsing)
        try:
            yield Session(models, None, rehearsing.ledger)
        except PlayFailure:
            if outer is not None:
                raise  # of answers that were made up
        finally:
            _REHEARSING.reset(before)
    if outer is None:
        limits = ("max_tokens", "max_cost", "requests_per_minute", "tokens_per_minute")
        raise DryRunOver(rehearsing.forecast(**{name: getattr(options, name) for name in limits}))


def check_addresses(names: Sequence[str], options: Address) -> None:
    """Refuses an address that would reach nobody: Inspect's models are asked where their provider says, own ones too.

    Raises:
        UserError: --base-url is given, and all models are Inspect's, or all one's own; or a key stands in a name.
    """
    check_no_key(names, "the name of a model")
    inspects = [name for name in names if door_named(name) == "inspect"]
    if options.base_url is not None and names and all(door_named(name) == "own" for name in names):
        raise UserError(
            f"--base-url is the address of direct/ models, and {names[0]} is none; your own door knows where it asks"
        )
    if options.base_url is not None and inspects and len(inspects) == len(names):
        raise UserError(
            f"--base-url is the address of direct/ models, and {inspects[0]} is none; where Inspect's models are asked "
            "their provider's variable says, or base_url in --model-file"
        )


def _batched(
    name: str,
    doors: Sequence[Door],
    kept: tuple[Path | str, str],
    options: ModelOptions,
    report: Callable[[str], None],
) -> list[Door]:
    """Returns the doors to a model as they are asked by batches; `kept` says where their ids are, and of which run."""
    # With these comes what reaches an endpoint.
    from polyclinic.models.batch import Batched  # noqa: PLC0415
    from polyclinic.models.direct import Direct  # noqa: PLC0415

    said = options.said.asking(name)
    price = None if said.batch_price is None else Price(*said.batch_price)
    return [Batched(one, *kept, price=price, report=report) if isinstance(one, Direct) else one for one in doors]


def _doors(name: str, role: str, options: ModelOptions, paces: Paces, *, share: Share, seed: int) -> ModelDoors:
    """Returns the doors to a model in a role, not open yet: Inspect's has a door for each of its addresses.

    Raises:
        UserError: the model cannot be opened so; among them a key's variable that is not set.
    """
    said, door = options.said.asking(name, role), door_named(name)
    of_local = msgspec.structs.replace(SILENT, threads=said.threads)
    if said.of_door not in (SILENT, of_local) and door not in ("direct", "inspect"):
        raise UserError(f"--model-file says where or how {name} is reached, and it is no endpoint's: {_on_line(said)}")
    if said.threads is not None and door != "local":
        raise UserError(
            f"--model-file says threads of {name}; it is for models on this machine: local, local/FILE.gguf"
        )
    check_key(options.said, options.model_file, name, role)
    price = Price(*said.price) if said.price is not None else read_price(options.price)
    limit = _limit(said.concurrency or options.concurrency, share)
    # A key is for the address that it was named with: that of the command line goes to no address of the file.
    key = Address().api_key_env if said.base_urls else options.api_key_env
    seconds = {"timeout": options.timeout, "wait_for_server": options.wait_for_server}
    otherwise = {name: value for name, value in seconds.items() if value is not None}
    given = door_of(said, api_key_env=None if door == "inspect" else key, price=price, seed=seed, **otherwise)
    addresses = addresses_of(said, name, options.base_urls)
    given["pace"] = paces.of(
        name,
        addresses,
        requests=said.requests_per_minute or options.requests_per_minute,
        tokens=said.tokens_per_minute or options.tokens_per_minute,
    )
    if door == "inspect" and len(addresses) > 1:
        # Who is asked is decided among them, and their own limits let in whoever comes.
        most = limit.most if isinstance(limit, Limit) else limit
        doors = [open_model(name, base_url=one, concurrency=most, attempts=1, **given) for one in addresses]
    else:
        doors = [open_model(name, base_url=addresses or None, concurrency=limit, **given)]
    return ModelDoors(doors, addresses, limit)


def _on_line(said: Asking) -> str:
    return ", ".join(msgspec.to_builtins(said.of_door))


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
