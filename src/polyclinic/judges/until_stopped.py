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

    `is_stopped` says whether somebody stopped the run. That the judge cannot be asked (any more) ends it as well, but
    not where it `judges_as_it_goes`: whoever holds what is not over by then is told, and ends it all.

    Attributes:
        stopped: what ended it, None where nothing did.
        answered: how many questions got an answer, or a failure of their own.
        not_asked: how many were `NotAsked`.
    """

    def __init__(
        self, model: Model, *, is_stopped: Callable[[], bool] = lambda: False, judges_as_it_goes: bool = False
    ) -> None:
        super().__init__(model)
        self._judges_as_it_goes = judges_as_it_goes
        self.is_stopped = is_stopped
        self.stopped: RunStopped | None = None
        self.answered = self.not_asked = 0

    @property
    def ending(self) -> RunStopped | None:
        """What ended it, with how many of its questions are missing; None where nothing did."""
        if self.stopped is None:
            return None
        asked = self.not_asked + self.answered
        return type(self.stopped)(f"{self.stopped}; {self.not_asked} of {asked} questions to {self.name} are not asked")

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks the model behind; see `Model.ask`.

        Raises:
            NotAsked: the run has cost what it may cost, somebody stopped it, or the judge cannot be asked (any more).
            WrongKey, UnknownModel: that is so, and it judges as it goes.
        """
        if self.is_stopped():
            raise self._not_asked(StoppedByHand("interrupted"))
        try:
            reply = await self._model.ask(messages, answer=answer, **options)
        except RunStopped as stopped:
            raise self._not_asked(stopped) from None
        except (WrongKey, UnknownModel) as refused:
            if self._judges_as_it_goes:
                raise
            # What is judged is over by then, and paid for.
            raise self._not_asked(AccessLost(str(refused))) from None
        except PlayFailure:
            self.answered += 1
            raise
        self.answered += 1
        return reply

    def _not_asked(self, stopped: RunStopped) -> NotAsked:
        self.stopped = self.stopped or stopped
        self.not_asked += 1
        return NotAsked(str(stopped))
