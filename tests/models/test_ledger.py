"""Sums a role and a purpose, and limits that end a run cleanly."""

import asyncio
import json

import pytest

from polyclinic.errors import BudgetSpent, UnreadableReply, UserError
from polyclinic.models.answers import Completion
from polyclinic.models.journal import Journal
from polyclinic.models.ledger import Ledger
from polyclinic.models.limits import AnswerWanted, Limit
from polyclinic.models.model import Price, Usage
from polyclinic.models.provider import Provider
from polyclinic.models.scripted import Scripted
from polyclinic.models.settings import read_price
from polyclinic.models.wire import completion
from polyclinic.testing.endpoint import Endpoint

PRICE = Price(tokens_in=1e6, tokens_out=1e6)


async def test_usage_is_summed_for_each_role_and_purpose(opened):
    ledger = Ledger()
    async with Endpoint(answers=["a b"]) as endpoint, opened(endpoint.url, price=PRICE) as model:
        doctor, patient = ledger.meter(model, "doctor"), ledger.meter(model, "patient")
        assert doctor.name == "direct/test"
        await asyncio.gather(
            doctor.ask("x y z", purpose="ask"),
            doctor.ask("x", purpose="ask"),
            doctor.ask("x", purpose="plan"),
            patient.ask("x"),
        )
    line = ledger.lines["doctor", "ask"]
    assert (line.calls, line.attempts, line.failures) == (2, 2, 0)
    assert line.usage == Usage(tokens_in=4, cached=1, tokens_out=4, cost=8.0)
    assert set(ledger.lines) == {("doctor", "ask"), ("doctor", "plan"), ("patient", "")}
    assert ledger.total.calls == 4
    assert ledger.total.usage.tokens_out == 8


@pytest.mark.parametrize(
    ("limit", "told"), [({"token_budget": 12}, "--token-budget"), ({"cost_budget": 12.0}, "--cost-budget")]
)
async def test_a_limit_ends_the_run_before_the_next_question(limit, told, opened):
    ledger = Ledger(**limit)
    async with Endpoint(answers=["a b"]) as endpoint, opened(endpoint.url, price=PRICE) as model:
        metered = ledger.meter(model)
        # Each costs two tokens in and two out.
        answered = 0
        with pytest.raises(BudgetSpent, match=told):
            for _ in range(100):
                await metered.ask("x y")
                answered += 1
        assert answered == endpoint.requests == 3


async def test_each_further_question_is_wanted_a_step_later():
    asked = []

    class Noting(Provider):
        name = "noting"

        async def complete(self, said, form, options):
            asked.append(options.get("wanted"))
            return Completion("yes")

    metered = Ledger(wanted=AnswerWanted(5, 2)).meter(Noting())
    for _ in range(3):
        await metered.ask("x")
    await Ledger().meter(Noting()).ask("x")
    assert asked == [5, 7, 9, None]


async def test_what_cannot_be_read_is_paid_for_too(opened):
    ledger = Ledger()
    async with Endpoint(faults=1.0, kinds=["no-option"]) as endpoint, opened(endpoint.url) as model:
        with pytest.raises(UnreadableReply):
            await ledger.meter(model, "doctor").ask("x", answer=("a", "b"), purpose="choose")
    line = ledger.lines["doctor", "choose"]
    assert (line.calls, line.failures, line.attempts) == (1, 1, 2)
    assert line.usage.tokens_out > 0


async def test_a_limit_on_a_cost_that_nobody_knows_is_the_users_fault(opened):
    async with Endpoint() as endpoint, opened(endpoint.url) as model:
        with pytest.raises(UserError, match="--cost-budget needs"):
            await Ledger(cost_budget=1.0).meter(model).ask("x")


async def test_what_was_paid_for_is_free_and_a_run_goes_on_until_it_is_done(opened, tmp_path):
    requests, sums = 0, []
    async with Endpoint(answers=["a b"]) as endpoint:
        for _ in range(6):
            ledger = Ledger(token_budget=12)
            async with opened(endpoint.url) as model, Journal(tmp_path / "run.journal") as journal:
                metered = ledger.meter(journal.wrap(model, episode="one"))
                try:
                    for number in range(10):
                        await metered.ask(f"x {number}")
                except BudgetSpent:
                    assert endpoint.requests == requests + 3
                requests = endpoint.requests
                sums.append((ledger.total.calls, ledger.asked.calls))
    assert sums == [(3, 3), (6, 3), (9, 3), (10, 1), (10, 0), (10, 0)]
    assert endpoint.requests == 10


async def test_what_is_spent_beyond_a_limit_was_in_flight(opened):
    for most in (1, 4):
        async with Endpoint(answers=["a b"], latency=0.01) as endpoint, opened(endpoint.url, concurrency=most) as model:
            ledger = Ledger(token_budget=12)
            metered = ledger.meter(model)
            asked = await asyncio.gather(*(metered.ask(f"x {n}") for n in range(100)), return_exceptions=True)
            assert 3 <= endpoint.requests <= 3 + most - 1
            assert sum(isinstance(one, BudgetSpent) for one in asked) == 100 - endpoint.requests


async def test_an_endpoint_that_does_not_say_what_it_used_cannot_be_held_to_a_limit():
    class Silent(Provider):
        name, limit = "silent", Limit(2)
        says = "yes"

        async def complete(self, said, form, options):
            usage = Price(1, 1).of(Usage())  # a price makes no tokens known
            return Completion(self.says, usage=usage)

    for limits, name in (({"token_budget": 100}, "token"), ({"cost_budget": 1.0}, "cost")):
        for Silent.says in ("nonsense", "yes"):
            ledger = Ledger(**limits)
            with pytest.raises(UserError, match=f"--{name}-budget cannot be kept: silent does not say"):
                await ledger.meter(Silent()).ask("x", answer=("yes", "no"))
    assert (await Ledger().meter(Silent()).ask("x")).text == "yes"


async def test_towards_a_limit_less_is_let_in(opened):
    async with Endpoint(answers=["a b"], latency=0.01) as endpoint, opened(endpoint.url, concurrency=16) as model:
        ledger = Ledger(token_budget=100)
        metered = ledger.meter(model)
        await asyncio.gather(*(metered.ask(f"x {n}") for n in range(100)), return_exceptions=True)
        assert endpoint.requests == 25 and ledger.total.usage.tokens == 100  # each takes 4, and not 16 more


async def test_what_a_journal_has_is_answered_beyond_a_limit_too(opened, tmp_path):
    async with Endpoint(answers=["a b"]) as endpoint, opened(endpoint.url) as model:
        async with Journal(tmp_path / "j") as journal:
            ledger = Ledger()
            await ledger.meter(journal.wrap(model, episode="e")).ask("x")
            assert ledger.asked.usage.tokens == ledger.total.usage.tokens > 0
        async with Journal(tmp_path / "j") as journal:
            ledger = Ledger(token_budget=1)
            ledger.spend(Usage(tokens_in=1))
            metered = ledger.meter(journal.wrap(model, episode="e"))
            assert (await metered.ask("x")).replayed
            with pytest.raises(BudgetSpent):
                await metered.ask("y")
        assert endpoint.requests == 1


def test_counts_below_nothing_lift_no_limit():
    usage = {"prompt_tokens": -5, "completion_tokens": 3, "cost": -1.0}
    body = {"choices": [{"message": {"content": "x"}}], "usage": usage}
    assert completion(json.dumps(body).encode()).usage == Usage(tokens_in=0, tokens_out=3, cost=0.0)
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 10**9}}
    read = completion(json.dumps(body | {"usage": usage}).encode()).usage
    assert read == Usage(tokens_in=10, cached=10, tokens_out=3)
    assert Price(1, 1, 0.5).of(read).cost == 8e-6


async def test_any_door_can_be_metered():
    ledger = Ledger(token_budget=1)
    assert (await ledger.meter(Scripted(["yes"]), "doctor").ask("x")).text == "yes"
    assert ledger.total.calls == 1


@pytest.mark.parametrize("price", [Price(0.15, 0.6), Price(0.15, 0.6, 0.03)])
def test_a_price_is_read_as_it_is_written(price):
    assert read_price(str(price)) == price


@pytest.mark.parametrize("text", ["", "0.15", "a,b", "1,2,3,4", "nan,1", "inf,1", "1e308,1e308", "1,1,-5"])
def test_what_is_no_price_is_named(text):
    with pytest.raises(UserError, match="in and out"):
        read_price(text)
