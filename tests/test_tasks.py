"""Many things at once: in order, some at a time, and what ends one ends all."""

import asyncio
from functools import partial

import pytest

from polyclinic.errors import BudgetSpent, PolyclinicError
from polyclinic.tasks import run_all, run_until_error

RUNNING = set()


async def work(number, *, until=0.0, error=None):
    RUNNING.add(number)
    try:
        await asyncio.sleep(until)
        if error is not None:
            raise error
        return number
    finally:
        RUNNING.discard(number)


async def test_results_come_in_order_and_few_at_a_time():
    most = 0

    async def one(number):
        nonlocal most
        RUNNING.add(number)
        most = max(most, len(RUNNING))
        await asyncio.sleep(0.002 * (number % 3))
        RUNNING.discard(number)
        return number

    assert await run_all((partial(one, number) for number in range(12)), at_once=3) == list(range(12))
    assert most == 3
    assert await run_all([]) == []


@pytest.mark.parametrize("error", [PolyclinicError("any"), ValueError("ours")])
async def test_what_ends_one_ends_all_of_them_first(error):
    makes = [partial(work, 0), partial(work, 1, until=0.01, error=error), partial(work, 2, until=60)]
    with pytest.raises(type(error)):
        await run_all(makes)
    assert not RUNNING


async def test_where_a_budget_is_spent_what_was_asked_by_then_is_awaited_and_kept():
    spent = partial(work, 1, until=0.01, error=BudgetSpent("spent"))
    kept, error = await run_until_error([partial(work, 0, until=0.05), spent])
    assert kept == [0] and isinstance(error, BudgetSpent)
    assert not RUNNING


async def test_what_was_over_before_an_error_is_kept():
    over = []
    makes = [partial(work, 0), partial(work, 1, until=60), partial(work, 2, until=0.01, error=PolyclinicError("any"))]
    kept, error = await run_until_error(makes, advance=lambda: over.append(1))
    assert kept == [0]
    assert isinstance(error, PolyclinicError)
    assert len(over) == 1
    assert not RUNNING
    with pytest.raises(ValueError, match="ours"):
        await run_until_error([partial(work, 0), partial(work, 1, error=ValueError("ours"))])


async def test_who_is_stopped_stops_them():
    task = asyncio.create_task(run_all([partial(work, 0, until=60)]))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not RUNNING
