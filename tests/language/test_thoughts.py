"""Thoughts: whatever marks a model, or what serves it, puts around them, they are no part of what it says."""

import json
from typing import Literal

import msgspec
import pytest
from tests.tables import each_row

from polyclinic.errors import CutOff, UnreadableReply
from polyclinic.language.thoughts import SaidAndThought, apart
from polyclinic.models import wire
from polyclinic.models.answers import Completion, read
from polyclinic.models.direct import Direct
from polyclinic.models.schema import form_of


class Graded(msgspec.Struct):
    severity: Literal["mild", "severe"]


IDEA, ANSWER = '{"severity":"severe"}', '{"severity":"mild"}'


@each_row(
    ("text", "thought"),
    [
        (f"<think>{IDEA} But wait.</think>\n{ANSWER}", f"{IDEA} But wait."),
        (f"First {IDEA}.\n</think>\n\n{ANSWER}", f"First {IDEA}."),
        (f"<THINK>{IDEA}</THINK>{ANSWER}", IDEA),
        (f"<thinking>{IDEA}</thinking>{ANSWER}", IDEA),
        (f'<think budget="100">{IDEA}</think >{ANSWER}', IDEA),
        (f"<seed:think>{IDEA}</seed:think>{ANSWER}", IDEA),
        (f"<reasoning>{IDEA}</reasoning>{ANSWER}", IDEA),
        (f"<think>{IDEA}</think><think>Or not.</think>{ANSWER}", f"{IDEA}\nOr not."),
        (f"<think>{IDEA}<think>So.</think>{ANSWER}", f"{IDEA}\nSo."),
        (f"[THINK]{IDEA}[/THINK]{ANSWER}", IDEA),
        (f"◁think▷{IDEA}◁/think▷{ANSWER}", IDEA),
        (f"<unused94>thought\n{IDEA}<unused95>{ANSWER}", IDEA),
        (f"<|START_THINKING|>{IDEA}<|END_THINKING|><|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>", IDEA),
        (f"<|begin_of_thought|>{IDEA}<|end_of_thought|><|begin_of_solution|>{ANSWER}<|end_of_solution|>", IDEA),
        (
            f"<|channel|>analysis<|message|>{IDEA}<|end|><|start|>assistant<|channel|>final"
            f"<|constrain|>json<|message|>{ANSWER}<|return|>",
            IDEA,
        ),
        (f"{IDEA}<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}", IDEA),
        (f"analysisWe take {IDEA}. Done.assistantfinal{ANSWER}", f"We take {IDEA}. Done."),
        (f"analysis{IDEA} it is?assistantfinal{ANSWER}", f"{IDEA} it is?"),
        (f"<reason>{IDEA}</reason>{ANSWER}", IDEA),
        (f"<inner_monologue>{IDEA}</inner_monologue>{ANSWER}", IDEA),
        (f"< think >{IDEA}< / think >{ANSWER}", IDEA),
        (f"&lt;think&gt;{IDEA}&lt;/think&gt;{ANSWER}", IDEA),
        (f"＜think＞{IDEA}＜/think＞{ANSWER}", IDEA),
        (f"<|thinking|>{IDEA}<|/thinking|>{ANSWER}", IDEA),
        (f"<think>{IDEA}</think><answer>{ANSWER}</answer>", IDEA),
        (f"\ufeff<think>{IDEA}</think>{ANSWER}", IDEA),
        (f"<think/>{ANSWER}", ""),
        (ANSWER, ""),
    ],
)
def test_what_is_said_is_read_and_what_is_thought_is_kept(text, thought):
    assert apart(text) == SaidAndThought(ANSWER, thought)
    assert read(Completion(text), Graded, form_of(Graded)) == Graded("mild")


@each_row(
    "text",
    [
        f"<think>First idea: {IDEA}. But wait",
        f"<THINKING>{IDEA}",
        f"<think>a</think><think>{IDEA}",
        f"B <think>{IDEA}",
        f"[THINK]{IDEA}",
        f"<unused94>thought\n{IDEA}",
        f"<|channel|>analysis<|message|>{IDEA}",
        f"analysisWe take {IDEA}",
        f"analysis{IDEA}",
        f"<reason>{IDEA}",
        f"{IDEA}<think>was it so?",
    ],
)
def test_an_unfinished_thought_is_never_an_answer(text):
    for finish in ("stop", "length"):
        for answer in (Graded, ("mild", "severe"), None):
            with pytest.raises(CutOff):
                read(Completion(text, finish), answer, None if answer is None else form_of(answer))


@each_row(
    ("text", "said"),
    [
        ("B </think>", ""),
        ("The reasoning: B is best, <b>think</b> of it.", "The reasoning: B is best, <b>think</b> of it."),
        ("analysis of the chart gives B", "analysis of the chart gives B"),
        (json.dumps({"text": "He wrote <think> on the board"}), json.dumps({"text": "He wrote <think> on the board"})),
        ("  spaces stay\n", "  spaces stay\n"),
    ],
)
def test_what_only_looks_like_a_thought_is_left_alone(text, said):
    assert apart(text).said == said


def test_what_stands_in_the_prose_of_an_answer_that_was_cut_off_is_no_answer():
    form = form_of(Graded)
    for text in (f"At first sight {IDEA}, but on", f"```json\n{IDEA}\n```\nOn second thoughts"):
        assert read(Completion(text), Graded, form) == Graded("severe")
        with pytest.raises(CutOff):
            read(Completion(text, "length"), Graded, form)
    assert read(Completion(ANSWER, "length"), Graded, form) == Graded("mild")
    assert read(Completion("</think> severe"), ("mild", "severe"), form_of(("mild", "severe"))) == "severe"


def body(message):
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()


@each_row(
    ("message", "said", "thought"),
    [
        ({"content": "B", "reasoning_content": "A?"}, "B", "A?"),
        ({"content": "B", "reasoning": "A?"}, "B", "A?"),
        ({"content": None, "reasoning_content": "B"}, "", "B"),
        ({"content": [{"type": "text", "text": "Answer: "}, {"type": "text", "text": "B"}]}, "Answer: B", ""),
        (
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "A?"}]}, {"text": "B"}]},
            "B",
            "A?",
        ),
        ({"content": [{"type": "thinking", "thinking": "A?"}, {"type": "text", "text": "B"}]}, "B", "A?"),
        ({"content": [{"type": "reasoning", "reasoning": "A?"}, {"type": "text", "text": "B"}]}, "B", "A?"),
        ({"content": [{"type": "reasoning", "text": "A?"}, {"type": "output_text", "text": "B"}]}, "B", "A?"),
        ({"content": [{"type": "text", "text": "A?", "thought": True}, {"type": "text", "text": "B"}]}, "B", "A?"),
        ({"content": ["<think>A?</think>", "B"]}, "<think>A?</think>B", ""),
    ],
)
def test_servers_that_tell_thoughts_apart(message, said, thought):
    completion = wire.completion(body(message))
    assert (completion.text, completion.thought) == (said, thought)


def test_a_refusal_among_the_parts_is_one():
    assert wire.completion(body({"content": [{"type": "refusal", "refusal": "no"}]})).refusal == "no"


async def test_a_model_keeps_its_thoughts_to_itself(serving):
    with serving(lambda _: "<think>He is ill.</think>It is a cold.") as endpoint:
        async with Direct("m", base_url=endpoint.url) as model:
            reply = await model.ask("What is it?")
    assert (reply.text, reply.value, reply.thought) == ("It is a cold.", "It is a cold.", "He is ill.")


async def test_nobody_is_shown_again_what_it_only_thought(serving):
    asked = []

    def answers(request):
        asked.append(request["messages"])
        return "<think>secret</think>no JSON" if len(asked) == 1 else ANSWER

    with serving(answers) as endpoint:
        async with Direct("m", base_url=endpoint.url) as model:
            assert (await model.ask("How bad?", answer=Graded)).value == Graded("mild")
    assert "secret" not in json.dumps(asked) and "no JSON" in json.dumps(asked)


def test_empty_but_for_a_thought_is_unreadable():
    with pytest.raises(UnreadableReply, match="empty"):
        read(Completion("<think>B</think>"), None, None)
