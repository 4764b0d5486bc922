"""Many things at once that end together; each is made, and then awaited, when its turn comes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from polyclinic import stopping
from polyclinic.errors import BudgetSpent, PolyclinicError, StoppedByHand

T = TypeVar("T")

AT_ONCE = 256
"""What has not begun can still be stopped, where a budget is spent; how many questions a model takes is its limit."""


@contextmanager
def ended_by_hand(is_stopped: Callable[[], bool]) -> Iterator[None]:
    """Turns a cancellation of somebody who stopped the run into `StoppedByHand`."""
    try:
        yield
    except asyncio.CancelledError:
        me = asyncio.current_task()
        if me is None or not is_stopped():
            raise
        me.uncancel()
        raise StoppedByHand("interrupted") from None


async def run_all(makes: Iterable[Callable[[], Awaitable[T]]], *, at_once: int = AT_ONCE) -> list[T]:
    """Runs all, some at a time, and returns the results in order; an error ends all before it is raised."""
    results, error = await run_until_error(makes, at_once=at_once, is_stopped=lambda: False)
    if error is not None:
        raise error
    return results


async def run_until_error(
    makes: Iterable[Callable[[], Awaitable[T]]],
    *,
    at_once: int = AT_ONCE,
    advance: Callable[[], None] | None = None,
    is_stopped: Callable[[], bool] = stopping.is_stopped,
) -> tuple[list[T], PolyclinicError | None]:
    """Runs all, some at a time, until one ends with an error of ours; returns what was over by then, in order.

    The error, if there was one, comes with it; any other exception is raised. `advance` is called as each is over.

    Where a budget is spent, what has begun ends by itself, at its next question: what is asked by then is paid for, and
    its answer is kept. Any other error stops the rest. So does a stop, which is the error `StoppedByHand`: `is_stopped`
    says whether somebody stopped it, as a task can be cancelled for other reasons.
    """
    results, error = await run_numbered(makes, at_once=at_once, advance=advance, is_stopped=is_stopped)
    return [results[number] for number in sorted(results)], error


async def run_numbered(
    makes: Iterable[Callable[[], Awaitable[T]]],
    *,
    at_once: int = AT_ONCE,
    advance: Callable[[], None] | None = None,
    is_stopped: Callable[[], bool] = stopping.is_stopped,
) -> tuple[dict[int, T], PolyclinicError | None]:
    """Does what `run_until_error` does, and returns what was over by its number."""
    limit = asyncio.Semaphore(at_once)
    begun: set[int] = set()
    interrupted = None

    async def run(number: int, make: Callable[[], Awaitable[T]]) -> T:
        async with limit:
            if is_stopped():
                raise StoppedByHand("interrupted")
            begun.add(number)
            result = await make()
        if advance is not None:
            advance()
        return result

    tasks = [asyncio.create_task(run(number, make)) for number, make in enumerate(makes)]
    try:
        over = (await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION))[0] if tasks else set()
        if any(isinstance(task.exception(), BudgetSpent) for task in over):
            for number in set(range(len(tasks))) - begun:
                tasks[number].cancel()
            over |= (await asyncio.wait([tasks[number] for number in begun]))[0]
    except asyncio.CancelledError:
        me = asyncio.current_task()
        if me is None or not is_stopped():
            raise
        me.uncancel()
        for task in tasks:
            task.cancel()
        # What one makes of being stopped counts: a visit that nobody has judged is a visit all the same.
        await asyncio.gather(*tasks, return_exceptions=True)
        # An error that is none of ours may come of being stopped.
        ours = PolyclinicError | None
        over = {task for task in tasks if not task.cancelled() and isinstance(task.exception(), ours)}
        interrupted = StoppedByHand("interrupted")
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    results: dict[int, T] = {}
    error: PolyclinicError | None = interrupted
    for number, task in ((number, task) for number, task in enumerate(tasks) if task in over):
        try:
            results[number] = task.result()
        except PolyclinicError as failure:
            error = error or failure
    return results, error
