"""A model that Inspect has opened, as a model of ours."""

from __future__ import annotations

from typing import Self, cast

from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput
from inspect_ai.model import Model as InspectModel
from inspect_ai.util import LimitExceededError

from polyclinic.errors import PolyclinicError
from polyclinic.models.inspect import Inspect

_ANY_NUMBER = 1_000_000


class Tested(Inspect):
    """A model that Inspect has opened, as a model of ours; what Inspect counts, limits and retries stays Inspect's.

    Inspect opens models and closes none. `async with` is for one that nobody else uses: the last visit that leaves
    closes the connections of our own provider, which opens them again when it is asked again.
    """

    def __init__(self, model: InspectModel) -> None:
        # Inspect takes an open model for a name, and its own limit is the one that counts here.
        super().__init__(cast(str, model), concurrency=_ANY_NUMBER)
        self._model = cast(InspectModel, _AsConfigured(model))
        self._visits = 0

    async def __aenter__(self) -> Self:
        self._visits += 1
        return self

    async def __aexit__(self, *error: object) -> None:
        self._visits -= 1
        if not self._visits and self.name.startswith("inspect/direct/"):
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
