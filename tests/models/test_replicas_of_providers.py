"""Inspect's models at several addresses: the conversation's server first, another where that is full or fails."""

import asyncio
import random
from collections import Counter

import pytest

from polyclinic.errors import Rejected, Unreachable
from polyclinic.models.limits import Limit
from polyclinic.models.model import Reply
from polyclinic.models.open import Replicas

HERE = ("http://a/v1", "http://b/v1", "http://c/v1")


class Provider:
    name = "inspect/some/model"

    def __init__(self, address, asked):
        self.address, self.asked, self.fails, self.seconds = address, asked, None, 0.0
        self.inside = self.most = 0

    async def ask(self, messages, *, answer=None, **options):
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.inside -= 1
        if self.fails is not None:
            raise self.fails(f"{self.address} fails", attempts=1)
        self.asked[self.address, options.get("conversation")] += 1
        return Reply("yes", "yes")


def made(limit=64, pause=0.001):
    asked, said = Counter(), []
    doors = [Provider(address, asked) for address in HERE]
    replicas = Replicas(doors, HERE, limit=Limit(limit), rng=random.Random(1), report=said.append, pause=pause)
    return replicas, doors, asked, said


async def ask(replicas, turns=4, conversations=30):
    await asyncio.gather(*(ask_in(replicas, f"c{number}", turns) for number in range(conversations)))


async def ask_in(replicas, conversation, turns):
    for _ in range(turns):
        await replicas.ask("?", conversation=conversation)


@pytest.mark.slow
def test_a_conversation_stays_and_all_addresses_are_asked():
    replicas, doors, asked, _ = made()
    for door in doors:
        door.seconds = 0.02  # which a busy machine does not double

    async def one_after_another():
        for number in range(12):
            await ask_in(replicas, f"c{number}", turns=3)

    asyncio.run(one_after_another())
    assert len({address for address, _ in asked}) == 3
    of = Counter(conversation for _, conversation in asked)
    assert sum(n == 1 for n in of.values()) >= 10, "at one server from beginning to end"


def test_one_that_fails_is_left_and_nothing_is_lost():
    replicas, doors, asked, said = made()
    doors[1].fails = Unreachable
    asyncio.run(ask(replicas))
    assert asked.total() == 30 * 4
    assert not [1 for address, _ in asked if address == HERE[1]]
    assert len(said) == 1 and "http://b/v1" in said[0] and "the 2 others are asked meanwhile" in said[0]


def test_one_that_is_full_spills_over_and_keeps_to_its_limit():
    replicas, doors, asked, _ = made(limit=2)
    for door in doors:
        door.seconds = 0.005

    async def all_of_one():
        await asyncio.gather(*(replicas.ask("?", conversation="the same") for _ in range(6)))

    asyncio.run(all_of_one())
    assert {address for address, _ in asked} == set(HERE)
    assert max(door.most for door in doors) == 2


def test_where_all_fail_the_error_says_how_often_it_was_tried():
    replicas, doors, _, _ = made()
    for door in doors:
        door.fails = Unreachable
    with pytest.raises(Unreachable, match="6 attempts"):
        asyncio.run(replicas.ask("?"))


def test_a_question_that_is_refused_goes_nowhere_else():
    replicas, doors, _, _ = made()
    for door in doors:
        door.fails = Rejected
    with pytest.raises(Rejected) as refused:
        asyncio.run(replicas.ask("?"))
    assert refused.value.attempts == 1
