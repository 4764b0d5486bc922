"""Models that are open, each for whoever asks it: a role may have an endpoint, a key and a manner of its own."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Unpack

from polyclinic.errors import NoAddress
from polyclinic.models.balance import rank
from polyclinic.models.limits import Limit
from polyclinic.models.model import Answer, AskOptions, Messages, Model, Reply, Wrapper
from polyclinic.models.model_file import NOTHING_SAID, ROLES, SILENT, Asking, Effort, ModelFile, PlayedBy
from polyclinic.models.open import door_named

_JUDGE: PlayedBy = "judge"


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


class Replicas:
    """A provider's model at several addresses; the conversation says which is asked. They are opened already."""

    def __init__(self, doors: Sequence[Model], addresses: Sequence[str]) -> None:
        self.doors, self.addresses = tuple(doors), tuple(addresses)

    @property
    def name(self) -> str:
        """Names the model."""
        return self.doors[0].name

    @property
    def variant(self) -> str:
        """What each request says beside the question."""
        return str(getattr(self.doors[0], "variant", ""))

    @property
    def limit(self) -> Limit | None:
        """The limit of all of them."""
        limit = getattr(self.doors[0], "limit", None)
        return limit if isinstance(limit, Limit) else None

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks where the conversation belongs; see `Model.ask`."""
        conversation = options.get("conversation") or repr(messages)
        at = max(range(len(self.doors)), key=lambda number: rank(conversation, self.addresses[number]))
        return await self.doors[at].ask(messages, answer=answer, **options)


def addresses_of(said: Asking, name: str, otherwise: Sequence[str]) -> list[str]:
    """Returns where a model is asked: as the file says, `otherwise` for direct ones; nothing where its door knows."""
    return said.base_urls or (list(otherwise) if door_named(name) == "direct" else [])


def door_of(said: Asking, **otherwise: Any) -> dict[str, Any]:
    """Returns how a door is opened: as the file says, and `otherwise`."""
    named = {"api_key_env": said.api_key_env, "timeout": said.timeout, "extra_body": said.extra_body}
    named["threads"] = said.threads
    return otherwise | {name: value for name, value in named.items() if value is not None}
