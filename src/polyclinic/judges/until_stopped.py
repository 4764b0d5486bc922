"""A judge that a run's budget ends: what it ruled by then stands, and what it was not asked counts as a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from polyclinic.errors import AccessLost, PlayFailure, RunStopped, StoppedByHand, UnknownModel, WrongKey
from polyclinic.models.model import Answer, AskOptions, Messages, Model, Reply, Wrapper


class NotAsked(PlayFailure):
    """The run ended before the judge was asked."""


class UntilStopped(Wrapper):
    """A model that is asked until the run has cost what it may cost; every question behind that is `NotAsked`.

    `is_stopped` says whether somebody stopped the run.

    Attributes:
        stopped: what ended it, None where nothing did.
    """

    def __init__(self, model: Model, *, is_stopped: Callable[[], bool] = lambda: False) -> None:
        super().__init__(model)
        self.is_stopped = is_stopped
        self.stopped: RunStopped | None = None

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks the model behind; see `Model.ask`.

        Raises:
            NotAsked: the run has cost what it may cost, somebody stopped it, or the judge cannot be asked (any more).
        """
        if self.is_stopped():
            self.stopped = self.stopped or StoppedByHand("interrupted")
            raise NotAsked(str(self.stopped))
        try:
            return await self._model.ask(messages, answer=answer, **options)
        except RunStopped as stopped:
            self.stopped = self.stopped or stopped
            raise NotAsked(str(stopped)) from None
        except (WrongKey, UnknownModel) as refused:
            # What is judged is over by then, and paid for.
            self.stopped = self.stopped or AccessLost(str(refused))
            raise NotAsked(str(refused)) from None
