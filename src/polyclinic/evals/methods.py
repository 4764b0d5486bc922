"""Our methods as solvers of Inspect, on our tasks and on other people's.

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
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ContentText
from inspect_ai.solver import Solver, TaskState, solver

from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import EndpointError, UserError
from polyclinic.evals.adapter import Tested, converted, kept_as, solving, with_arguments
from polyclinic.language.language import language_of
from polyclinic.methods.table import METHODS, Answering, ChosenMethod, answering, choose, find_method
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.examples import read_examples
from polyclinic.questions.shown import show

OUTCOME = "outcome"
"""The key of the outcome in a sample's store: the answer, and every call that it took."""

QUESTION = "polyclinic_question"
"""The key of the question in a sample's metadata, as we read it, with its context; holds no answer."""


class _Always(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is given to every method alike."""

    several: bool = False
    seed: int = 0
    temperature: float | None = None
    examples: str | None = None
    training: str | None = None


@functools.cache
def solver_of(method: str) -> Callable[..., Solver]:
    """Returns the solver of a method, or of `FILE.py:NAME`, registered under its name.

    Raises:
        UserError: there is no such method.
    """
    summary, name = find_method(method).summary, method.rpartition(":")[2]

    def made(**given: Any) -> Solver:
        always = converted({one: given.pop(one) for one in _Always.__struct_fields__ if one in given}, _Always, method)
        return _solving(chosen_with(method, given), always)

    doc = f"""Puts each sample to the method `{method}`: {summary}.

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
    return solver(name=name)(with_arguments(made, name, _Always, others="settings", doc=doc))


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

    def prepared(tested: Tested, epoch: int) -> Answering:
        seed = always.seed + epoch - 1
        return answering(
            chosen, lambda _: tested, examples=shown, training=learnt, temperature=always.temperature, seed=seed
        )

    async def play(put: Answering, state: TaskState) -> str:
        return await put_to(put, question_of(state, several=always.several), state)

    return solving(prepared, play, by_epoch=True)


async def put_to(put: Answering, question: Question, state: TaskState) -> str:
    """Puts a question to a method, and returns its completion as other people's scorers read an answer.

    Raises:
        EndpointError: no answer came.
    """
    outcome = await put(question)
    state.store.set(OUTCOME, msgspec.to_builtins(outcome, order="deterministic"))
    if outcome.end is OutcomeEnd.FAILED:
        raise EndpointError(outcome.problem)
    if not outcome.answers:
        return ""
    if state.choices:
        for place, key in enumerate(question.options):
            state.choices.mark_choice(place, key in outcome.answers)
    said = f"{outcome.rationale}\n\nANSWER: {', '.join(sorted(outcome.answers))}".strip()
    state.messages.append(ChatMessageAssistant(content=said))
    return said


def outcome_of(kept: object, kind: type[Outcome] = Outcome) -> Outcome:
    """Returns the outcome that a sample's store keeps under `OUTCOME`; BadInput if there is none."""
    outcome: Outcome = kept_as(kind, kept, "outcome", "one of polyclinic's methods")
    return outcome


SOLVERS: dict[str, Callable[..., Solver]] = {method: solver_of(method) for method in METHODS}
"""The solver of each method, by the method's name."""


def as_sample(asked: ExamQuestion) -> Sample:
    """Returns a question as a sample: the input is what is asked, the target the right keys."""
    question = asked.question
    choices = choices_of(question)
    return Sample(
        id=question.id,
        input=show(question, options=choices is None),
        choices=choices,
        target=list(asked.key),
        metadata={"subject": asked.subject, QUESTION: msgspec.to_builtins(question)},
    )


def choices_of(question: Question | None) -> list[str] | None:
    """Returns the options as Inspect's choices; None under other keys than its letters, such as yes, no and maybe.

    Inspect letters choices itself, and under other keys they would not be those of the target.
    """
    options = question.options if question is not None else {}
    lettered = list(options) == [_letter(place) for place in range(len(options))]
    return list(options.values()) if lettered else None


def question_of(state: TaskState, *, several: bool = False) -> Question:
    """Returns what a sample asks; its target is not looked at.

    One of ours is the question as it was read. Of any other the text of the input is the question and its choices are
    the options A, B and so on, without a context, in the language that most of it is written in. No solver may have
    changed the sample; its choices may have been shuffled.

    Raises:
        UserError: the sample has no choices, or asks with more than text.
    """
    texts = [choice.value for choice in state.choices]
    if (kept := state.metadata.get(QUESTION)) is not None:
        question = msgspec.convert(kept, Question)
        options = dict(zip(question.options, texts, strict=True)) if texts else question.options
        return msgspec.structs.replace(question, options=options)
    if not texts:
        raise UserError(
            f"sample {state.sample_id} has no choices; a method answers multiple-choice questions, such as those of a "
            "task that Inspect scores with choice()"
        )
    contents = [] if isinstance(state.input, str) else [message.content for message in state.input]
    if any(
        not isinstance(part, ContentText) for content in contents if not isinstance(content, str) for part in content
    ):
        raise UserError(f"sample {state.sample_id} asks with pictures or other files; a method reads text only")
    stem = state.input_text.strip()
    return Question(
        id=str(state.sample_id),
        stem=stem,
        options={_letter(place): text for place, text in enumerate(texts)},
        language=language_of([stem, *texts]),
        several=several,
    )


def _letter(place: int) -> str:
    """Returns how Inspect calls the choice at a place: A to Z, then 1, 2 and so on."""
    return ascii_uppercase[place] if place < len(ascii_uppercase) else str(place - len(ascii_uppercase) + 1)
