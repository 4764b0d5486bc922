"""Minds that users bring, from a file (`my.py:doctor`), a package or as an object; and scripted minds.

    def doctor(ask, role):
        if ask.purpose == "report":
            return ["influenza", "pneumonia"]
        return DoctorTurn("Goodbye.", conclude=True) if role.turns_left() == 1 else "What else hurts?"

A function keeps nothing between its answers. A class, or a function that makes a mind, is called for each role of each
visit, with `seed` if it takes one. An instance is shared by all visits.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from polyclinic import plugins
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.errors import BadInput, PolyclinicError, ScriptError, UnknownMind, in_short
from polyclinic.files import check_file, decode
from polyclinic.opened_files import read_at_once
from polyclinic.players.player import (
    Ask,
    BrokenMind,
    Choice,
    Disputes,
    DoctorTurn,
    NextStep,
    PatientTurn,
    Purpose,
    Request,
    WrongAnswer,
)

M = TypeVar("M")

Answer = Callable[[Ask[Any], Any], object]  # An answer to (ask, role), which may be awaited first

_WANTED = "a mind is a function of (ask, role), or a class or object with such a method 'answer'"


def copied(mind: M) -> M:
    """Returns a mind with all that it keeps, for somebody who goes on from here; the same where it cannot be copied."""
    try:
        return copy.deepcopy(mind)
    except Exception:  # whatever somebody's own mind holds
        return mind


class OwnMind:
    """A mind that a user brought, made when it is first asked; `make` is from `maker_of`."""

    sees = True

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
            answer = ask.read(in_full(ask, await said if inspect.isawaitable(said) else said))
        except BadInput as error:
            raise self._broken(error) from error
        except PolyclinicError:
            # What a model that it asks fails with, or what ends a run.
            raise
        except asyncio.CancelledError as error:
            if plugins.stopped_from_outside():
                raise
            raise self._broken(error) from error
        except (Exception, SystemExit) as error:
            raise self._broken(error) from error
        told: tuple[str, ...] = ()
        match answer:
            case DoctorTurn() | PatientTurn():
                told = (answer.say,)
            case Report():
                told = tuple(diagnosis.name for diagnosis in answer.diagnoses)
            case Request():
                told = answer.items
            case Disputes():
                told = answer.points
        if not all(text.strip() for text in told):
            raise WrongAnswer(f"asked to {ask.purpose}, nothing was said: a text is empty")
        return answer

    def _broken(self, error: BaseException) -> BrokenMind:
        return BrokenMind(f"{plugins.raised_at(error, __file__) or self.name}: {in_short(error)}")


def maker_of(thing: object, name: str) -> Callable[[int], Answer]:
    """Returns what makes the answering function of a visit's mind from a seed."""
    answer = getattr(thing, "answer", None)
    if answer is not None:
        # Of a class, the function still takes the instance.
        _check(answer, f"{name}'s method 'answer'", ("self",) if inspect.isclass(thing) else ())
        if not inspect.isclass(thing):
            return lambda _: answer
    elif inspect.isclass(thing):
        raise UnknownMind(f"{name} has no method 'answer'; {_WANTED}")
    elif not callable(thing):
        raise UnknownMind(f"{name} is {_a(thing)}; {_WANTED}")
    elif "seed" not in plugins.parameters(thing) and (_takes(thing, "ask", "role") or not _takes(thing)):
        _check(thing, name)
        return lambda _: thing
    options = {"seed"} & plugins.parameters(thing).keys()
    if not _takes(thing, **dict.fromkeys(options)):
        raise UnknownMind(f"{name} needs more to be made than polyclinic gives: it may take 'seed', or nothing")

    def make(seed: int) -> Answer:
        made = thing(**dict.fromkeys(options, seed))
        if not callable(made) and not hasattr(made, "answer"):
            raise UnknownMind(f"{name} takes no (ask, role), and what it makes is no mind but {_a(made)}; {_WANTED}")
        return maker_of(made, name)(seed)

    return make


def is_shared(thing: object) -> bool:
    """Whether a mind is an object that all visits share, so that what it keeps depends on their order."""
    return hasattr(thing, "answer") and not inspect.isclass(thing)


def _a(thing: object) -> str:
    return "None" if thing is None else type(thing).__name__


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
        taken = list(plugins.parameters(answer))[len(bound) :]
        arguments = f"{len(taken)} argument{'' if len(taken) == 1 else 's'}"
        raise UnknownMind(f"{name} takes {arguments} ({', '.join(taken)}); a mind takes (ask, role)")


def in_full(ask: Ask[Any], answer: object) -> object:
    """Returns an answer of the type that was asked for, where it was put shortly; any other as it is.

    A text stands for a turn that says it, for an option by its key or its text, or for the name of a diagnosis; a list
    of names and diagnoses for a report of nothing else, and a dict for a report of what it holds; a list of texts for
    what is requested, and for points of dispute. As the next step None stands for treating the patient here, as does
    a turn, of a mind that knows consultations alone, and the key of a department for a referral to it.
    """
    if isinstance(answer, str) and ask.question is not None:
        # By its key or its text, whatever the case of letters, as far as only one option is meant.
        options, meant = ask.question.options, answer.strip().casefold()
        by_key = [key for key in options if key.casefold() == meant]
        found = by_key or [key for key, text in options.items() if text.strip().casefold() == meant]
        return Choice(found[0] if answer not in options and len(found) == 1 else answer)
    if ask.answer is NextStep and (answer is None or isinstance(answer, str)):
        if answer in ask.among:
            return NextStep("", "refer", str(answer))
        return NextStep("", "conclude" if answer is None else answer)  # type: ignore[arg-type]
    if ask.answer is NextStep and (isinstance(answer, DoctorTurn) or (isinstance(answer, Mapping) and "say" in answer)):
        # Who answers with a turn knows consultations alone, and treats the patient.
        return NextStep("")
    several = [answer] if isinstance(answer, str | Diagnosis) else answer
    if ask.answer in (Request, Disputes) and isinstance(several, list | tuple):
        return ask.answer(tuple(several))
    if ask.answer is Report and isinstance(several, list | tuple):
        return in_full(ask, {"diagnoses": several})
    if ask.answer is Report and isinstance(answer, Mapping) and "diagnoses" in answer:
        named = answer["diagnoses"]
        named = [named] if isinstance(named, str | Diagnosis) else named
        if isinstance(named, list | tuple):
            named = [{"name": one} if isinstance(one, str) else one for one in named]
        return {**dict.fromkeys(Report.__struct_fields__, ()), **answer, "diagnoses": named}
    return turn_of(ask, answer)


def turn_of(ask: Ask[Any], answer: object) -> object:
    """Returns the turn that says a text, where a turn was asked for; any other answer as it is."""
    return ask.answer(answer) if isinstance(answer, str) and ask.answer in (DoctorTurn, PatientTurn) else answer


Script = Iterable[object] | Mapping[str, Iterable[object]] | Callable[[Ask[Any], Any], object]


class ScriptedMind:
    """Answers what its script says.

    Args:
        script: answers in the order in which they are asked for; or, by purpose (`speak`, `report`, ...), a list each;
            or a function of (ask, role). A text stands for a turn that says it; a dict or an object for the answer. By
            purpose, a script without the next step of a hospital's patient concludes.
    """

    reads = False

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self.name = name
        self._function = script if callable(script) else None
        listed = script if isinstance(script, Mapping) else {} if callable(script) else {"": script}
        self._answers = {str(purpose): list(answers) for purpose, answers in listed.items()}
        self._asked: Counter[str] = Counter()

    async def answer(self, ask: Ask[Any], role: object) -> object:
        """Answers the next thing of the script; `ScriptError` where it is spent, or holds nothing for this purpose."""
        if self._function is not None:
            return turn_of(ask, self._function(ask, role))
        key = "" if "" in self._answers else str(ask.purpose)
        asked = self._asked[key]
        answers = self._answers.get(key)
        if answers is None and ask.purpose is Purpose.NEXT_STEP:
            # Who wrote down a consultation alone has the patient treated where it is.
            return NextStep(reason="")
        if answers is None:
            held = ", ".join(sorted(self._answers)) or "nothing"
            raise ScriptError(f"asked to {ask.purpose}, and the script holds answers for {held} only")
        if asked >= len(answers):
            raise ScriptError(f"asked to {ask.purpose}, and the script of {len(answers)} answers is spent")
        self._asked[key] += 1
        said = turn_of(ask, answers[asked])
        return ask.read(said) if isinstance(said, msgspec.Struct) else said


def read_script(path: Path) -> Script:
    """Reads a script's file."""
    check_file(path)
    problem = "a script is a JSON list of answers, or an object with such a list for each purpose (open, speak, ...)"
    try:
        return msgspec.json.decode(decode(read_at_once(path), path=path), type=list[Any] | dict[str, list[Any]])
    except msgspec.ValidationError:
        raise BadInput(problem, path=path) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInput(f"{problem}; this is not JSON: {error}", path=path) from None
