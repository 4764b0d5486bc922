"""A model whose answers have a greatest length, whoever asks."""

from __future__ import annotations

from typing import Unpack

from polyclinic.models.model import Answer, AskOptions, Messages, Model, Reply, Wrapper


class Bounded(Wrapper):
    """A model that is asked for answers of so many tokens at most; a longer one is `CutOff`.

    Args:
        model: who answers.
        tokens: of an answer, where the question names no number of its own.
    """

    def __init__(self, model: Model, tokens: int) -> None:
        super().__init__(model)
        self._tokens = tokens

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks the model behind; see `Model.ask`."""
        if options.get("max_tokens") is None:
            options["max_tokens"] = self._tokens
        return await self._model.ask(messages, answer=answer, **options)
