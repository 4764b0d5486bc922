"""Exam questions as samples of Inspect, and samples of anybody's as questions for our methods."""

from __future__ import annotations

from string import ascii_uppercase

import msgspec
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessage, ContentText
from inspect_ai.solver import TaskState

from polyclinic.cases.presentation import Question
from polyclinic.errors import UserError
from polyclinic.language.language import language_of
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.shown import show

QUESTION = "polyclinic_question"
"""Where in a sample's metadata the question lies as we read it, with its context; holds no answer."""


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


def exam_question_of(sample: Sample) -> ExamQuestion:
    """Returns the question that `as_sample` made a sample of."""
    known = sample.metadata or {}
    return ExamQuestion(
        question=msgspec.convert(known[QUESTION], Question), key=tuple(sample.target), subject=known["subject"]
    )


def question_of(state: TaskState, *, several: bool = False) -> Question:
    """Returns what a sample asks; its target is not looked at.

    One of ours is the question as it was read. Of any other the text of the input is the question and its choices are
    the options A, B and so on, without a context, in the language that most of it is written in; `several` says that
    any number of them may be right. No solver may have changed the sample; its choices may have been shuffled.

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
    if not isinstance(state.input, str) and not all(map(_is_text, state.input)):
        raise UserError(f"sample {state.sample_id} asks with pictures or other files; a method reads text only")
    stem = state.input_text.strip()
    return Question(
        id=str(state.sample_id),
        stem=stem,
        options={_letter(place): text for place, text in enumerate(texts)},
        language=language_of([stem, *texts]),
        several=several,
    )


def _is_text(message: ChatMessage) -> bool:
    return isinstance(message.content, str) or all(isinstance(part, ContentText) for part in message.content)


def _letter(place: int) -> str:
    """Returns how Inspect calls the choice at a place: A to Z, then 1, 2 and so on."""
    return ascii_uppercase[place] if place < len(ascii_uppercase) else str(place - len(ascii_uppercase) + 1)
