"""How many at a time, how often again, how long to wait."""

import asyncio
import email.utils
import random

import pytest
from tests.tables import each_row

from polyclinic.errors import Broken, RateLimited, WrongKey
from polyclinic.models.limits import Limit
from polyclinic.models.retry import Fault, Patience, retry_after


async def test_never_more_than_the_limit_and_in_order():
    limit, inside, most, order = Limit(3), 0, 0, []

    async def one(number):
        nonlocal inside, most
        async with limit:
            inside += 1
            most = max(most, inside)
            order.append(number)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(one(number) for number in range(50)))
    assert (most, order, limit.inside) == (3, list(range(50)), 0)


async def test_places_of_the_cancelled_are_given_on():
    limit = Limit(1)
    entered = []

    async def one(number, hold):
        async with limit:
            entered.append(number)
            await hold.wait()

    hold, free = asyncio.Event(), asyncio.Event()
    free.set()
    tasks = [asyncio.create_task(one(number, hold if number == 0 else free)) for number in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    hold.set()
    await asyncio.sleep(0)
    # The second is let in and cancelled in the same turn of the loop.
    tasks[2].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(result, asyncio.CancelledError) for result in results] == [False, True, True, False]
    assert limit.inside == 0
    async with limit:
        assert limit.inside == 1


async def test_it_doubles_until_it_meets_a_bound_then_grows_by_one_and_halves_once_a_round():
    limit = Limit(100, adaptive=True, start=8)
    for _ in range(8):
        limit.went_well()
    assert limit.now == 16
    async with limit, limit, limit:
        for _ in range(3):
            limit.too_many()
    assert limit.now == 8
    for _ in range(3 + 8):
        limit.went_well()
    assert limit.now == 9
    for _ in range(30):
        limit.too_many()
    assert limit.now == 1
    for _ in range(10_000):
        limit.went_well()
    assert limit.now == 100


def test_a_fixed_limit_stays():
    limit = Limit(5)
    limit.too_many()
    limit.went_well()
    assert limit.now == 5
    with pytest.raises(ValueError, match="nobody"):
        Limit(0)


def patience(**options):
    given = {"attempts": 5, "seconds": 100.0, "pause": 1.0, "rng": random.Random(1), "clock": lambda: 0.0, **options}
    return Patience(**given)


def test_pauses_double_and_are_drawn():
    mine = patience(attempts=100, seconds=1e9)
    pauses = []
    for mine.made in range(1, 20):
        pauses.append(mine.wait(Fault(Broken, "x")))
    assert all(0 <= pause <= min(60.0, 2.0**n) for n, pause in enumerate(pauses))
    assert len(set(pauses)) == len(pauses)
    again = patience(attempts=100, seconds=1e9)
    again.made = 1
    assert again.wait(Fault(Broken, "x")) == pauses[0]


def test_how_long_it_may_still_take_is_known():
    mine, again = patience(attempts=6, pause=2.0, seconds=1800.0), Fault(Broken, "x")
    mine.begin()
    assert mine.wait(again) < 2.0
    assert mine.longest(again) == 2 + 4 + 8 + 16 + 32
    assert mine.longest(Fault(Broken, "x", after=10.0)) == 62 + 5 * 10
    endless = patience(attempts=2**31, pause=2.0, seconds=1800.0)
    endless.begin()
    endless.wait(again)
    assert endless.longest(again) == 1800


def test_the_budget_ends():
    mine = patience(attempts=2)
    mine.made = 1
    assert mine.wait(Fault(Broken, "x")) is not None
    mine.made = 2
    assert mine.wait(Fault(Broken, "x")) is None
    time = [0.0]
    mine = patience(seconds=10.0, clock=lambda: time[0])
    time[0] = 1000.0  # it waited for its turn
    mine.begin()
    assert mine.wait(Fault(RateLimited, "x", after=9.0)) >= 9.0
    assert mine.wait(Fault(RateLimited, "x", after=11.0)) is None
    assert mine.wait(Fault(WrongKey, "x", again=False)) is None


@each_row(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("3", 3.0),
        ("0.5", 0.5),
        ("-2", 0.0),
        (email.utils.formatdate(1030, usegmt=True), 30.0),
        (email.utils.formatdate(900, usegmt=True), 0.0),
        ("soon", None),
        ("inf", None),
        ("nan", None),
    ],
)
def test_retry_after(header, seconds):
    assert retry_after(header, now=lambda: 1000.0) == seconds


async def test_what_is_wanted_first_is_let_in_first():
    limit, order = Limit(1), []

    async def one(number, wanted):
        await limit.enter(wanted)
        order.append(number)
        await asyncio.sleep(0)
        limit.leave()

    await asyncio.gather(*(one(number, wanted) for number, wanted in enumerate((9, 5, 7, 5, 1))))
    assert order == [0, 4, 1, 3, 2]


async def test_of_chains_with_steps_the_last_begins_before_the_others_are_over():
    async def order(step):
        limit, asked = Limit(1), []

        async def chain(number):
            for place in range(3):
                await limit.enter(10 * number + step * place)
                asked.append(number)
                await asyncio.sleep(0)
                limit.leave()

        await asyncio.gather(*map(chain, range(3)))
        return asked

    assert await order(0) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert (await order(12))[:4] == [0, 1, 0, 2]
