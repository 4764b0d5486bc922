"""Minds that users bring, from a file (`my.py:doctor`) or an installed package, and answers put shortly.

    def doctor(ask, role):
        if ask.purpose == "report":
            return ["influenza", "pneumonia"]
        return DoctorTurn("Goodbye.", conclude=True) if role.turns_left() == 1 else "What else hurts?"

A function keeps nothing between its answers. A class, or a function that makes a mind, is called for each role of each
visit, with `seed` where it takes one. An instance is shared by all visits.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import msgspec

from polyclinic import doors
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.errors import PolyclinicError, UnknownMind
from polyclinic.players.player import Ask, BrokenMind, Choice, Disputes, DoctorTurn, PatientTurn, Request

Answer = Callable[[Ask[Any], Any], object]
"""An answer to (ask, role), which may be awaited first."""

_WANTED = "a mind is a function of (ask, role), or a class or object with such a method 'answer'"


class OwnMind:
    """A mind that a user brought, made when it is first asked; `make` is from `maker_of`."""

    def __init__(self, make: Callable[[int], Answer], *, name: str, seed: int) -> None:
        self.name = name
        self._make, self._seed = make, seed
        self._answer: Answer | None = None

    async def answer(self, ask: Ask[Any], role: Any) -> object:
        """Answers with what the user's mind says, put in full; an exception of its own becomes `BrokenMind`."""
        try:
            if self._answer is None:
                self._answer = self._make(self._seed)
            said = self._answer(ask, role)
            return in_full(ask, await said if inspect.isawaitable(said) else said)
        except PolyclinicError:
            raise
        except Exception as error:
            raise BrokenMind(" ".join(f"{self.name}: {type(error).__name__}: {error}".split())) from error


def maker_of(thing: object, name: str) -> Callable[[int], Answer]:
    """Returns what makes the answering function of a visit's mind from a seed.

    The thing is a function of (ask, role), an object or class with a method `answer`, or a function that makes one;
    what is missing where it is none of these, an `UnknownMind` says.
    """
    answer = getattr(thing, "answer", None)
    if answer is not None:
        # Of a class, the function still takes the instance.
        _check(answer, f"{name}'s method 'answer'", ("self",) if inspect.isclass(thing) else ())
        if not inspect.isclass(thing):
            return lambda _: answer
    elif inspect.isclass(thing):
        raise UnknownMind(f"{name} has no method 'answer'; {_WANTED}")
    elif not callable(thing):
        raise UnknownMind(f"{name} is {type(thing).__name__}; {_WANTED}")
    elif "seed" not in doors.parameters(thing) and (_takes(thing, "ask", "role") or not _takes(thing)):
        _check(thing, name)
        return lambda _: thing
    options = {"seed"} & doors.parameters(thing).keys()
    if not _takes(thing, **dict.fromkeys(options)):
        raise UnknownMind(f"{name} needs more to be made than polyclinic gives: it may take 'seed', or nothing")

    def make(seed: int) -> Answer:
        made = thing(**dict.fromkeys(options, seed))
        return maker_of(made, name)(seed)

    return make


def _takes(function: object, *arguments: object, **options: object) -> bool:
    try:
        inspect.signature(function).bind(*arguments, **options)  # type: ignore[arg-type]
    except TypeError:
        return False
    except ValueError:
        # What is written in C may not say; then it shows when it is called.
        return bool(arguments)
    return True


def _check(answer: object, name: str, bound: tuple[str, ...] = ()) -> None:
    if not callable(answer):
        raise UnknownMind(f"{name} is no function; {_WANTED}")
    if not _takes(answer, *bound, "ask", "role"):
        taken = list(doors.parameters(answer))[len(bound) :]
        arguments = f"{len(taken)} argument{'' if len(taken) == 1 else 's'}"
        raise UnknownMind(f"{name} takes {arguments} ({', '.join(taken)}); a mind takes (ask, role)")


def in_full(ask: Ask[Any], answer: object) -> object:
    """Returns an answer of the type that was asked for, where it was put shortly; any other as it is.

    A text stands for a turn that says it, for the key of an option, or for the name of a diagnosis; a list of names and
    diagnoses for a report of nothing else; a list of texts for what is requested, and for points of dispute.
    """
    if isinstance(answer, str) and ask.answer is Choice:
        return Choice(answer)
    several = [answer] if isinstance(answer, str | Diagnosis) else answer
    if ask.answer in (Request, Disputes) and isinstance(several, list | tuple):
        return ask.answer(tuple(several))
    if ask.answer is Report and isinstance(several, list | tuple):
        return {**dict.fromkeys(Report.__struct_fields__, ()), "diagnoses": [_diagnosis(one) for one in several]}
    return turn_of(ask, answer)


def turn_of(ask: Ask[Any], answer: object) -> object:
    """Returns the turn that says a text, where a turn was asked for; any other answer as it is."""
    return ask.answer(answer) if isinstance(answer, str) and ask.answer in (DoctorTurn, PatientTurn) else answer


def _diagnosis(named: object) -> object:
    if isinstance(named, Diagnosis):
        return msgspec.to_builtins(named)
    return {"name": named} if isinstance(named, str) else named
