"""Methods of the user's: any function of a question and a model.

    async def ask_twice(question, model, times=2):
        replies = [await model.ask(show(question)) for _ in range(times)]
        return replies[-1].text

It returns a key, text that is read as an answer, several keys, or an `Outcome`. Further parameters are its settings;
`seed`, `temperature` and `examples` are passed if it has them, and so are `record` (`question.context` is its text) and
`retriever` on a patient's record. Every call is counted. An error that it raises, or a value that is not an answer,
breaks this question: it is not correct, and the run continues.
"""

from __future__ import annotations

import functools
import inspect
import re
import traceback
from collections.abc import Awaitable, Callable
from types import CoroutineType, NoneType
from typing import Any

import msgspec

from polyclinic.answering.calls import Calls
from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import PlayFailure, UnreadableReply, UserError, in_one_line
from polyclinic.models.model import Model, Reply
from polyclinic.plugins import parameters, raised_at, stopped_from_outside
from polyclinic.questions.answers import read_answer


def bare(function: Any) -> Any:
    """Returns what stands behind arguments that were given beforehand (`functools.partial`)."""
    return bare(function.func) if isinstance(function, functools.partial) else function


def check_parameters(function: object, name: str) -> list[str]:
    """Returns the names of the parameters behind the question and the model."""
    if not callable(function) or isinstance(function, type):
        came = "a class; an object of it can be one" if isinstance(function, type) else type(function).__name__
        raise UserError(f"method {name!r} is no function, but {came}")
    positional = [p for p in parameters(function).values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(positional) < 2:
        raise UserError(f"method {name!r} takes {len(positional)} parameters; a question and a model are needed")
    return list(parameters(function))[2:]


class BrokenMethod(PlayFailure):
    """A method of the user's raised an error, or gave nothing that can be an answer."""


def of_user(function: object, name: str) -> Callable[..., Awaitable[Outcome]]:
    """Returns a method of the user's as one that gives an outcome, whatever it returns or raises.

    The outcome's calls are those that were seen here; what a method says of them is not asked.
    """
    assert callable(function)  # noqa: S101

    @functools.wraps(function)
    async def method(question: Question, model: Model, **settings: Any) -> Outcome:
        calls = Calls(model)
        try:
            made = function(question, calls, **settings)
            made = await made if inspect.isawaitable(made) else made
            outcome = _read(made, question, name)
        except BaseException as error:
            # Whoever stops the run is no mistake of the method's; that a task of its own was cancelled is one.
            if stopped_from_outside() or isinstance(error, KeyboardInterrupt | GeneratorExit):
                raise
            outcome = _unanswered(error, question, calls)
        if calls.ended_by is not None:
            raise calls.ended_by
        if outcome.end is OutcomeEnd.FAILED and not calls.unanswered:
            told = BrokenMethod(f"failed, though every call was answered: {outcome.problem}")
            outcome = _unanswered(told, question, calls)
        # A text may hold half of a character, which no file takes.
        rationale = outcome.rationale.encode(errors="backslashreplace").decode()
        return msgspec.structs.replace(
            outcome, trace=calls.asked, rationale=rationale, problem=in_one_line(outcome.problem)
        )

    return method


def _unanswered(error: BaseException, question: Question, calls: Calls) -> Outcome:
    """Returns the outcome of a question that a method gave up, or on which it made a mistake: what, and where."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, PlayFailure) and not isinstance(error, BrokenMethod):
        return calls.failed(question.id, error)
    for frame, _ in traceback.walk_tb(error.__traceback__):
        # Python would warn of a call that was not awaited, in a line of ours.
        for left in frame.f_locals.values():
            if inspect.iscoroutine(left) and inspect.getcoroutinestate(left) == inspect.CORO_CREATED:
                left.close()
    place = f" ({at})" if (at := raised_at(error, __file__)) else ""
    # Where something lies in memory is another place in every run.
    told = re.sub(r" at 0x[0-9a-fA-F]+", "", str(error))
    kind = "" if isinstance(error, BrokenMethod) else type(error).__name__
    problem = ": ".join(part for part in (kind, told) if part) + place
    return Outcome(question=question.id, end=OutcomeEnd.BROKEN, problem=problem)


def _read(made: object, question: Question, name: str) -> Outcome:
    """Returns the outcome of what a method returned; a BrokenMethod for an outcome that contradicts itself."""
    if not isinstance(made, Outcome):
        text = made.text if isinstance(made, Reply) else made
        rationale = text if isinstance(text, str) and text not in question.options else ""
        return Outcome(question=question.id, answers=_keys(text, question, name), rationale=rationale)
    said = msgspec.structs.asdict(msgspec.structs.replace(made, trace=()))
    if isinstance(said["answers"], str):
        said["answers"] = [said["answers"]]
    try:
        outcome = msgspec.convert(said, Outcome)
        keys = _keys(outcome.answers, question, name) if outcome.answers else frozenset()
    except (msgspec.ValidationError, UnreadableReply) as error:
        raise BrokenMethod(f"returned an Outcome that cannot be used: {error}") from None
    if outcome.question != question.id:
        raise BrokenMethod(f"returned an Outcome of another question, {outcome.question!r:.80}")
    if bool(keys) != (outcome.end in {OutcomeEnd.ANSWERED, OutcomeEnd.TIE}):
        raise BrokenMethod(f"returned an Outcome with end {outcome.end} and {len(keys) or 'no'} answers")
    return outcome


def _keys(made: object, question: Question, name: str) -> frozenset[str]:
    """Returns the keys that a method's answer names; an UnreadableReply where none, or more than were asked for."""
    if isinstance(made, str):
        return frozenset([made]) if made in question.options else read_answer(made, question)
    parts = list(made) if isinstance(made, set | frozenset | list | tuple) else None
    for one in [made] if parts is None else parts:
        if inspect.iscoroutine(one):
            one.close()
    if parts is None or not all(isinstance(one, str) for one in parts):
        kinds = type(made).__name__ + (f" of {type(parts[0]).__name__}" if parts else "")
        hint = {NoneType: " (a forgotten return)", CoroutineType: " (a forgotten await)"}.get(type(made), "")
        came = "None" if made is None else kinds
        raise BrokenMethod(f"returned {came}, which is no answer{hint}; needed: text, a key, keys, or an Outcome")
    keys = frozenset(parts)
    if not keys or not keys <= question.options.keys() or (len(keys) > 1 and not question.several):
        allowed = f"{'keys' if question.several else 'one key'} of {', '.join(question.options)}"
        raise UnreadableReply(f"method {name!r} returned {made!r:.80}; needed: {allowed}, or text")
    return keys
