"""Our methods as solvers of Inspect, on other people's tasks.

    inspect eval inspect_evals/medqa --solver polyclinic/medagents -S question_experts=3 --model direct/NAME

Each method has the name and the settings that it has on the command line; see `polyclinic.methods.table`.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Self, cast

import msgspec
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ContentText,
    GenerateConfig,
    ModelOutput,
    get_model,
    model_roles,
)
from inspect_ai.model import Model as InspectModel
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput, EndpointError, PolyclinicError, UserError
from polyclinic.language.language import language_of
from polyclinic.methods.table import METHODS, Answering, answering, choose, find_method
from polyclinic.models.inspect import Inspect
from polyclinic.questions.examples import read_examples

_ANY_NUMBER = 1_000_000
_USERS: Counter[int] = Counter()  # by the id of a model's provider, which several tasks may share


class Tested(Inspect):
    """A model that Inspect has opened, as a model of ours. Inspect counts, limits and retries its calls.

    Inspect opens models and closes none. When the last `async with` ends, the connections of our own provider are
    closed, if the model is to be closed; it opens them again with the next call.
    """

    def __init__(self, model: InspectModel, *, closes: bool = True) -> None:
        # Inspect takes an open model for a name, and its own limit is the one that counts here.
        super().__init__(cast(str, model), concurrency=_ANY_NUMBER)
        self._model = cast(InspectModel, _AsConfigured(model))
        self._closes = closes and self.name.startswith("inspect/direct/")

    async def __aenter__(self) -> Self:
        _USERS[id(self._model.api)] += 1
        return self

    async def __aexit__(self, *error: object) -> None:
        users = _USERS[id(self._model.api)] = _USERS[id(self._model.api)] - 1
        if not users and self._closes:
            await self._model.api.aclose()

    def _named(self, error: Exception) -> Exception:
        # A limit ends the sample, and our provider's errors have their names.
        return error if isinstance(error, LimitExceededError | PolyclinicError) else super()._named(error)


class _AsConfigured:
    """Leaves the time-out to Inspect's own options."""

    def __init__(self, model: InspectModel) -> None:
        self._model, self.api = model, model.api

    async def generate(self, messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        return await self._model.generate(messages, config=config.model_copy(update={"timeout": None}))


def in_role(role: str, name: str) -> Tested:
    """Returns the model that `--model-role` gives a role, else the named one in that role."""
    if role in model_roles():
        return Tested(get_model(role=role), closes=False)
    if name.partition("/")[0] == "local":
        raise BadInput(f"{name}: Inspect cannot open it; serve it, and give direct/NAME")
    # Not among the models that Inspect keeps for everybody: it is closed when no sample needs it.
    return Tested(get_model(name.removeprefix("inspect/"), role=role, memoize=False))


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
    made.__doc__ = f"Puts each sample to the method `{method}`: {summary}. docs/inspect.md has the options."
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
    try:
        return msgspec.convert(store.get(OUTCOME), Outcome)
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
