"""Medprompt: reasoning of its own, neighbours, orders of the options mapped back, and the vote."""

import asyncio
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import Refused, TimedOut, UserError
from polyclinic.methods.medprompt import Pool, medprompt, prepare
from polyclinic.models.scripted import Scripted
from polyclinic.questions.examples import Example, shipped_examples

ORGANS = ["heart", "lung", "liver", "kidney", "spleen", "brain", "skin"]
TRAINING = [
    Example(
        question=Question(id=organ, stem=f"Which organ is the {organ}?", options={"A": "another", "B": f"the {organ}"}),
        key=("B",),
    )
    for organ in ORGANS
]
QUESTION = Question(
    id="q", stem="The heart and the lung?", options=dict(zip("ABCD", ["x", "y", "z", "w"], strict=True))
)
NONE = Pool([])


def picks(text):
    """Returns a model that takes the option of that text wherever it stands, and keeps what it was shown."""

    def answer(messages):
        answer.shown.append(messages)
        key = re.search(rf"^(\w+)\. {re.escape(text)}$", messages[-1][1], re.M)[1]
        return f"It must be this.\n\nAnswer: {key}"

    answer.shown = []
    return answer


def reasons(wrong=(), odd=None):
    """Returns a model that takes B, but A on the organs named, and says the odd things on those named there."""

    def answer(messages):
        organ = re.search(r"Which organ is the (\w+)\?", messages[-1][1])[1]
        return (odd or {}).get(organ, f"Thought on the {organ}.\n\nAnswer: {'A' if organ in wrong else 'B'}")

    return answer


async def test_a_prepared_pool_costs_a_call_for_each_training_question_and_five_a_question():
    pool = await prepare(TRAINING, Scripted(reasons()))
    assert [e.reasoning for e in pool.examples] == [f"Thought on the {organ}." for organ in ORGANS]
    assert (pool.reasoned, pool.wrong, pool.unusable, len(pool.trace)) == (True, 0, 0, 7)
    assert len({call.purpose for call in pool.trace}) == 7
    model = picks("z")
    outcome = await medprompt(QUESTION, Scripted(model), pool=pool)
    assert (outcome.answer, outcome.end, outcome.calls, outcome.round_trips) == ("C", OutcomeEnd.ANSWERED, 5, 1)
    for messages in model.shown:
        assert [role for role, _ in messages] == ["system", *["user", "assistant"] * 5, "user"]
        # The nearest stand next to the question, the nearest of all last.
        assert "Thought on the heart." in messages[-4][1] + messages[-2][1]
        assert messages[-2][1] in {"Thought on the lung.\n\nAnswer: B", "Thought on the heart.\n\nAnswer: B"}
    # The same pool serves the next question.
    again = await medprompt(QUESTION, Scripted(picks("w")), pool=pool)
    assert (again.answer, again.calls) == ("D", 5)


async def test_only_reasoning_that_led_to_the_right_answer_is_kept():
    odd = {"liver": "Hm.", "kidney": Refused("no")}
    pool = await prepare(TRAINING, Scripted(reasons(wrong={"heart", "skin"}, odd=odd)))
    assert [e.question.id for e in pool.examples] == ["lung", "spleen", "brain"]
    assert (pool.wrong, pool.unusable) == (2, 2)
    assert [call.error for call in pool.trace] == ["", "", "UnreadableReply", "Refused", "", "", ""]


async def test_reasoning_is_what_stands_before_the_answers_line():
    odd = {
        "heart": "One.\n\nTwo.\n\n**Answer: B**",
        "lung": "Answer: B",
        "liver": "All in one line, so the answer is B.",
        "kidney": "A thought.\nTherefore the answer is B.",
    }
    pool = await prepare(TRAINING[:4], Scripted(reasons(odd=odd)))
    reasoning = [e.reasoning for e in pool.examples]
    assert reasoning == ["One.\n\nTwo.", odd["lung"], odd["liver"], odd["kidney"]]


async def test_a_pool_that_was_not_prepared_reasons_about_the_neighbours_first(by_purpose):
    def answer(purpose, text):
        return reasons(wrong={"heart"})([("user", text)]) if purpose.startswith("reasoning") else "Answer: A"

    model = by_purpose(answer)
    outcome = await medprompt(QUESTION, model, pool=Pool(TRAINING), neighbours=3)
    assert (outcome.calls, outcome.round_trips) == (8, 2)
    assert [call.round_trip for call in outcome.trace] == [1, 1, 1, 2, 2, 2, 2, 2]
    assert {call.purpose for call in outcome.trace[:3]} == {"reasoning 1", "reasoning 2", "reasoning 3"}


async def test_a_neighbour_answered_wrongly_is_not_shown():
    model = picks("x")

    def answer(messages):
        return reasons(wrong={"heart"})(messages) if "Which organ" in messages[-1][1] else model(messages)

    outcome = await medprompt(QUESTION, Scripted(answer), pool=Pool(TRAINING), neighbours=2)
    assert (outcome.answer, outcome.calls) == ("A", 7)
    for messages in model.shown:
        assert [text for role, text in messages if role == "assistant"] == ["Thought on the lung.\n\nAnswer: B"]


async def test_without_a_pool_the_shipped_examples_are_reasoned_about():
    shipped = {e.question.stem: e for e in shipped_examples("en")}

    def answer(messages):
        example = next((e for stem, e in shipped.items() if stem in messages[-1][1]), None)
        return f"My own words.\n\nAnswer: {example.key[0] if example else 'A'}"

    outcome = await medprompt(QUESTION, Scripted(answer))
    assert outcome.round_trips == 2
    assert outcome.calls == 5 + min(5, len(shipped))


async def test_the_ensemble_asks_in_different_orders_with_different_seeds_at_once(by_purpose):
    model = by_purpose(lambda purpose, text: "Answer: A")
    await medprompt(QUESTION, model, pool=NONE, shuffles=8, temperature=0.3)
    assert [call.purpose for call in model.seen] == [f"order {n}" for n in range(1, 9)]
    assert len({call.options["seed"] for call in model.seen}) == 8
    assert {call.options["temperature"] for call in model.seen} == {0.3}
    assert len({call.user for call in model.seen}) > 3
    again = by_purpose(lambda purpose, text: "Answer: A")
    await medprompt(QUESTION, again, pool=NONE, shuffles=8, temperature=0.3)
    assert again.seen == model.seen


@given(
    st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=1, max_size=10, unique=True),
    st.sampled_from(["ABCDEFGHIJ", "1234567890", "甲乙丙丁戊己庚辛壬癸"]),
    st.integers(0, 10**6),
    st.data(),
)
def test_answers_are_put_back_into_the_questions_own_order(texts, keys, seed, data):
    options = {key: f"item {text}" for key, text in zip(keys, texts, strict=False)}
    question = Question(id="q", stem="Which?", options=options)
    wanted = data.draw(st.sampled_from(sorted(options)))
    outcome = asyncio.run(medprompt(question, Scripted(picks(options[wanted])), pool=NONE, seed=seed))
    assert (outcome.answer, outcome.end) == (wanted, OutcomeEnd.ANSWERED)


async def test_a_liking_for_a_letter_gains_nothing():
    chosen = set()
    for seed in range(20):
        outcome = await medprompt(QUESTION, Scripted(["Answer: A"] * 5), pool=NONE, seed=seed)
        chosen.add(outcome.answer)
    assert chosen == set("ABCD")


async def test_keys_that_are_words_go_with_their_texts():
    question = Question(id="q", stem="Does it help?", options={"yes": "yes", "no": "no", "maybe": "maybe"})
    model = picks("no")
    assert (await medprompt(question, Scripted(model), pool=NONE)).answer == "no"
    assert all("no. no" in messages[-1][1] for messages in model.shown)


async def test_several_right_answers_are_put_back_together():
    question = Question(id="q", stem="Which?", options=QUESTION.options, several=True)

    def answer(messages):
        keys = dict(reversed(line.split(". ")) for line in messages[-1][1].splitlines() if re.match(r"\w\. ", line))
        return f"Answer: {keys['x']}, {keys['w']}"

    outcome = await medprompt(question, Scripted(answer), pool=NONE)
    assert outcome.answers == {"A", "D"}


async def test_a_chinese_question_is_asked_in_chinese():
    question = Question(id="q", stem="最可能的诊断是什么？", options={"A": "麻疹", "B": "风疹"}, language="zh")
    model = picks("风疹")
    assert (await medprompt(question, Scripted(model), pool=NONE)).answer == "B"
    assert "答案：<选项>" in model.shown[0][0][1]


async def test_what_cannot_be_read_has_no_vote_and_nothing_readable_no_answer():
    took = []

    def answer(messages):
        took.append(1)
        return "Hm." if len(took) < 4 else picks("y")(messages)

    outcome = await medprompt(QUESTION, Scripted(answer), pool=NONE)
    assert (outcome.answer, outcome.end) == ("B", OutcomeEnd.ANSWERED)
    assert [bool(call.error) for call in outcome.trace] == [True, True, True, False, False]
    outcome = await medprompt(QUESTION, Scripted(["Hm."] * 5), pool=NONE)
    assert (outcome.answers, outcome.end) == (frozenset(), OutcomeEnd.UNREADABLE)
    outcome = await medprompt(QUESTION, Scripted([Refused("no")] * 5), pool=NONE)
    assert (outcome.answers, outcome.end) == (frozenset(), OutcomeEnd.REFUSED)
    outcome = await medprompt(QUESTION, Scripted([TimedOut("late")] * 5), pool=NONE)
    assert (outcome.answers, outcome.end) == (frozenset(), OutcomeEnd.FAILED)


async def test_a_tie_is_stated():
    turn = []

    def answer(messages):
        turn.append(1)
        return picks("x" if len(turn) % 2 else "w")(messages)

    outcome = await medprompt(QUESTION, Scripted(answer), pool=NONE, shuffles=4)
    assert outcome.end == OutcomeEnd.TIE
    assert outcome.answer in "AD"


async def test_an_endpoint_that_fails_while_a_pool_is_prepared_is_raised():
    with pytest.raises(TimedOut):
        await prepare(TRAINING, Scripted(reasons(odd={"brain": TimedOut("late")})))


async def test_the_question_itself_is_never_its_own_neighbour():
    leak = Example(question=QUESTION, reasoning="It is z.", key=("C",))
    model = picks("x")
    outcome = await medprompt(QUESTION, Scripted(model), pool=Pool([leak], reasoned=True))
    assert outcome.answer == "A"
    assert all("It is z." not in text for messages in model.shown for _, text in messages)


@pytest.mark.parametrize("options", [{"neighbours": -1}, {"shuffles": 0}])
async def test_wrong_numbers_are_said(options):
    with pytest.raises(UserError, match="it is at least"):
        await medprompt(QUESTION, Scripted([]), pool=NONE, **options)
