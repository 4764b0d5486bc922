"""Which solved questions are shown before another."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.cases.presentation import Question
from polyclinic.errors import UserError
from polyclinic.questions.examples import Example, Neighbours, asks_the_same, examples_for, shipped_examples, turns


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


def test_the_nearest_come_first():
    examples = [
        example("A child has a barking cough and stridor at night."),
        example("A man has crushing chest pain that spreads to the arm."),
        example("A woman has chest pain that breathing in makes worse."),
        example("A boy has a cough."),
    ]
    found = Neighbours(examples).nearest(asked("A man of 60 has crushing chest pain."), 2)
    assert found == [examples[1], examples[2]]
    found = Neighbours(examples).nearest(asked("What is it?", context="Stridor and a barking cough."), 2)
    assert found == [examples[0], examples[3]]


def test_a_long_example_is_not_nearer_for_being_long():
    told = "Crushing chest pain, and besides a rash on both legs, hoarseness, swollen ankles, headaches and fever."
    examples = [example(told), example("Crushing chest pain."), example("A cough.")]
    assert Neighbours(examples).nearest(asked("What causes crushing chest pain?"), 1) == [examples[1]]


def test_chinese_is_compared_by_pairs_of_characters():
    examples = [
        example(stem, language="zh") for stem in ("患者胸痛伴出汗。", "患儿犬吠样咳嗽，夜间加重。", "患者腹泻三天。")
    ]
    found = Neighbours(examples).nearest(asked("三岁小儿，犬吠样咳嗽伴喉鸣。", language="zh"), 1)
    assert found == [examples[1]]


STEMS = st.text(alphabet="abc 胸痛咳嗽", max_size=12)


@given(st.lists(STEMS, max_size=8), STEMS, st.integers(0, 10))
def test_neighbours_of_anything(stems, stem, number):
    examples = [example(text, id=str(place)) for place, text in enumerate(stems)]
    found = Neighbours(examples).nearest(asked(stem), number)
    others = examples_for(asked(stem), examples)
    assert len(found) == min(number, len(others))
    assert {e.question.id for e in found} <= {e.question.id for e in others}
    assert len({e.question.id for e in found}) == len(found)


@pytest.mark.slow
def test_many_examples_are_searched_in_time(shared_data):
    import msgspec

    lines = (shared_data / "qa/medqa/phrases_no_exclude_test.jsonl").read_bytes().splitlines()
    stems = [msgspec.json.decode(line)["question"] for line in lines]
    examples = [example(stem, id=str(place)) for place, stem in enumerate(stems)]
    neighbours = Neighbours(examples)
    began = time.process_time()
    for stem in stems[:50]:
        first = neighbours.nearest(asked(stem + " Why?"), 1)[0]
        assert first.question.stem == stem
    assert time.process_time() - began < 5
