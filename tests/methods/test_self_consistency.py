"""Self-consistency: samples at once, the majority, ties, what has no vote, and budgets."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.answering.outcome import OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import Refused, TimedOut, UserError
from polyclinic.methods.chain_of_thought import chain_of_thought
from polyclinic.methods.self_consistency import self_consistency
from polyclinic.models.direct import Direct
from polyclinic.models.model import Reply, Usage
from polyclinic.models.scripted import Scripted
from polyclinic.questions.examples import shipped_examples
from polyclinic.testing.endpoint import Endpoint

QUESTION = Question(id="q", stem="Which?", options={"A": "x", "B": "y", "C": "z", "D": "w"})


class Metered:
    """Costs what it is told, in order; the last price holds on."""

    name = "metered"

    def __init__(self, *prices, first="Answer: B"):
        self._prices, self._first, self.asked = list(prices), first, 0

    async def ask(self, messages, **options):
        price = self._prices[min(self.asked, len(self._prices) - 1)]
        self.asked += 1
        text = self._first if self.asked == 1 else "Answer: B"
        if isinstance(text, Exception):
            raise text
        return Reply(text, text, Usage(tokens_in=price // 2, tokens_out=price - price // 2))


async def test_five_samples_at_once():
    gate = asyncio.Barrier(5)

    class Waiting:
        name = "waiting"

        async def ask(self, messages, *, purpose, **options):
            async with asyncio.timeout(10):
                await gate.wait()  # opens when all five have been asked
            return Reply(f"{purpose}: Answer: B", None)

    outcome = await self_consistency(QUESTION, Waiting())
    assert (outcome.answer, outcome.end, outcome.calls, outcome.round_trips) == ("B", OutcomeEnd.ANSWERED, 5, 1)
    assert [call.purpose for call in outcome.trace] == [f"sample {n}" for n in range(1, 6)]


async def test_five_samples_take_the_time_of_one():
    async with Endpoint(answers=lambda body: "Answer: C", latency=0.3) as endpoint:
        async with Direct("test", base_url=endpoint.url) as model:
            outcome = await self_consistency(QUESTION, model)
        assert (outcome.answer, endpoint.most_in_flight) == ("C", 5)


async def test_samples_differ_in_purpose_and_seed_and_in_nothing_else(by_purpose):
    model = by_purpose(lambda purpose, text: "Answer: B")
    await self_consistency(QUESTION, model)
    assert len({call.purpose for call in model.seen}) == len({call.options["seed"] for call in model.seen}) == 5
    assert {call.text for call in model.seen} == {model.seen[0].text}
    assert {call.options["temperature"] for call in model.seen} == {0.7}
    again, other = by_purpose(lambda *_: "Answer: B"), by_purpose(lambda *_: "Answer: B")
    await self_consistency(QUESTION, again)
    await self_consistency(QUESTION, other, seed=1, temperature=0.2)
    assert again.seen == model.seen
    assert not {call.options["seed"] for call in other.seen} & {call.options["seed"] for call in model.seen}
    assert {call.options["temperature"] for call in other.seen} == {0.2}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("shots", [0, 3])
async def test_it_samples_chain_of_thought(language, shots):
    question = Question(id="q", stem="Which?", options={"A": "x", "B": "y"}, language=language)
    examples = shipped_examples(language)[:shots]
    shown = []

    def answer(messages):
        shown.append(messages)
        return "Answer: B"

    await chain_of_thought(question, Scripted(answer), examples=examples)
    await self_consistency(question, Scripted(answer), examples=examples)
    assert len(shown) == 6
    assert all(messages == shown[0] for messages in shown)
    assert len(shown[0]) == 2 + 2 * shots


@given(st.lists(st.sampled_from(["A", "B", "C", "?"]), min_size=1, max_size=9), st.integers(0, 5))
def test_the_majority_of_the_readable_decides(letters, seed):
    texts = ["I do not know." if letter == "?" else f"Step.\nAnswer: {letter}" for letter in letters]
    outcome = asyncio.run(self_consistency(QUESTION, Scripted(texts), samples=len(texts), seed=seed))
    assert [bool(call.error) for call in outcome.trace] == [letter == "?" for letter in letters]
    votes = Counter(letter for letter in letters if letter != "?")
    if not votes:
        assert (outcome.answers, outcome.end) == (frozenset(), OutcomeEnd.UNREADABLE)
        return
    best = {letter for letter in votes if votes[letter] == max(votes.values())}
    assert outcome.answer in best
    assert outcome.end == (OutcomeEnd.TIE if len(best) > 1 else OutcomeEnd.ANSWERED)
    assert outcome.rationale.endswith(f"Answer: {outcome.answer}")


async def test_a_tie_is_drawn_by_the_seed_and_not_by_the_order():
    texts = ["Answer: A", "Answer: D"]
    drawn = [
        (await self_consistency(QUESTION, Scripted(order), samples=2, seed=seed)).answer
        for seed in range(30)
        for order in (texts, texts[::-1])
    ]
    assert set(drawn) == {"A", "D"}
    assert drawn[::2] == drawn[1::2]


async def test_an_unreadable_sample_has_a_name_in_the_trace_and_no_vote():
    came = ["Answer: A", "B or C, I think.", Refused("no"), "Answer: A", "Answer: B"]
    outcome = await self_consistency(QUESTION, Scripted(came))
    assert (outcome.answer, outcome.end) == ("A", OutcomeEnd.ANSWERED)
    assert [call.error for call in outcome.trace] == ["", "UnreadableReply", "Refused", "", ""]
    assert outcome.trace[1].text == "B or C, I think."
    assert outcome.trace[1].problem


async def test_nothing_readable_is_no_answer():
    outcome = await self_consistency(QUESTION, Scripted(["Hm."] * 5))
    assert (outcome.answers, outcome.end) == (frozenset(), OutcomeEnd.UNREADABLE)
    assert [call.error for call in outcome.trace] == ["UnreadableReply"] * 5
    outcome = await self_consistency(QUESTION, Scripted([Refused("no")] * 5))
    assert (outcome.answers, outcome.end) == (frozenset(), OutcomeEnd.REFUSED)


async def test_an_endpoint_that_fails_fails_the_question():
    came = ["Answer: A", "Answer: A", "Answer: A", TimedOut("too late"), "Answer: A"]
    outcome = await self_consistency(QUESTION, Scripted(came))
    assert (outcome.answers, outcome.end) == (frozenset(), OutcomeEnd.FAILED)


async def test_whole_answers_are_counted_where_several_are_asked_for():
    question = Question(id="q", stem="Which?", options=QUESTION.options, several=True)
    came = ["Answer: A, B", "Answer: A", "Answer: B, A", "Answer: A, C", "Answer: A, D"]
    outcome = await self_consistency(question, Scripted(came))
    assert (outcome.answers, outcome.end) == ({"A", "B"}, OutcomeEnd.ANSWERED)


async def test_as_many_samples_as_another_method_made_calls():
    outcome = await self_consistency(QUESTION, Scripted(["Answer: B"] * 18), budget_calls=18)
    assert (outcome.calls, outcome.round_trips) == (18, 1)
    assert (await self_consistency(QUESTION, Scripted(["Answer: B"]), budget_calls=1)).calls == 1


@pytest.mark.parametrize(
    ("budget", "price", "samples"), [(1000, 100, 10), (1099, 100, 10), (99, 100, 1), (100, 100, 1), (250, 100, 2)]
)
async def test_as_many_samples_as_the_tokens_allow(budget, price, samples):
    outcome = await self_consistency(QUESTION, Metered(price), budget_tokens=budget)
    assert (outcome.answer, outcome.calls) == ("B", samples)
    assert outcome.round_trips == (2 if samples > 1 else 1)
    assert [call.round_trip for call in outcome.trace] == [1, *[2] * (samples - 1)]
    assert [call.purpose for call in outcome.trace] == [f"sample {n}" for n in range(1, samples + 1)]


async def test_the_first_sample_is_the_measure_even_where_it_cannot_be_read():
    outcome = await self_consistency(QUESTION, Metered(100, 10, first="Hm."), budget_tokens=400)
    assert (outcome.answer, outcome.calls) == ("B", 4)
    assert outcome.trace[0].error == "UnreadableReply"
    outcome = await self_consistency(QUESTION, Metered(0, first=Refused("no")), budget_tokens=400)
    assert (outcome.answers, outcome.end, outcome.calls) == (frozenset(), OutcomeEnd.REFUSED, 1)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"samples": 0}, "samples is 0; it is at least 1"),
        ({"budget_calls": 0}, "budget_calls is 0"),
        ({"budget_tokens": -5}, "budget_tokens is -5"),
        ({"budget_calls": 3, "budget_tokens": 3}, "at most one"),
        ({"budget_tokens": 500}, "does not report its tokens"),
    ],
)
async def test_wrong_numbers_are_said(options, line):
    with pytest.raises(UserError, match=line):
        await self_consistency(QUESTION, Scripted(["Answer: B"] * 9), **options)


@pytest.mark.parametrize("keys", ["A", "ABCDEFGHIJ"])
async def test_one_option_and_ten(keys):
    question = Question(id="q", stem="Which?", options={key: f"Item {key.lower()}" for key in keys})
    outcome = await self_consistency(question, Scripted([f"Answer: {keys[-1]}"] * 5))
    assert outcome.answer == keys[-1]
