"""How many requests and tokens a minute: never more in any minute, nearly as many in all, over all who ask."""

import asyncio

import pytest
from bench.virtual_time import SimulatedServer, run_virtually

from polyclinic.models.direct import Direct
from polyclinic.models.limits import Pace
from polyclinic.models.session import open_models, open_provider
from polyclinic.models.settings import ModelSettings


def most_in_a_minute(times, weights=None):
    weights = weights or [1] * len(times)
    return max(sum(w for t, w in zip(times, weights, strict=True) if begin <= t < begin + 60) for begin in times)


def times_of(n, *paces, tokens=0):
    """Returns when each of n requests of each pace was let in."""

    async def ask(pace):
        times = []

        async def one():
            expected = await pace.enter(1000)
            times.append(asyncio.get_running_loop().time())
            await asyncio.sleep(2)
            pace.settle(1000, expected, tokens)

        await asyncio.gather(*(one() for _ in range(n)))
        return times

    async def all_of_them():
        return await asyncio.gather(*map(ask, paces))

    return run_virtually(all_of_them())


@pytest.mark.parametrize("a_minute", [6, 60, 240])
def test_no_minute_has_more_requests_and_nearly_as_many_are_made(a_minute):
    (times,) = times_of(3 * a_minute, Pace(requests=a_minute))
    assert most_in_a_minute(times) <= a_minute
    assert max(times) <= 3.3 * 60 * (1.2 if a_minute == 6 else 1)


def test_no_minute_has_more_tokens_but_for_one_request():
    # Reckoned with 300 before the first answer, and 80 then.
    (times,) = times_of(200, Pace(tokens=4000), tokens=80)
    assert most_in_a_minute(times, [80] * 200) <= 4000 + 300
    assert max(times) <= 1.15 * 200 * 80 / 4000 * 60
    (unsaid,) = times_of(20, Pace(tokens=3000), tokens=0)  # an endpoint that does not say what it took
    assert most_in_a_minute(unsaid, [300] * 20) <= 3300


def test_several_processes_divide_it():
    times = times_of(120, *(Pace(requests=120, of=2) for _ in range(2)))
    assert most_in_a_minute([t for each in times for t in each]) <= 120
    assert [max(each) > 110 for each in times] == [True, True]


def test_a_model_that_is_opened_twice_has_one_pace():
    def opened(address, requests=3):
        return open_provider("direct/x", ModelSettings(base_url=address, requests_per_minute=requests), paces=paces)

    paces = {}
    one = opened("http://a")._pace
    assert one is opened("http://a")._pace
    assert one is not opened("http://b")._pace
    assert opened("http://a", None)._pace is None


def test_requests_wait_for_their_turn_and_the_ones_made_again_count():
    async def talk():
        async with Direct("x", base_url="http://127.0.0.1:9/v1", pace=Pace(requests=60), pause=0.1) as model:
            server = SimulatedServer(latency=0.5, capacity=1)
            server.stands_for(model.servers[0])
            times, sent = [], model.servers[0].send

            async def send(*given):
                times.append(asyncio.get_running_loop().time())
                return await sent(*given)

            model.servers[0].send = send
            await asyncio.gather(*(model.ask(f"question {n}") for n in range(90)))
            return times, server.answered

    times, answered = run_virtually(talk())
    assert answered == 90 <= len(times)
    assert most_in_a_minute(times) <= 60


async def test_roles_of_a_model_share_what_the_options_say(monkeypatch):
    made = []
    monkeypatch.setattr("polyclinic.models.session.Pace", lambda **given: made.append(given) or object())
    options = ModelSettings(base_url="http://127.0.0.1:9/v1", requests_per_minute=30, tokens_per_minute=9000)
    async with open_models(["direct/x", "direct/x", "direct/y"], options) as session:
        opened = session.models["direct/x"], session.models["direct/y"]
    assert made == [{"requests": 30, "tokens": 9000, "of": 1}] * 2
    assert opened[0]._pace is not opened[1]._pace
