"""A judge that a run's budget ends: what it ruled by then stands, and what it was not asked counts as a failure."""

from __future__ import annotations

from typing import Unpack

from polyclinic.errors import PlayFailure, RunStopped
from polyclinic.models.model import Answer, AskOptions, Messages, Model, Reply, Wrapper


class NotAsked(PlayFailure):
    """The run ended before the judge was asked."""


class UntilStopped(Wrapper):
    """A model that is asked until the run has cost what it may cost; every question behind that is `NotAsked`.

    Attributes:
        stopped: what ended it, None where nothing did.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.stopped: RunStopped | None = None

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks the model behind; see `Model.ask`.

        Raises:
            NotAsked: the run has cost what it may cost.
        """
        try:
            return await self._model.ask(messages, answer=answer, **options)
        except RunStopped as stopped:
            self.stopped = self.stopped or stopped
            raise NotAsked(str(stopped)) from None
