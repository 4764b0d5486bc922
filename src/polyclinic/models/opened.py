"""Models that are open, each for whoever asks it: a role may have an endpoint, a key and a manner of its own."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import msgspec

from polyclinic.errors import EndpointError, ModelError, NoAddress, RateLimited, Rejected
from polyclinic.models.balance import Balance
from polyclinic.models.door import Door
from polyclinic.models.limits import Limit
from polyclinic.models.model import Answer, AskOptions, Messages, Model, Reply, Wrapper
from polyclinic.models.model_file import NOTHING_SAID, ROLES, SILENT, Asking, Effort, ModelFile, PlayedBy
from polyclinic.models.open import door_named
from polyclinic.models.retry import Fault, Patience
from polyclinic.seeds import derive

_JUDGE: PlayedBy = "judge"
_ATTEMPTS, _SECONDS = 6, 600.0  # as of direct/ models

_log = logging.getLogger(__name__)


class OpenModels(dict[str, Model]):
    """Models by name, as whoever has no role of its own asks them; `of` is for those who have.

    Args:
        said: what the file of models says.
        open_one: opens a model for a role, with what the file says of both.
        temperature: at which judges are asked, where the file says nothing of them and a question names none.
    """

    def __init__(
        self,
        said: ModelFile = NOTHING_SAID,
        open_one: Callable[[str, str], Model] | None = None,
        temperature: float | None = None,
    ) -> None:
        super().__init__()
        self._said, self._open, self._temperature = said, open_one, temperature
        self._of_roles: dict[tuple[str, str], Model] = {}

    @classmethod
    def just(cls, models: Mapping[str, Model]) -> OpenModels:
        """Returns models that are asked in one way by everybody."""
        made = cls()
        made.update(models)
        return made

    def of(self, name: str, role: str) -> Model:
        """Returns the model as it is opened for a role; the same for all roles of which the file says nothing.

        Raises:
            NoAddress: nobody said where it is asked in that role.
            UserError: it cannot be opened as the file says.
        """
        if self._open is None or self._said.roles.get(role, SILENT).of_door == SILENT:
            if isinstance(model := self[name], Nowhere):
                raise model.problem
            return model
        if (name, role) not in self._of_roles:
            self._of_roles[name, role] = self._open(name, role)
        return self._of_roles[name, role]

    def sees(self, name: str, role: str) -> bool:
        """Whether somebody says that a model takes pictures, in a role."""
        return bool(self._said.asking(name, role).sees)

    def asked(self, model: Model, name: str, role: str) -> Model:
        """Returns the model of a name with the temperature and effort at which a role asks it.

        What the file says of a temperature goes before the question's own, for the roles that it may speak of. Methods
        are none of them: they have temperatures of their own, and are asked at the file's where they have none.
        """
        said = self._said.asking(name, role)
        firm = said.temperature if role in ROLES else None
        otherwise = self._temperature if role == _JUDGE and firm is None else said.temperature
        if firm is None and otherwise is None and said.effort is None:
            return model
        return Tuned(model, temperature=firm, otherwise=otherwise, effort=said.effort)


class Tuned(Wrapper):
    """A model that is asked at a temperature, whatever the question says, or `otherwise` where it says none.

    The effort is that of questions that name none.
    """

    def __init__(
        self, model: Model, *, temperature: float | None, otherwise: float | None, effort: Effort | None
    ) -> None:
        super().__init__(model)
        self._temperature, self._otherwise, self._effort = temperature, otherwise, effort

    def ask(
        self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]
    ) -> Coroutine[Any, Any, Reply]:
        """Asks the model behind; see `Model.ask`."""
        # Not a coroutine of its own: a journal counts equal questions when they are put, and not when they begin.
        if self._temperature is not None:
            options["temperature"] = self._temperature
        elif options.get("temperature") is None and self._otherwise is not None:
            options["temperature"] = self._otherwise
        if options.get("reasoning") is None and self._effort is not None:
            options["reasoning"] = self._effort
        return self._model.ask(messages, answer=answer, **options)


class Nowhere:
    """A model that has an address in some roles alone."""

    def __init__(self, name: str, problem: NoAddress) -> None:
        self.name, self.problem = name, problem

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Says that it cannot be asked."""
        del messages, answer, options
        raise self.problem


class Belonging(Wrapper):
    """A model at several servers, asked for one conversation."""

    def __init__(self, model: Model, conversation: str) -> None:
        super().__init__(model)
        self._conversation = conversation

    def ask(
        self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]
    ) -> Coroutine[Any, Any, Reply]:
        """Asks the model behind; see `Model.ask`."""
        options.setdefault("conversation", self._conversation)
        return self._model.ask(messages, answer=answer, **options)


class _Replica:
    """One address of a provider's model."""

    def __init__(self, door: Model, address: str, limit: Limit) -> None:
        self.door, self.address, self.limit = door, address, limit
        self.stopped: Fault | None = None

    async def models(self, *, timeout: float | None = None) -> list[str]:  # noqa: ASYNC109
        """Returns none: a provider does not say, and only a question tells whether it is there."""
        del timeout
        return []

    def told(self, fault: Fault) -> str:
        """Returns a fault with where it was met."""
        return f"{self.address}: {fault.problem}"


class Replicas:
    """A provider's model at several addresses, asked as several servers of `direct/` are: see `Balance`.

    The doors are opened already, and ask once: whoever fails is left to the others.

    Args:
        doors: the model at each address.
        addresses: where.
        limit: how many questions at a time the first takes; the others take as many.
        rng: draws the pauses.
        report: told what happens to servers, a line each.
        pause: seconds before a question is asked again at most; doubled for each further time.
    """

    def __init__(
        self,
        doors: Sequence[Model],
        addresses: Sequence[str],
        *,
        limit: Limit,
        rng: random.Random,
        report: Callable[[str], None] = _log.warning,
        pause: float = 0.5,
    ) -> None:
        self.doors, self.addresses, self._rng, self._pause = tuple(doors), tuple(addresses), rng, pause
        limits = [limit, *(limit.like() for _ in doors[1:])]
        servers = [_Replica(*one) for one in zip(doors, addresses, limits, strict=True)]
        self.limit = limit
        self._balance: Balance[_Replica] = Balance(servers, model="", name=self.name, rng=rng, report=report)

    @property
    def name(self) -> str:
        """Names the model."""
        return self.doors[0].name

    @property
    def variant(self) -> str:
        """What each request says beside the question."""
        return str(getattr(self.doors[0], "variant", ""))

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks where the conversation belongs, or where there is room, and elsewhere where that fails.

        Raises:
            EndpointError: no answer came from any of them, after several attempts.
        """
        now = asyncio.get_running_loop().time
        patience = Patience(attempts=_ATTEMPTS, seconds=_SECONDS, pause=self._pause, rng=self._rng, clock=now)
        conversation = options.get("conversation") or repr(messages)
        tried: list[_Replica] = []
        while True:
            server = await self._balance.enter(conversation, tried)
            result: Reply | Fault | None = None
            failure: EndpointError | None = None
            began = now()
            try:
                patience.begin()
                result = await server.door.ask(messages, answer=answer, **options)
                server.limit.went_well()
            except ModelError:
                server.limit.went_well()
                raise
            except EndpointError as error:
                failure = error
                result = Fault(type(error), error.problem, again=not isinstance(error, Rejected))
                if isinstance(error, RateLimited):
                    server.limit.too_many()
            finally:
                self._balance.leave(server, result, now() - began)
            if isinstance(result, Reply):
                return msgspec.structs.replace(result, attempts=patience.made, server=server.address)
            tried.append(server)
            wait = patience.wait(result) if isinstance(result, Fault) else None
            if wait is None and failure is not None:
                raise type(failure)(f"{failure.problem}, {patience.made} attempts", attempts=patience.made) from None
            if not self._balance.goes_elsewhere(tried):
                tried.clear()
                await asyncio.sleep(wait or 0.0)


class ModelDoors(NamedTuple):
    """The doors to a model, its addresses, and how many questions at a time each takes."""

    doors: list[Door]
    addresses: list[str]
    limit: Limit | int

    def as_one(self, opened: Sequence[Model], seed: int) -> Model:
        """Returns the doors, which are open, as one model; the seed is that of pauses."""
        if len(opened) == 1:
            return opened[0]
        limit = self.limit if isinstance(self.limit, Limit) else Limit(self.limit)
        return Replicas(opened, self.addresses, limit=limit, rng=derive(seed, "pauses", opened[0].name))


def addresses_of(said: Asking, name: str, otherwise: Sequence[str]) -> list[str]:
    """Returns where a model is asked: as the file says, `otherwise` for direct ones; nothing where its door knows."""
    return said.base_urls or (list(otherwise) if door_named(name) == "direct" else [])


def door_of(said: Asking, **otherwise: Any) -> dict[str, Any]:
    """Returns how a door is opened: as the file says, and `otherwise`."""
    named = {"api_key_env": said.api_key_env, "timeout": said.timeout, "extra_body": said.extra_body}
    named["threads"] = said.threads
    return otherwise | {name: value for name, value in named.items() if value is not None}
