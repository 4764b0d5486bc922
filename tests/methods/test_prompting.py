"""Zero-shot, few-shot, chain of thought: one call, what it shows, what is read, and what becomes of failures."""

import importlib

import pytest
from tests.tables import each_row

from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import CutOff, Refused, Unreachable, UserError
from polyclinic.methods.chain_of_thought import chain_of_thought
from polyclinic.methods.few_shot import few_shot
from polyclinic.methods.zero_shot import zero_shot
from polyclinic.models.scripted import Scripted
from polyclinic.prompts import read_prompts
from polyclinic.questions.examples import Example, shipped_examples

METHODS = [zero_shot, few_shot, chain_of_thought]
EXAMPLES = [
    Example(
        question=Question(
            id=f"t{n}", stem=f"Which drug lowers what, number {n}?", options={"A": "Iron", "B": "Statin"}
        ),
        reasoning=f"Thought number {n}.",
        key=("B",),
    )
    for n in range(3)
]


class Listening:
    """A scripted model that keeps what it was shown, and answers all with the same."""

    def __init__(self, answer):
        self.shown = []
        self._answer = answer

    def __call__(self, messages):
        self.shown.append(messages)
        return self._answer

    @property
    def roles(self):
        return [role for role, _ in self.shown[0]]

    @property
    def text(self):
        return "\n".join(text for _, text in self.shown[0])


@pytest.mark.parametrize("method", METHODS)
async def test_one_call_and_its_answer(method, question):
    model = Listening("The apex is where the mitral valve is heard.\n\nAnswer: B")
    outcome = await method(question, Scripted(model))
    assert (outcome.answer, outcome.end, outcome.calls, outcome.round_trips) == ("B", OutcomeEnd.ANSWERED, 1, 1)
    assert outcome.rationale.startswith("The apex")
    (role, last), (first, instructions) = model.shown[0][-1], model.shown[0][0]
    assert (first, role) == ("system", "user")
    assert "Answer: <letter>" in instructions
    assert all(part in last for part in ("rumbling", "most likely affected", "B. Mitral"))
    assert all(part not in instructions for part in ("rumbling", "Mitral"))  # what is stable comes first


@each_row("method", METHODS)
@each_row(
    ("came", "end"),
    [
        ("I cannot tell B from C.", OutcomeEnd.UNREADABLE),
        ("Answer: E", OutcomeEnd.UNREADABLE),
        ("Answer: B, C", OutcomeEnd.UNREADABLE),
        (Refused("no"), OutcomeEnd.REFUSED),
        (CutOff("too long"), OutcomeEnd.CUT_OFF),
        (Unreachable("nobody there"), OutcomeEnd.FAILED),
    ],
)
async def test_a_failure_is_never_an_answer(method, question, came, end):
    outcome = await method(question, Scripted([came]))
    assert (outcome.answers, outcome.end, outcome.calls) == (frozenset(), end, 1)
    assert outcome.problem


@each_row("method", METHODS)
@each_row("temperature", [None, 0.0, 1.0])
async def test_the_temperature_is_passed_on(method, question, by_purpose, temperature):
    model = by_purpose(lambda purpose, text: "Answer: B")
    await method(question, model, temperature=temperature)
    assert [call.options["temperature"] for call in model.seen] == [temperature]


@pytest.mark.parametrize("method", METHODS)
async def test_ten_options(method):
    question = Question(id="q", stem="Which?", options={letter: f"Item {letter.lower()}" for letter in "ABCDEFGHIJ"})
    model = Listening("Answer: J")
    assert (await method(question, Scripted(model))).answer == "J"
    assert "J. Item j" in model.text


@pytest.mark.parametrize("method", METHODS)
async def test_one_option_and_keys_that_are_words(method):
    one = Question(id="q", stem="Which?", options={"A": "Measles"})
    assert (await method(one, Scripted(["Answer: A"]))).answer == "A"
    decision = Question(id="q", stem="Does it help?", options={"yes": "yes", "no": "no", "maybe": "maybe"})
    assert (await method(decision, Scripted(["Answer: maybe"]))).answer == "maybe"


@pytest.mark.parametrize("method", METHODS)
async def test_several_right_answers(method):
    question = Question(id="q", stem="Which?", options={"A": "a fever", "B": "a cough", "C": "a rash"}, several=True)
    model = Listening("Answer: A, C")
    outcome = await method(question, Scripted(model))
    assert (outcome.answers, outcome.answer) == ({"A", "C"}, None)
    assert "Answer: <letter>, <letter>" in model.shown[0][0][1]


@pytest.mark.parametrize("method", METHODS)
async def test_a_chinese_question_is_asked_in_chinese(method):
    question = Question(id="q", stem="最可能的诊断是什么？", options={"A": "麻疹", "B": "风疹"}, language="zh")
    model = Listening("答案：B")
    assert (await method(question, Scripted(model))).answer == "B"
    assert "答案：<选项>" in model.shown[0][0][1]
    words = [text for text in model.text.split() if text.isascii() and len(text) > 3 and text.isalpha()]
    assert not words


@pytest.mark.parametrize("stem", ["zero_shot", "few_shot", "chain_of_thought", "medprompt"])
def test_the_prompts_ask_for_the_form_last(stem):
    module = importlib.import_module("polyclinic.methods.zero_shot")

    for prompts in read_prompts(module.PROMPTS.with_name(f"{stem}.md")).values():
        for section, blanks in prompts.blanks.items():
            assert blanks == {"form"}
            assert prompts(section, form="FORM").endswith("FORM")


async def test_few_shot_shows_answers_without_reasoning(question):
    model = Listening("Answer: B")
    await few_shot(question, Scripted(model), examples=EXAMPLES)
    assert model.roles == ["system", *["user", "assistant"] * 3, "user"]
    assert [text for role, text in model.shown[0] if role == "assistant"] == ["Answer: B"] * 3
    assert "Thought number" not in model.text
    assert "number 0?" in model.shown[0][1][1]


async def test_chain_of_thought_shows_reasoning_before_the_answer(question):
    model = Listening("Answer: B")
    await chain_of_thought(question, Scripted(model), examples=EXAMPLES)
    replies = [text for role, text in model.shown[0] if role == "assistant"]
    assert replies == [f"Thought number {n}.\n\nAnswer: B" for n in range(3)]
    with_examples = model.shown[0][0][1]
    model = Listening("Answer: B")
    await chain_of_thought(question, Scripted(model))
    assert model.roles == ["system", "user"]
    assert model.shown[0][0][1] != with_examples


async def test_an_example_that_reasons_needs_reasoning(question):
    bare = Example(question=EXAMPLES[0].question, key=("B",))
    with pytest.raises(UserError, match="'t0' has no reasoning"):
        await chain_of_thought(question, Scripted([]), examples=[bare])


@pytest.mark.parametrize("method", [few_shot, chain_of_thought])
async def test_an_example_that_asks_the_same_is_left_out(method, question):
    same = Example(
        question=Question(id="other", stem=question.stem.upper() + " ", options={"A": "Mitral", "B": "Aortic"}),
        reasoning="It is known.",
        key=("A",),
    )
    model = Listening("Answer: B")
    await method(question, Scripted(model), examples=[EXAMPLES[0], same])
    assert model.roles == ["system", "user", "assistant", "user"]
    assert "number 0?" in model.text
    model = Listening("Answer: B")
    await chain_of_thought(question, Scripted(model), examples=[same])
    # Nothing is left to be shown, and nothing speaks of examples.
    alone = Listening("Answer: B")
    await chain_of_thought(question, Scripted(alone))
    assert model.shown == alone.shown


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_few_shot_takes_five_shipped_examples_of_the_language_and_kind(language):
    letters = Question(id="q", stem="Which?", options={"A": "x", "B": "y"}, language=language)
    model = Listening("Answer: B")
    await few_shot(letters, Scripted(model))
    assert model.roles == ["system", *["user", "assistant"] * 5, "user"]
    assert shipped_examples(language)[0].question.stem in model.text
    decision = shipped_examples(language, "decision")[0].question
    model = Listening("Answer: " + next(iter(decision.options)))
    await few_shot(decision, Scripted(model))
    # The question is one of the shipped ones itself, and is not shown with its answer.
    assert sum(decision.stem in text for _, text in model.shown[0]) == 1
    assert all(e.question.stem in model.text for e in shipped_examples(language, "decision")[1:5])
