"""Methods of the user's: any function of a question and a model.

    async def ask_twice(question, model, times=2):
        replies = [await model.ask(show(question)) for _ in range(times)]
        return replies[-1].text

What it returns is a key, text that is read as an answer, several keys, or an `Outcome`. Further parameters are its
settings; `seed`, `temperature` and `examples` are given to it where it has them. Every call that it makes is counted.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from polyclinic.answering.calls import Calls
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.doors import parameters
from polyclinic.errors import PlayFailure, PolyclinicError, UnreadableReply, UserError
from polyclinic.models.model import Model, Reply
from polyclinic.questions.answers import read_answer


def check_parameters(function: object, name: str) -> list[str]:
    """Returns the names of the parameters behind the question and the model.

    Raises:
        UserError: it is no function of a question and a model.
    """
    if not callable(function):
        raise UserError(f"method {name!r} is no function, but {type(function).__name__}")
    positional = [p for p in parameters(function).values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(positional) < 2:
        raise UserError(f"method {name!r} takes {len(positional)} parameters; a question and a model are needed")
    return list(parameters(function))[2:]


def of_user(function: object, name: str) -> Callable[..., Awaitable[Outcome]]:
    """Returns a method of the user's as one that gives an outcome, whatever it returns."""
    assert callable(function)  # noqa: S101

    @functools.wraps(function)
    async def method(question: Question, model: Model, **settings: Any) -> Outcome:
        calls = Calls(model)
        try:
            made = function(question, calls, **settings)
            made = await made if inspect.isawaitable(made) else made
            if isinstance(made, Outcome):
                return made
            text = made.text if isinstance(made, Reply) else made
            rationale = text if isinstance(text, str) and text not in question.options else ""
            return calls.outcome(question.id, _keys(text, question, name), rationale=rationale)
        except PlayFailure as failure:
            return calls.failed(question.id, failure)
        except PolyclinicError:
            raise
        except Exception as error:
            problem = " ".join(f"{type(error).__name__}: {error}".split())
            raise UserError(f"method {name!r} failed on question {question.id!r}: {problem}") from error

    return method


def _keys(made: object, question: Question, name: str) -> frozenset[str]:
    """Returns the keys that a method's answer names; an UnreadableReply where none, or more than were asked for."""
    if isinstance(made, str):
        return frozenset([made]) if made in question.options else read_answer(made, question)
    keys = frozenset(made) if isinstance(made, Collection) else frozenset()
    if not keys or not keys <= question.options.keys() or (len(keys) > 1 and not question.several):
        allowed = f"{'keys' if question.several else 'one key'} of {', '.join(question.options)}"
        raise UnreadableReply(f"method {name!r} returned {made!r:.80}; needed: {allowed}, or text")
    return keys
