"""Our methods as solvers of Inspect, on other people's tasks.

    inspect eval inspect_evals/medqa --solver polyclinic/medagents -S question_experts=3 --model direct/NAME

Each method has the name and the settings that it has on the command line; see `polyclinic.methods.table`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import msgspec
from inspect_ai.model import ChatMessageAssistant, ContentText, ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput, EndpointError, UserError
from polyclinic.evals.adapter import Tested, kept
from polyclinic.language.language import language_of
from polyclinic.methods.table import METHODS, Answering, answering, choose, find_method
from polyclinic.questions.examples import read_examples

OUTCOME = "outcome"
"""The key of the outcome in a sample's store: the answer, and every call that it took."""


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
        chosen = choose([method], [f"{key}={_text(value)}" for key, value in settings.items()])[0]
        shown, learnt = (() if file is None else read_examples(Path(file)) for file in (examples, training))
        ready: dict[tuple[int, int], tuple[Tested, Answering]] = {}  # by model and epoch

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            del generate
            model = get_model()
            key = id(model), state.epoch
            if key not in ready:
                tested = Tested(model)
                ready[key] = (
                    tested,
                    answering(
                        chosen,
                        lambda _: tested,
                        examples=shown,
                        training=learnt,
                        temperature=temperature,
                        seed=seed + state.epoch - 1,
                    ),
                )
            tested, put = mine = ready[key]
            try:
                async with tested:
                    outcome = await put(question := question_of(state, several=several))
            except LimitExceededError:
                # All samples may wait for what met the limit of this one; the next prepares it anew.
                if ready.get(key) is mine:
                    del ready[key]
                raise
            state.store.set(OUTCOME, msgspec.to_builtins(outcome, order="deterministic"))
            if outcome.end is OutcomeEnd.FAILED:
                raise EndpointError(outcome.problem)
            for place, option in enumerate(question.options if outcome.answers else ()):
                state.choices.mark_choice(place, option in outcome.answers)
            said = told(outcome)
            if said:
                state.messages.append(ChatMessageAssistant(content=said))
            state.output = ModelOutput.from_content(str(model), said)
            return state

        return solve

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"""Puts each sample to the method `{method}`: {summary}.

    The sample's choices are the options, and the chosen ones are marked. An answer that cannot be used marks none and
    leaves the completion empty; if no answer comes, the sample is an error.

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


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool | None) else str(value)


def told(outcome: Outcome) -> str:
    """Returns the completion of an outcome as other people's scorers read an answer; "" without an answer."""
    return f"{outcome.rationale}\n\nANSWER: {', '.join(sorted(outcome.answers))}".strip() if outcome.answers else ""


def outcome_of(store: Any) -> Outcome:
    """Returns the outcome in a sample's store; BadInput if there is none."""
    found = kept(store, OUTCOME, "one of polyclinic's methods")
    try:
        return msgspec.convert(found, Outcome)
    except msgspec.ValidationError as error:
        raise BadInput(f"the outcome in the sample's store cannot be read: {error}") from None


SOLVERS: dict[str, Callable[..., Solver]] = {method: solver_of(method) for method in METHODS}
"""The solver of each method, by the method's name."""


def question_of(state: TaskState, *, several: bool = False) -> Question:
    """Returns what a sample asks; its target is not looked at.

    The text of the input is the question and its choices are the options A, B and so on, without a context, in the
    language that most of it is written in. No solver may have changed the sample; its choices may have been shuffled.

    Raises:
        UserError: the sample has no choices, or asks with more than text.
    """
    texts = [choice.value for choice in state.choices]
    if not texts:
        raise UserError(
            f"sample {state.sample_id} has no choices; a method answers multiple-choice questions, such as those of a "
            "task that Inspect scores with choice()"
        )
    contents = [] if isinstance(state.input, str) else [message.content for message in state.input]
    parts = [part for content in contents if not isinstance(content, str) for part in content]
    if not all(isinstance(part, ContentText) for part in parts):
        raise UserError(f"sample {state.sample_id} asks with pictures or other files; a method reads text only")
    # Inspect calls its choices A to Z, then 1, 2 and so on.
    letters = [*ascii_uppercase, *map(str, range(1, len(texts)))]
    stem = state.input_text.strip()
    return Question(
        id=str(state.sample_id),
        stem=stem,
        options=dict(zip(letters, texts, strict=False)),
        language=language_of([stem, *texts]),
        several=several,
    )
