"""A model that is asked again where an endpoint's answer was none and its door would not ask again."""

from __future__ import annotations

from typing import Unpack

from polyclinic.errors import Broken
from polyclinic.models.model import Answer, AskOptions, Messages, Model, Reply, Wrapper

_TIMES = 4


class Persistent(Wrapper):
    """A model for what runs for days, such as a practice: an answer that broke is asked for anew, a few times.

    It stands behind a journal, which then holds one answer to a question.
    """

    def __init__(self, model: Model, *, times: int = _TIMES) -> None:
        super().__init__(model)
        self._times = times

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks the model behind; see `Model.ask`."""
        for _ in range(self._times - 1):
            try:
                return await self._model.ask(messages, answer=answer, **options)
            except Broken:
                continue
        return await self._model.ask(messages, answer=answer, **options)
