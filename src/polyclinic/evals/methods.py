"""Our methods as solvers of Inspect, on our tasks and on other people's.

    inspect eval inspect_evals/medqa --solver polyclinic/medagents -S question_experts=3 --model direct/NAME

Each method has the name and the settings that it has on the command line; see `polyclinic.methods.table`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from inspect_ai.model import ChatMessageAssistant, ModelOutput, get_model
from inspect_ai.model import Model as InspectModel
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.errors import BadInput, EndpointError, UserError
from polyclinic.evals.adapter import Tested
from polyclinic.evals.questions import question_of
from polyclinic.methods.table import METHODS, Answering, ChosenMethod, answering, choose, find_method
from polyclinic.questions.examples import read_examples

OUTCOME = "outcome"
"""Where in a sample's store the outcome lies: the answer, and every call that it took."""


class _Prepared(NamedTuple):
    """A method with a model, and what it has learnt with it."""

    model: InspectModel
    tested: Tested
    put: Answering


class _Always(msgspec.Struct, frozen=True, kw_only=True):
    """What is given to every method alike."""

    several: bool
    seed: int
    temperature: float | None
    examples: str | None
    training: str | None


@functools.cache
def solver_of(method: str) -> Callable[..., Solver]:
    """Returns the solver of a method, or of `FILE.py:NAME`, registered under its name.

    Raises:
        UserError: there is no such method.
    """
    summary, name = find_method(method).summary, method.rpartition(":")[2]

    def made(
        *,
        several: bool = False,
        seed: int = 0,
        temperature: float | None = None,
        examples: str | None = None,
        training: str | None = None,
        **settings: Any,
    ) -> Solver:
        given = {
            "several": several,
            "seed": seed,
            "temperature": temperature,
            "examples": examples,
            "training": training,
        }
        try:
            always = msgspec.convert(given, _Always)
        except msgspec.ValidationError as error:
            raise UserError(f"{method}: {error}") from None
        return _solving(chosen_with(method, settings), always)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"""Puts each sample to the method `{method}`: {summary}.

    The sample's choices are the options, and the chosen ones are marked. An answer that cannot be used marks none and
    leaves the completion empty; where no answer comes, the sample is an error of Inspect's.

    Args:
        several: any number of options may be right, and all of them are asked for; else one is.
        seed: of what the method draws; each further epoch has the next one.
        temperature: of every call; by default the method's own.
        examples: file of answered questions that few-shot methods show; by default ours.
        training: file of answered questions that medprompt learns from; by default ours.
        settings: of the method, as on the command line.

    Raises:
        UserError: no such setting, a value that it does not take, or a file that cannot be used.
    """
    return solver(name=name)(made)


def chosen_with(method: str, settings: dict[str, Any]) -> ChosenMethod:
    """Returns a method with settings that are values or their texts.

    Raises:
        UserError: no such method or setting, or a value that it does not take.
    """
    return choose([method], [f"{key}={_text(value)}" for key, value in settings.items()])[0]


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _solving(chosen: ChosenMethod, always: _Always) -> Solver:
    shown = read_examples(Path(always.examples)) if always.examples is not None else ()
    learnt = read_examples(Path(always.training)) if always.training is not None else ()
    ready: dict[tuple[int, int], _Prepared] = {}

    def prepared(epoch: int) -> _Prepared:
        """Returns the method for the model under test: one solver may serve several, each with what it has learnt."""
        model = get_model()
        key = id(model), epoch
        if key not in ready:
            tested = Tested(model)
            put = answering(
                chosen,
                lambda _: tested,
                examples=shown,
                training=learnt,
                temperature=always.temperature,
                seed=always.seed + epoch - 1,
            )
            ready[key] = _Prepared(model, tested, put)
        return ready[key]

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        question = question_of(state, several=always.several)
        method = prepared(state.epoch)
        try:
            async with method.tested:
                outcome = await method.put(question)
        except LimitExceededError:
            # It may be what all samples wait for that met the limit of this one; the next prepares it anew.
            if ready.get((id(method.model), state.epoch)) is method:
                del ready[id(method.model), state.epoch]
            raise
        state.store.set(OUTCOME, msgspec.to_builtins(outcome, order="deterministic"))
        if outcome.end is OutcomeEnd.FAILED:
            raise EndpointError(outcome.problem)
        if outcome.answers and state.choices:
            for place, key in enumerate(question.options):
                state.choices.mark_choice(place, key in outcome.answers)
        said = _said(outcome)
        if said:
            state.messages.append(ChatMessageAssistant(content=said))
        state.output = ModelOutput.from_content(str(method.model), said)
        return state

    return solve


def _said(outcome: Outcome) -> str:
    """Returns the outcome as other people's scorers read an answer; nothing where there is none."""
    if not outcome.answers:
        return ""
    return f"{outcome.rationale}\n\nANSWER: {', '.join(sorted(outcome.answers))}".strip()


def outcome_of(kept: object) -> Outcome:
    """Returns the outcome that a sample's store keeps under `OUTCOME`.

    Raises:
        BadInput: there is none, or it is of another version.
    """
    if kept is None:
        raise BadInput("the sample's store holds no outcome; was it solved by one of polyclinic's methods?")
    try:
        return msgspec.convert(kept, Outcome)
    except msgspec.ValidationError as error:
        raise BadInput(f"the outcome in the sample's store cannot be read: {error}") from None


SOLVERS: dict[str, Callable[..., Solver]] = {method: solver_of(method) for method in METHODS}
"""The solver of each method, by the method's name."""
