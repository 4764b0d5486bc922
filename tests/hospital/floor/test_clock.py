"""Decisions take effect when they are due, whatever the order in which they are made."""

import asyncio
import time

import pytest

from polyclinic.errors import BudgetSpent, UserError
from polyclinic.hospital.floor.clock import Clock, DueInThePast


async def answer(value, seconds=0.0):
    await asyncio.sleep(seconds)
    return value


async def test_a_decision_happens_when_it_is_due_and_not_when_it_is_made():
    happened = []

    async with Clock() as clock:

        def one(value, seconds, due):
            made = yield clock.launch(answer(value, seconds), due=due)
            happened.append((clock.now, made))

        clock.start(one("slow, early", 0.05, 10))
        clock.start(one("fast, late", 0.0, 30))
        clock.start(one("middle", 0.02, 20))
        await clock.run()
    assert happened == [(10, "slow, early"), (20, "middle"), (30, "fast, late")]


async def test_decisions_that_are_due_together_happen_in_the_order_of_their_launch():
    happened = []
    async with Clock() as clock:

        def one(value, seconds):
            happened.append((yield clock.launch(answer(value, seconds), due=5)))

        for number, seconds in enumerate((0.03, 0.0, 0.02, 0.01)):
            clock.start(one(number, seconds))
        await clock.run()
    assert happened == [0, 1, 2, 3]


async def test_at_one_moment_who_begins_goes_first_and_all_else_in_the_order_of_its_planning():
    happened = []
    async with Clock() as clock:

        def says(word, *waits):
            for seconds in waits:
                yield clock.wait(seconds)
            happened.append(word)
            return word

        def starts():
            yield clock.wait(3)
            clock.call(0, lambda: happened.append("called"))
            other = clock.start(says("started"))
            happened.append((yield other) + " has ended")
            happened.append((yield other) + ", and is not waited for again")

        clock.start(starts())
        clock.start(says("waited", 1, 2))
        clock.start(says("planned before", 3))
        await clock.run()
    assert happened == [
        "started", "planned before", "waited", "called", "started has ended", "started, and is not waited for again",
    ]  # fmt: skip


async def test_everything_before_a_due_decision_goes_on_while_it_is_made():
    ready = asyncio.Event()
    seen = []

    async def waits():
        await ready.wait()
        return "made"

    async with Clock() as clock:

        def ticks():
            while clock.now < 100:
                yield clock.wait(10)
                seen.append(clock.now)
                if clock.now == 40:
                    ready.set()  # were the clock to stand still before the due time, this would never come

        def decides():
            seen.append((yield clock.launch(waits(), due=55)))

        clock.start(decides())
        clock.start(ticks())
        await asyncio.wait_for(clock.run(), 5)
    assert seen == [10, 20, 30, 40, 50, "made", 60, 70, 80, 90, 100]


async def test_tasks_go_on_though_the_clock_never_has_to_wait():
    async def many_steps():
        for _ in range(20):
            await asyncio.sleep(0)
        return clock.now

    async with Clock() as clock:

        def ticks():
            for _ in range(20_000):
                yield clock.wait(1)

        def decides():
            clock.made = yield clock.launch(many_steps(), due=20_000)

        clock.start(ticks())
        clock.start(decides())
        await clock.run()
        assert 0 < clock.made < 10_000


async def test_a_due_time_in_the_past_is_refused():
    async with Clock(start=100) as clock:
        with pytest.raises(DueInThePast, match=r"launched at 100 s .* 99 s"):
            clock.launch(answer("late"), due=99)
        assert not clock.open


async def test_a_failure_comes_out_when_it_is_due_as_it_was_raised():
    class Odd(UserError):
        def __init__(self, *, needed):
            super().__init__(needed)

    error = Odd(needed="cannot be made again from its arguments")
    seen = []

    async def fails():
        raise error

    async with Clock() as clock:

        def ticks():
            while True:
                yield clock.wait(10)
                seen.append(clock.now)

        clock.start(ticks())
        clock.launch(fails(), due=35)
        with pytest.raises(Odd) as raised:
            await clock.run(100)
    assert raised.value is error
    assert seen == [10, 20, 30]


async def test_an_error_of_a_process_comes_out_as_it_was_raised():
    error = KeyError("mistake")
    async with Clock() as clock:

        def breaks():
            yield clock.wait(1)
            raise error

        clock.start(breaks())
        with pytest.raises(KeyError) as raised:
            await clock.run()
    assert raised.value is error


async def test_what_never_came_due_is_cancelled_at_the_end():
    cancelled = []

    async def long():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async with Clock() as clock:
        clock.launch(long(), due=1000)
        await clock.run(10)
        await asyncio.sleep(0)
        assert (clock.now, clock.open) == (10, 1)
    assert cancelled == [True]


async def test_run_leaves_out_its_end_and_stops_where_it_is_told_to():
    seen = []
    async with Clock() as clock:

        def ticks():
            while True:
                yield clock.wait(10)
                seen.append(clock.now)
                if clock.now == 30:
                    clock.stop()

        clock.start(ticks())
        await clock.run(20)
        assert (seen, clock.now) == ([10], 20)
        await clock.run()
        assert (seen, clock.now) == ([10, 20, 30], 30)


async def test_where_a_budget_is_spent_what_is_under_way_is_waited_for():
    over = []

    async def asks(error):
        await asyncio.sleep(0)
        if error is not None:
            raise error
        await asyncio.sleep(0.01)
        over.append("kept")

    for error in (BudgetSpent("spent"), ValueError("ours")):
        with pytest.raises(type(error)):
            async with Clock() as clock:
                clock.launch(asks(error), due=1)
                clock.launch(asks(None), due=2)
                await clock.run()
    assert over == ["kept"]


async def test_a_clock_that_waits_uses_no_time_of_the_processor():
    import time

    async with Clock() as clock:
        clock.launch(answer("late", 0.3), due=5)
        began = time.process_time()
        await clock.run()
    assert time.process_time() - began < 0.1


async def test_a_slow_event_lets_the_tasks_go_on():
    seen = {}

    async def wanted(number):
        seen[number] = clock.now
        return number

    async with Clock() as clock:

        def slow():
            for _ in range(20):
                time.sleep(0.003)
                yield clock.wait(1)

        for due in (300, 200):
            clock.launch(wanted(due), due=due)
        clock.start(slow())
        await clock.run()
        assert clock.wanted(clock.now + 300) == (clock.now + 300, 7)
    assert all(at < 10 for at in seen.values()), seen
