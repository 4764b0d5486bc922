"""Models that Inspect has opened, as models of ours."""

from __future__ import annotations

from collections import Counter
from typing import Any, Self, cast

from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput, get_model, model_roles
from inspect_ai.model import Model as InspectModel
from inspect_ai.util import LimitExceededError

from polyclinic.errors import BadInput, PolyclinicError
from polyclinic.models.inspect import Inspect

_ANY_NUMBER = 1_000_000
_USERS: Counter[int] = Counter()  # by the id of a model's provider, which several tasks may share


class Tested(Inspect):
    """A model that Inspect has opened, as a model of ours. Inspect counts, limits and retries its calls.

    Inspect opens models and closes none. When the last `async with` ends, the connections of our own provider are
    closed, if the model is to be closed; it opens them again with the next call.
    """

    def __init__(self, model: InspectModel, *, closes: bool = True) -> None:
        # Inspect takes an open model for a name, and its own limit is the one that counts here.
        super().__init__(cast(str, model), concurrency=_ANY_NUMBER)
        self._model = cast(InspectModel, _AsConfigured(model))
        self._closes = closes and self.name.startswith("inspect/direct/")

    async def __aenter__(self) -> Self:
        _USERS[id(self._model.api)] += 1
        return self

    async def __aexit__(self, *error: object) -> None:
        users = _USERS[id(self._model.api)] = _USERS[id(self._model.api)] - 1
        if not users and self._closes:
            await self._model.api.aclose()

    def _named(self, error: Exception) -> Exception:
        # A limit ends the sample, and our provider's errors have their names.
        return error if isinstance(error, LimitExceededError | PolyclinicError) else super()._named(error)


class _AsConfigured:
    """Leaves the time-out to Inspect's own options."""

    def __init__(self, model: InspectModel) -> None:
        self._model, self.api = model, model.api

    async def generate(self, messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        return await self._model.generate(messages, config=config.model_copy(update={"timeout": None}))


def in_role(role: str, name: str) -> Tested:
    """Returns the model that `--model-role` gives a role, else the named one in that role.

    Raises:
        BadInput: Inspect cannot open the named model.
    """
    if role in model_roles():
        return Tested(get_model(role=role), closes=False)
    if name.partition("/")[0] == "local":
        raise BadInput(f"{name}: Inspect cannot open it; serve it, and give direct/NAME")
    # Not among the models that Inspect keeps for everybody: it is closed when no sample needs it.
    return Tested(get_model(name.removeprefix("inspect/"), role=role, memoize=False))


def kept(store: Any, key: str, by: str) -> Any:
    """Returns what a sample's store keeps under a key; raises BadInput if there is nothing."""
    if (found := store.get(key)) is None:
        raise BadInput(f"the sample's store has no {key}; was it solved by {by}?")
    return found
