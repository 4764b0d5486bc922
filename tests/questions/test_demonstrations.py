"""Which solved questions are shown before another."""

import pytest

from polyclinic.cases.presentation import Question
from polyclinic.errors import UserError
from polyclinic.questions.examples import Example, asks_the_same, examples_for, shipped_examples, turns


def example(stem, *, id="t", context="", language="en"):
    question = Question(id=id, stem=stem, context=context, options={"A": "x", "B": "y"}, language=language)
    return Example(question=question, key=("A",))


def asked(stem, *, context="", language="en"):
    return example(stem, id="asked", context=context, language=language).question


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("What is it?", ""), ("what  is it", ""), True),
        (("What is it?", "A man."), ("What is it?", "A man"), True),
        (("What is it?", "A man."), ("What is it?", ""), True),
        (("What is it?", "A man."), ("What is it?", "A woman."), False),
        (("What is it?", ""), ("What was it?", ""), False),
    ],
)
def test_the_same_question(one, other, same):
    questions = [asked(stem, context=context) for stem, context in (one, other)]
    assert asks_the_same(*questions) == asks_the_same(*questions[::-1]) == same


def test_an_example_that_asks_the_same_is_left_out():
    examples = [example("What is it?"), example("What else?")]
    assert examples_for(asked("WHAT ELSE"), examples) == examples[:1]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", ["choice", "decision"])
def test_the_shipped_ones_fit_the_question(language, kind):
    shipped = shipped_examples(language, kind)
    assert examples_for(shipped[0].question) == list(shipped[1:])


def test_turns():
    bare = example("What?")
    assert [text for _, text in turns([bare], reasoning=False)][1] == "Answer: A"
    with pytest.raises(UserError, match="has no reasoning"):
        turns([bare], reasoning=True)
