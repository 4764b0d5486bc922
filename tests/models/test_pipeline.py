"""One pipeline to a model: hooks stand in one order, and give back what they took."""

import asyncio

import pytest

from polyclinic.errors import BudgetSpent, Rejected, TooLarge, UnreadableReply, UserError
from polyclinic.models.journal import Journal
from polyclinic.models.ledger import Ledger
from polyclinic.models.limits import Limit
from polyclinic.models.model import Reply, Usage
from polyclinic.models.pipeline import Asker, Hook, OneConversation, Place, Repeating, Tuning, find_hook, with_hooks
from polyclinic.models.scripted import Scripted
from polyclinic.models.session import open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.models.tally import CallTally, SharedAnswers
from polyclinic.testing.endpoint import Endpoint

HOOK = """
from polyclinic.models.pipeline import Hook

class Counting(Hook):
    seen = []

    async def answered(self, call):
        self.seen.append((call.asker.role, call.asker.item, call.reply.replayed))

nothing = 3
"""


class Told(Hook):
    """Writes down what happens to it."""

    def __init__(self, name, told, place=Place.OWN, answer=None, broken=""):
        self.name, self.told, self.place, self.answer, self.broken = name, told, place, answer, broken

    def before(self, call):
        self.told.append(f"{self.name} before")

    async def admitted(self, call):
        self.told.append(f"{self.name} admitted")
        if self.broken == "admitted":
            raise UserError(self.name)
        call.reply = self.answer

    async def answered(self, call):
        self.told.append(f"{self.name} answered")
        if self.broken == "answered":
            raise UserError(self.name)

    async def failed(self, call):
        self.told.append(f"{self.name} failed {type(call.failure).__name__}")


class Waiting:
    """A model that answers when it is let."""

    name = "waiting"

    def __init__(self):
        self.limit, self.let, self.options = Limit(2), asyncio.Event(), []

    async def ask(self, messages, *, answer=None, **options):
        self.options.append(options)
        await self.let.wait()
        return Reply("yes", "yes", Usage(tokens_in=3))


async def test_hooks_stand_in_the_order_of_their_places_however_they_were_given():
    told = []
    inner, outer = Told("inner", told, Place.JOURNAL), Told("outer", told, Place.COUNT)
    for model in (
        with_hooks(Scripted(["yes"]), inner, outer),
        with_hooks(with_hooks(Scripted(["yes"]), inner), outer),
        with_hooks(with_hooks(Scripted(["yes"]), outer), inner),
    ):
        told.clear()
        assert (await model.ask("x")).text == "yes"
        calls = ["before", "admitted"]
        assert told == [f"{who} {what}" for what in calls for who in ("outer", "inner")] + [
            "inner answered",
            "outer answered",
        ]


async def test_a_hook_that_answers_or_refuses_lets_nothing_through_to_those_behind_it():
    told = []
    outer, model = Told("outer", told, Place.COUNT), Scripted([])
    asked = with_hooks(model, outer, Told("answers", told, Place.JOURNAL, answer=Reply("kept", "kept")))
    assert (await asked.ask("x")).text == "kept"
    assert told[-2:] == ["answers admitted", "outer answered"]
    told.clear()
    asked = with_hooks(model, outer, Told("refuses", told, Place.BUDGET, broken="admitted"))
    with pytest.raises(UserError, match="refuses"):
        await asked.ask("x")
    assert told[-2:] == ["refuses admitted", "outer failed UserError"]


async def test_an_error_of_a_hook_is_the_failure_of_the_call_from_then_on():
    told = []
    hooks = [Told("outer", told, Place.COUNT), Told("inner", told, Place.JOURNAL, broken="answered")]
    with pytest.raises(UserError, match="inner"):
        await with_hooks(Scripted(["yes"]), *hooks).ask("x")
    assert told[-2:] == ["inner answered", "outer failed UserError"]


async def test_before_is_called_when_the_question_is_put():
    told = []
    asking = with_hooks(Scripted(["yes"]), Told("one", told)).ask("x")
    assert told == ["one before"]
    await asking


async def test_who_is_cancelled_gives_its_places_back():
    told, model, ledger = [], Waiting(), Ledger(token_budget=100)
    asked = ledger.meter(with_hooks(model, Told("own", told)), "doctor")
    first = [asyncio.create_task(asked.ask("x")) for _ in range(4)]  # two are under way, two wait for them
    await asyncio.sleep(0.01)
    assert len(model.options) == 2
    for one in first:
        one.cancel()
    assert all(isinstance(one, asyncio.CancelledError) for one in await asyncio.gather(*first, return_exceptions=True))
    assert told.count("own failed CancelledError") == 4
    model.let.set()
    for _ in range(3):
        await asyncio.wait_for(asyncio.gather(asked.ask("x"), asked.ask("x")), 1)
    assert ledger.total.calls == 6 and ledger.asked.usage.tokens == 18


async def test_a_budget_stands_behind_the_journal_however_they_were_given(tmp_path):
    def metered_outside(model, journal, ledger):
        return ledger.meter(journal.wrap(model, episode="e"), "doctor")

    def metered_inside(model, journal, ledger):
        return journal.wrap(ledger.meter(model, "doctor"), episode="e")

    for spent, wrap in ((0, metered_outside), (10, metered_outside), (10, metered_inside)):
        async with Journal(tmp_path / "j") as journal:
            ledger = Ledger(token_budget=10)
            ledger.spend(Usage(tokens_in=spent))
            asked = wrap(Scripted(["yes"]), journal, ledger)
            assert (await asked.ask("x")).replayed == bool(spent)
            assert ledger.total.calls == 1
            if spent:
                with pytest.raises(BudgetSpent):
                    await asked.ask("y")


async def test_options_are_filled_in_where_the_question_has_none():
    model = Waiting()
    model.let.set()
    tuned = with_hooks(model, Tuning(otherwise=0.5, effort="low", max_tokens=9))
    await tuned.ask("x")
    await tuned.ask("x", temperature=0.1, reasoning="high", max_tokens=3)
    await with_hooks(model, Tuning(temperature=0.7)).ask("x", temperature=0.1)
    assert model.options == [
        {"temperature": 0.5, "reasoning": "low", "max_tokens": 9},
        {"temperature": 0.1, "reasoning": "high", "max_tokens": 3},
        {"temperature": 0.7},
    ]


async def test_an_episode_of_a_role_is_one_conversation_where_there_are_several_servers():
    model = Waiting()
    model.let.set()
    for addresses, asker in (
        (["a", "b"], Asker("doctor", "e")),
        (["a", "b"], Asker("judge", "e")),
        (["a", "b"], Asker("doctor")),
        (["a"], Asker("doctor", "e")),
    ):
        model.addresses = addresses
        await with_hooks(model, OneConversation(), role=asker.role, episode=asker.episode).ask("x")
    assert model.options == [{"conversation": "doctor e"}, {}, {}, {}]


async def test_what_broke_is_asked_for_anew_a_few_times():
    model = with_hooks(Scripted([TooLarge("4 MiB"), TooLarge("4 MiB"), "here"]), Repeating())
    assert (await model.ask("Which?")).text == "here"
    with pytest.raises(TooLarge):
        await with_hooks(Scripted([TooLarge("4 MiB")] * 4 + ["here"]), Repeating()).ask("Which?")
    with pytest.raises(Rejected):
        await with_hooks(Scripted([Rejected("no"), "here"]), Repeating()).ask("Which?")


async def test_who_asks_the_same_gets_the_same_answer_and_a_failure_is_asked_anew():
    shared, tallies = SharedAnswers(), [CallTally(), CallTally()]
    model = Scripted([UnreadableReply("no"), "first", "second", "third"])
    one, two = (shared.of(model, tally) for tally in tallies)
    with pytest.raises(UnreadableReply):
        await one.ask("x")
    again = shared.of(model, tallies[0])
    both = await asyncio.gather(again.ask("x"), two.ask("x"))
    assert [reply.text for reply in both] == ["first", "first"]
    assert [(await asked.ask("x")).text for asked in (again, two)] == ["second", "second"]
    assert (await two.ask("other")).text == "third"
    totals = [tally.total() for tally in tallies]
    assert [(total.calls, total.shared) for total in totals] == [(3, 2), (3, 2)]


async def test_a_hook_of_ones_own_sees_every_call_of_a_run(tmp_path):
    (tmp_path / "own.py").write_text(HOOK)
    name = f"{tmp_path}/own.py:Counting"
    hook = find_hook(name)
    async with Endpoint(answers=["yes"]) as endpoint:
        for hooks, named in ([hook], None), ([], [name]):
            settings = ModelSettings(base_url=endpoint.url, hooks=named, token_budget=10_000)
            journal = Journal(tmp_path / "j")
            async with open_models(["direct/m"], settings, journal=journal, hooks=hooks) as run:
                await run.model("direct/m", Asker("doctor", "e", "case-1")).ask("x")
                assert run.ledger.token_budget == 10_000 and run.ledger.total.calls == 1
        assert endpoint.requests == 1
    assert hook.seen == [("doctor", "case-1", False), ("doctor", "case-1", True)]
    for name, told in (("nothing", "is no hook"), ("missing", "missing")):
        with pytest.raises(UserError, match=told):
            find_hook(f"{tmp_path}/own.py:{name}")


async def test_the_longest_answer_and_the_budget_are_two_settings():
    async with Endpoint(answers=["yes"]) as endpoint:
        settings = ModelSettings(base_url=endpoint.url, max_tokens=7)
        async with open_models(["direct/m"], settings) as run:
            await run.model("direct/m", Asker("doctor")).ask("x")
        assert endpoint.bodies[0]["max_tokens"] == 7
    with pytest.raises(UserError, match="token-budget 0"):
        ModelSettings(token_budget=0)
