"""One model at several servers: who is asked, who is left, and that nothing is lost."""

import asyncio
import random
from collections import Counter

import pytest
from bench.virtual_time import SimulatedServer, simulate
from tests.tables import each_row

from polyclinic.errors import BadInput, Broken, UnknownModel, Unreachable, UserError
from polyclinic.models.balance import Balance, rank
from polyclinic.models.direct import Direct
from polyclinic.models.limits import Limit
from polyclinic.models.pipeline import Asker
from polyclinic.models.retry import Fault
from polyclinic.models.session import journal_of, open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.testing.endpoint import Endpoint

NAME = "direct/test"
DOWN = "http://127.0.0.1:9/v1"


class Stand:
    """A server that takes part in a balance, and never connects."""

    def __init__(self, address, places=4):
        self.address, self.limit, self.stopped, self.there = address, Limit(places), None, ["m"]

    def told(self, fault):
        return f"{self.address}: {fault.problem}"

    async def models(self, **_):
        return self.there


def balanced(count=4, places=4, **options):
    servers, said, clock = [Stand(f"s{n}", places) for n in range(count)], [], [0.0]
    made = Balance(
        servers, model="m", name="direct/m", rng=random.Random(1), report=said.append, clock=lambda: clock[0], **options
    )
    return made, servers, said, clock


async def turn(balance, conversation, result="answer", seconds=1.0):
    server = await balance.enter(conversation)
    balance.leave(server, result, seconds)
    return server.address


def test_each_server_has_its_share_of_the_conversations_and_keeps_it_when_another_is_gone():
    names = [f"s{n}" for n in range(4)]
    first = {n: max(names, key=lambda name: rank(f"c{n}", name)) for n in range(4000)}
    assert all(900 < count < 1100 for count in Counter(first.values()).values())
    without = {n: max(names[1:], key=lambda name: rank(f"c{n}", name)) for n in range(4000)}
    assert all(without[n] == first[n] for n in range(4000) if first[n] != "s0")


async def test_a_conversation_stays_where_it_is():
    balance, servers, _, _ = balanced()
    went = [[await turn(balance, f"c{n}") for n in range(40)] for _ in range(3)]
    assert went[0] == went[1] == went[2]
    assert len(set(went[0])) == len(servers)


async def test_it_spills_over_where_its_server_is_full_and_then_stays_there():
    balance, *_ = balanced(count=2, places=2)
    home = await balance.enter("c")
    home.limit.inside = 2
    other = await balance.enter("c")
    assert other is not home
    home.limit.inside = 0
    balance.leave(other, "answer", 1.0)
    assert await balance.enter("c") is other


async def test_where_all_are_full_whoever_has_room_first_takes_who_waits():
    balance, servers, _, _ = balanced(count=2, places=1)
    taken = [await balance.enter("a"), await balance.enter("b")]
    assert {server.address for server in taken} == {"s0", "s1"}
    waiting = [asyncio.create_task(balance.enter("a")) for _ in range(2)]
    await asyncio.sleep(0)
    for server in taken:
        balance.leave(server, "answer", 1.0)
    assert {(await one).address for one in waiting} == {"s0", "s1"}
    assert [server.limit.inside for server in servers] == [1, 1]


async def test_a_slow_server_gets_a_smaller_share():
    balance, servers, _, _ = balanced(places=1000)
    quick = {server.address: 1.0 for server in servers} | {"s0": 9.0}
    for n in range(100):
        server = await balance.enter(f"warm {n}")
        balance.leave(server, "answer", quick[server.address])
    for n in range(280):
        await balance.enter(f"c{n}")
    inside = [server.limit.inside for server in servers]
    assert sum(inside) == 280
    assert inside[0] < 20
    assert min(inside[1:]) > 70


async def test_a_server_that_fails_is_left_and_comes_back():
    balance, servers, said, clock = balanced(count=2)
    names = [f"c{n}" for n in range(20)]
    before = {name: await turn(balance, name) for name in names}
    gone = next(server for server in servers if server.address == before["c0"])
    await turn(balance, "c0", Fault(Unreachable, "cannot be reached"))
    assert gone.limit.closed
    assert said == [f"direct/m at {gone.address}: cannot be reached; the other is asked meanwhile"]
    assert gone.address not in {await turn(balance, name) for name in names}
    gone.there, clock[0] = None, 2.0
    assert gone.address not in {await turn(balance, name) for name in names}, "it is not back yet"
    gone.there, clock[0] = ["m"], 10.0
    assert await turn(balance, "new") == gone.address, "whoever comes next looks whether it is back"
    assert not gone.limit.closed
    assert said[1:] == [f"direct/m at {gone.address}: answers again"]


async def test_one_failure_is_none_and_the_last_server_is_never_left():
    balance, servers, _, _ = balanced(count=2)
    for server in servers:
        for expected in (False, False, True):
            balance.leave(server, Fault(Broken, "status 500"), 1.0)
            assert server.limit.closed == (expected and server is servers[0])


async def test_who_waits_for_a_server_that_is_left_is_let_in_elsewhere():
    balance, *_ = balanced(count=2, places=1)
    taken = [await balance.enter("a"), await balance.enter("b")]
    waiting = [asyncio.create_task(balance.enter("a")) for _ in range(3)]
    await asyncio.sleep(0)
    balance.leave(taken[0], Fault(Unreachable, "gone"), 1.0)
    for _ in waiting:
        balance.leave(taken[1], "answer", 1.0)
        await asyncio.sleep(0.0)
        await asyncio.sleep(0.0)
    assert [(await one) for one in waiting] == [taken[1]] * 3


@each_row(("options", "adaptive"), [({"capacity": 4}, True), ({"slots": 4}, True), ({}, False)])
def test_what_those_alive_can_do_is_done_and_conversations_stay(options, adaptive):
    """Four servers, one of them slow, another dead in the middle; in virtual time, so that nothing depends on ours."""
    latencies = (1.0, 1.0, 1.0, 4.0)
    servers = [SimulatedServer(latency=one, **options) for one in latencies]
    limit = Limit(1024, adaptive=True) if adaptive else 4
    came, died = simulate(servers, concurrency=limit, conversations=80, turns=12)
    assert [len(one) for one in came.servers] == [12] * 80, "none is lost"
    assert came.throughput([4 / one for one in latencies]) >= 0.85
    assert came.at_home(died) >= 0.9


async def test_all_is_answered_though_a_server_dies_in_the_middle():
    """Conversations of five turns at four servers; one of them refuses all connections after its first few answers."""
    async with Endpoint() as a, Endpoint() as b, Endpoint() as c, Endpoint() as dies:
        urls = [one.url for one in (a, b, c, dies)]
        said = []
        async with Direct("test", base_url=urls, concurrency=4, pause=0.001, report=said.append) as model:

            async def conversation(number):
                at = []
                for turn in range(5):
                    if number == 3 and turn == 2:
                        await dies.__aexit__()
                    reply = await model.ask(f"turn {turn} of {number}", conversation=f"c{number}")
                    assert reply.text == f"You said: turn {turn} of {number}"
                    at.append(reply.server)
                return at

            at = await asyncio.gather(*(conversation(number) for number in range(40)))
    assert [line.partition(": ")[0] for line in said] == [f"direct/test at {dies.url}"]
    assert {server for one in at for server in one} <= set(urls)
    assert dies.url not in {one[-1] for one in at[-10:]}


async def test_a_server_with_another_model_is_left_out_and_one_that_is_down_is_said():
    said = []
    async with Endpoint(models=["test"]) as right, Endpoint(models=["other"]) as wrong:
        urls = [right.url, wrong.url, DOWN]
        async with Direct("test", base_url=urls, report=said.append, pause=0.001) as model:
            replies = [await model.ask(f"{n}", conversation=f"c{n}") for n in range(20)]
        assert {reply.server for reply in replies} == {right.url}
        assert wrong.requests == 0
    assert said == [
        f"direct/test at {wrong.url}: no model 'test'; it has: other; it is left out, the 2 others are asked",
        f"direct/test at {DOWN}: cannot be reached; the other is asked meanwhile",
    ]


async def test_none_that_can_be_asked_is_an_error_that_says_how_many():
    urls = [DOWN, "http://127.0.0.1:10/v1"]
    async with Direct("test", base_url=urls, attempts=3, pause=0.001, report=lambda _: None) as model:
        with pytest.raises(Unreachable, match=r"cannot be reached \(.*\), 3 attempts at 2 servers"):
            await model.ask("x")
    async with (
        Endpoint(models=["a"]) as first,
        Endpoint(models=["b"]) as second,
        Direct("test", base_url=[first.url, second.url], pause=0.001, report=lambda _: None) as model,
    ):
        for _ in range(2):
            with pytest.raises(UnknownModel, match="no model 'test'"):
                await model.ask("x")


def test_a_server_named_twice_is_refused():
    with pytest.raises(BadInput, match=r"http://127.0.0.1:9/v1 is given twice"):
        Direct("test", base_url=[DOWN, f"{DOWN}/"])
    with pytest.raises(UserError, match="password"):
        ModelSettings(base_url=[DOWN, "http://me:secret@127.0.0.1/v1"])


async def test_a_run_goes_on_at_other_servers_and_its_usage_is_told_by_server(tmp_path):
    async with Endpoint() as one, Endpoint() as two:
        came = []
        for urls, questions in ([one.url], 4), ([one.url, two.url], 9), ([two.url, one.url], 9), ([one.url], 9):
            async with open_models(
                [NAME], ModelSettings(base_url=urls), journal=journal_of(tmp_path / "journal")
            ) as session:
                models = [session.model(NAME, Asker("doctor", f"e{n}")) for n in range(questions)]
                await asyncio.gather(*(model.ask("x") for model in models))
                came.append((one.requests + two.requests, sum(line.calls for line in session.ledger.servers.values())))
        assert {server for _, server in session.ledger.servers} == {one.url, two.url}
    assert came == [(4, 0), (9, 5), (9, 5), (9, 5)]
