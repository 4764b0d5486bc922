"""What comes of a question: the trace of its calls, calls at once, and decisions."""

import asyncio

import pytest

from polyclinic.answering.calls import Calls, decision_on, keys_of, needed, together, usable
from polyclinic.answering.outcome import Outcome, OutcomeEnd
from polyclinic.cases.presentation import Question
from polyclinic.errors import BudgetSpent, CutOff, Refused, ScriptError, Unreachable, UnreadableReply, UserError
from polyclinic.models.answers import Completion
from polyclinic.models.direct import Direct
from polyclinic.models.model import Reply, Usage
from polyclinic.models.provider import Provider
from polyclinic.models.schema import form_of
from polyclinic.models.scripted import Scripted

OPTIONS = {"A": "one", "B": "two", "C": "three"}


class Costly(Provider):
    """A model whose answers cost, also those that cannot be read."""

    name = "costly"
    repairs = 0

    def __init__(self, *texts):
        self.texts, self.options = list(texts), []

    async def complete(self, said, form, options):
        self.options.append({name: value for name, value in options.items() if name != "purpose"})
        return Completion(self.texts.pop(0), usage=Usage(tokens_in=10, tokens_out=2, cost=0.5))


async def test_the_trace_holds_every_call_and_its_cost():
    calls = Calls(Costly("fine", "neither"))
    assert calls.round_trips == 0
    await calls.ask("?", round_trip=1, purpose="first")
    with pytest.raises(UnreadableReply):
        await calls.ask("?", round_trip=2, purpose="second", answer=("yes", "no"))
    assert calls.round_trips == 2
    outcome = calls.outcome("q", ["A"], rationale="so")
    assert [(c.seq, c.round_trip, c.purpose, c.text, c.error) for c in outcome.trace] == [
        (0, 1, "first", "fine", ""),
        (1, 2, "second", "neither", "UnreadableReply"),
    ]
    assert (outcome.calls, outcome.round_trips) == (2, 2)
    assert outcome.usage == Usage(tokens_in=20, tokens_out=4, cost=1.0)
    assert (outcome.answer, outcome.rationale, outcome.end) == ("A", "so", OutcomeEnd.ANSWERED)


async def test_calls_are_in_the_order_in_which_they_were_made():
    class Slow:
        name = "slow"

        async def ask(self, messages, **_):
            await asyncio.sleep(0.02 if messages == "first" else 0)
            return Reply(messages, messages)

    calls = Calls(Slow())
    await together(*(calls.ask(text, round_trip=1, purpose=text) for text in ("first", "second")))
    assert [(call.seq, call.text) for call in calls.trace] == [(0, "first"), (1, "second")]


async def test_a_temperature_of_a_call_goes_before_that_of_all():
    model = Costly("one", "two")
    calls = Calls(model, temperature=1.0, top_p=0.9)
    await calls.ask("?", round_trip=1, purpose="a")
    await calls.ask("?", round_trip=1, purpose="b", temperature=0.0)
    assert [(o["temperature"], o["top_p"]) for o in model.options] == [(1.0, 0.9), (0.0, 0.9)]


@pytest.mark.parametrize(
    ("failure", "end"),
    [
        (UnreadableReply("what?"), OutcomeEnd.UNREADABLE),
        (CutOff("too long"), OutcomeEnd.CUT_OFF),
        (Refused("no"), OutcomeEnd.REFUSED),
        (Unreachable("nobody"), OutcomeEnd.FAILED),
        (ScriptError("spent"), OutcomeEnd.FAILED),
    ],
)
def test_a_failure_keeps_its_name_and_is_no_answer(failure, end):
    outcome = Calls(Scripted([])).failed("q", failure)
    assert (outcome.end, outcome.problem, outcome.answers, outcome.answer) == (end, str(failure), frozenset(), None)


def test_an_outcome_without_calls_cost_nothing():
    outcome = Outcome(question="q")
    assert (outcome.calls, outcome.round_trips, outcome.usage) == (0, 0, Usage())


async def come(value, seconds=0.0):
    await asyncio.sleep(seconds)
    if isinstance(value, BaseException):
        raise value
    return value


async def test_together_returns_failures_of_the_model_in_their_places():
    refused = Refused("no")
    assert await together(come(1, 0.02), come(refused), come(3)) == [1, refused, 3]
    assert await together() == []


@pytest.mark.parametrize("failure", [Unreachable("nobody"), ScriptError("spent")])
async def test_together_stops_at_once_where_no_answer_comes(failure):
    stopped = []

    async def endless():
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append(True)

    async with asyncio.timeout(5):
        with pytest.raises(type(failure)):
            await together(endless(), come(failure, 0.01), endless())
    assert stopped == [True, True]


async def test_together_waits_for_what_is_asked_where_a_budget_is_spent():
    answered = []

    async def asked():
        await asyncio.sleep(0.05)
        answered.append(True)

    with pytest.raises(BudgetSpent):
        await together(asked(), come(BudgetSpent("spent"), 0.01), asked())
    assert answered == [True, True]


async def test_together_stops_its_calls_where_it_is_stopped():
    stopped = asyncio.Event()

    async def endless():
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    waiting = asyncio.ensure_future(together(endless()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert stopped.is_set()


def test_needed_and_usable():
    first, second = Refused("first"), UnreadableReply("second")
    assert needed(3) == 3
    with pytest.raises(Refused):
        needed(first)
    assert usable([first, 2, second, 4]) == [2, 4]
    assert usable([]) == []
    with pytest.raises(Refused, match="first"):
        usable([first, second])


def test_a_decision_reasons_before_it_chooses():
    schema = form_of(decision_on(Question(id="q", stem="?", options=OPTIONS))).schema
    assert list(schema["properties"]) == ["rationale", "answer"]
    assert schema["properties"]["answer"] == {"enum": ["A", "B", "C"]}


def test_a_decision_on_several_takes_at_least_one():
    schema = form_of(decision_on(Question(id="q", stem="?", options=OPTIONS, several=True))).schema
    assert schema["properties"]["answer"] == {
        "type": "array",
        "items": {"enum": ["A", "B", "C"]},
        "minItems": 1,
        "maxItems": 3,
    }


async def test_keys_of_a_decision():
    one, several = (Question(id="q", stem="?", options=OPTIONS, several=several) for several in (False, True))
    model = Scripted([{"rationale": "", "answer": "B"}, {"rationale": "", "answer": ["C", "A", "C"]}])
    assert keys_of((await model.ask("?", answer=decision_on(one))).value) == {"B"}
    assert keys_of((await model.ask("?", answer=decision_on(several))).value) == {"A", "C"}


def test_no_options_no_decision():
    with pytest.raises(UserError, match="'q' has no options"):
        decision_on(Question(id="q", stem="?", options={}))


async def test_a_thought_stays_in_the_trace_and_out_of_what_is_said(serving):
    with serving(lambda _: "<think>Surely A.</think>Answer: B") as endpoint:
        async with Direct("m", base_url=endpoint.url) as model:
            calls = Calls(model)
            said = await calls.ask("Which?", purpose="vote, expert 1")
            (call,) = calls.trace
    assert (said.text, call.text, call.thought) == ("Answer: B", "Answer: B", "Surely A.")
