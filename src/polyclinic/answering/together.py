"""Waiting for several calls at once, and what can be used of what came."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from polyclinic.errors import BudgetSpent, ModelError

T = TypeVar("T")


async def together(*asked: Awaitable[T]) -> list[T | ModelError]:
    """Waits for calls that do not depend on one another, and returns in their order what came of each.

    It is the model's failure where the answer cannot be used.

    Raises:
        PlayFailure: an endpoint gave no answer; the other calls are stopped first.
        BudgetSpent: the run has cost what it may cost; what was asked by then is waited for, and kept.
    """
    tasks = [asyncio.ensure_future(_or_model_error(one)) for one in asked]
    try:
        if tasks:
            over, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            if others and any(isinstance(task.exception(), BudgetSpent) for task in over):
                await asyncio.wait(others)
        for task in tasks:
            if task.done():
                task.result()
        return [task.result() for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _or_model_error(asked: Awaitable[T]) -> T | ModelError:
    try:
        return await asked
    except ModelError as failure:
        return failure


def needed(came: T | ModelError) -> T:
    """Returns what came of one of the calls that `together` waited for, where the question cannot go on without it.

    Raises:
        ModelError: the answer cannot be used.
    """
    if isinstance(came, ModelError):
        raise came
    return came


def usable(came: Iterable[T | ModelError]) -> list[T]:
    """Returns what can be used of what came of calls of which one is enough.

    Raises:
        ModelError: nothing can be used; the first failure.
    """
    came = list(came)
    good = [one for one in came if not isinstance(one, ModelError)]
    if came and not good:
        needed(came[0])
    return good
