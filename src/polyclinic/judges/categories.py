"""What went wrong, sorted into categories: by a judge, by rules or by people, and how they are counted.

What is sorted is known by two names (a case and a doctor, a question and a method). A person's word goes before the
others', and is not asked for. A judge's answer that cannot be used is counted under its own name, and is no category.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from polyclinic.errors import BadInput, EndpointError, ModelError, ScriptError
from polyclinic.files import read_lines, split_place
from polyclinic.models.model import Messages, Model

Source = Literal["judge", "rules", "human"]

K = TypeVar("K", bound=StrEnum)
T = TypeVar("T")
Item = TypeVar("Item")

_AT_ONCE = 256  # what has not begun can still be stopped, where a budget is spent


class Verdict(NamedTuple):
    """What came of asking a judge.

    Attributes:
        value: the answer; None where none can be used.
        error: the name of the failure then.
        failed: no answer came at all; otherwise one came that cannot be used.
    """

    value: Any
    error: str = ""
    failed: bool = False


class Sorted(NamedTuple, Generic[K]):
    """One thing that was sorted.

    Attributes:
        kind: None where there is none.
        source: who says so.
        error: the name of the failure where there is no category.
        failed: as in `Verdict`.
    """

    kind: K | None
    source: Source
    error: str = ""
    failed: bool = False


class Tally(NamedTuple, Generic[K]):
    """How often each category was found.

    Attributes:
        counts: by category, whoever says so; those that were not found too.
        sources: the same by who says so.
        unreadable: answers of a judge that cannot be used, by the name of the failure.
        failed: questions that got no answer, likewise.
    """

    counts: dict[K, int]
    sources: dict[Source, dict[K, int]]
    unreadable: dict[str, int]
    failed: dict[str, int]


async def ask_judge(judge: Model, messages: Messages, *, answer: Any, purpose: str) -> Verdict:
    """Asks a judge; a failure of the model is in the result.

    Args:
        judge: a model.
        messages: as `Model.ask`.
        answer: as `Model.ask`.
        purpose: different for every question, as equal ones may run at once.

    Raises:
        WrongKey: the judge's endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
    """
    try:
        reply = await judge.ask(messages, answer=answer, purpose=purpose)
    except ModelError as failure:
        return Verdict(None, type(failure).__name__)
    except (EndpointError, ScriptError) as failure:
        return Verdict(None, type(failure).__name__, failed=True)
    return Verdict(reply.value)


async def all_at_once(ask: Callable[[Item], Awaitable[T]], items: Iterable[Item]) -> tuple[T, ...]:
    """Asks about all items at once; returns what came in their order. What ends the run ends all of it."""
    limit = asyncio.Semaphore(_AT_ONCE)

    async def one(item: Item) -> T:
        async with limit:
            return await ask(item)

    tasks = [asyncio.create_task(one(item)) for item in items]
    try:
        return tuple(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def tally(kinds: type[K], found: Sequence[Sorted[K]]) -> Tally[K]:
    """Counts what was found."""
    counts = Counter(one.kind for one in found)
    sources: dict[Source, dict[K, int]] = {}
    for one in found:
        if one.kind is not None:
            counted = sources.setdefault(one.source, dict.fromkeys(kinds, 0))
            counted[one.kind] += 1
    return Tally(
        counts={kind: counts[kind] for kind in kinds},
        sources=sources,
        unreadable=dict(Counter(one.error for one in found if one.error and not one.failed)),
        failed=dict(Counter(one.error for one in found if one.failed)),
    )


def read_people(
    path: Path, word: type[T], *, field: str, kinds: type[StrEnum], names: Callable[[T], tuple[str, str]], of: str
) -> dict[tuple[str, str], T]:
    """Reads what people say: JSON lines, at most one for each two names.

    Args:
        path: the file.
        word: the type of a line.
        field: the one that holds the category.
        kinds: the categories.
        names: the two names that a line is about.
        of: how an error calls them, with two blanks ("case {} of doctor {}").

    Raises:
        BadInput: the file cannot be read, a line is something else, or two lines are about the same.
    """
    decoder = msgspec.json.Decoder(word)
    words: dict[tuple[str, str], T] = {}
    for number, line in read_lines(path):
        try:
            said = decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            problem, place = split_place(str(error))
            allowed = f"; the {field} is one of {', '.join(kinds)}" if place == f"$.{field}" else ""
            raise BadInput(f"not a {field}: {problem}{allowed}", path=path, line=number, field=place) from None
        key = names(said)
        if key in words:
            problem = f"{of.format(*key)} has a {field} already; leave one line of them"
            raise BadInput(problem, path=path, line=number)
        words[key] = said
    return words
