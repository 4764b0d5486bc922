"""A door to a model asks it once; reading what comes, and asking again where it cannot be read, is the same for all."""

from __future__ import annotations

import time
from typing import Any, Self, Unpack

from polyclinic.errors import EndpointError, ModelError, UnreadableReply
from polyclinic.language.thoughts import apart
from polyclinic.models.answers import Completion, read
from polyclinic.models.model import Answer, AskOptions, Messages, Reply, Usage
from polyclinic.models.schema import Form, form_of
from polyclinic.models.wishes import NOTHING, complaint, spoken_language

SHOWN = 4_000
"""Characters of its unreadable answer that a model is shown again."""

Said = list[tuple[str, Any]]
"""A conversation: who says it, and its text or parts."""

SENT = ("temperature", "top_p", "max_tokens", "reasoning", "seed")
"""The options that a model is sent."""


class Door:
    """A model that is opened with `async with`. A subclass has a name, and `complete`.

        class Loud(Door):
            name = "loud"

            async def complete(self, said, form, options):
                return Completion(said[-1][1].upper())

    `repairs` is as in `DoorOptions`.
    """

    name = ""
    repairs = 1

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Asks the model once; `form` is what the answer must look like, None for text."""
        raise NotImplementedError

    async def ask(self, messages: Messages, *, answer: Answer = None, **options: Unpack[AskOptions]) -> Reply:
        """Asks, reads, and asks again with the error told to the model; see `Model.ask`."""
        began = time.monotonic()
        form = None if answer is None else form_of(answer)
        said: Said = [("user", messages)] if isinstance(messages, str) else list(messages)
        usage, attempts, repairs = Usage(), 0, self.repairs
        while True:
            try:
                completion = await self.complete(said, form, options)
            except EndpointError as failure:
                # It was asked again, and now nothing comes: what went before was paid for all the same.
                failure.attempts += attempts
                failure.usage = usage if attempts else None
                raise
            usage = completion.usage if not attempts else usage + completion.usage
            attempts += completion.attempts
            try:
                value = read(completion, answer, form)
            except ModelError as failure:
                problem = failure
            else:
                spoken = apart(completion.text)
                thought = "\n".join(part for part in (completion.thought, spoken.thought) if part)
                return Reply(
                    spoken.said, value, usage, time.monotonic() - began, attempts, thought, server=completion.server
                )
            # What is no Unicode text could be neither sent back nor stored.
            text = completion.text.encode(errors="replace").decode()
            if repairs <= 0 or not isinstance(problem, UnreadableReply):
                raise type(problem)(problem.problem, text=text, usage=usage, attempts=attempts)
            repairs -= 1
            language = spoken_language(said)
            answered = apart(text).said[:SHOWN] or NOTHING[language]
            said = [*said, ("assistant", answered), ("user", complaint(problem, form, language))]


def sent(options: AskOptions) -> dict[str, Any]:
    """Returns those options that are given, by their names on the wire."""
    return {
        "reasoning_effort" if name == "reasoning" else name: value
        for name in SENT
        if (value := options.get(name)) is not None
    }
