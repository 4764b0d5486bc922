"""Thousands of questions hold memory flat."""

import asyncio
import resource
import sys

import msgspec
import pytest

from polyclinic.models.journal import Journal
from polyclinic.models.ledger import Ledger
from polyclinic.testing.endpoint import EndpointProcess

MANY = 1500


class Letter(msgspec.Struct):
    text: str
    lines: list[str]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the operating system does not say how much is held")
async def test_thousands_of_questions_hold_memory_flat(opened, tmp_path):
    unit = 1 if sys.platform == "darwin" else 1024

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20

    with EndpointProcess(latency=0.005) as endpoint:
        async with opened(endpoint.url, repairs=0) as model, Journal(tmp_path / "j") as journal:
            metered = Ledger().meter(journal.wrap(model, episode="e"), "doctor")
            questions = iter(range(MANY))

            async def ask(until):
                for number in questions:
                    reply = await metered.ask([("system", "s" * 10_000), ("user", f"q{number}")], answer=Letter)
                    assert reply.value.text
                    if number >= until:
                        return

            async def all_of(until):
                await asyncio.gather(*(ask(until) for _ in range(256)))

            await all_of(MANY // 5)
            before = peak()
            await all_of(MANY)
            assert journal.stored == MANY
            assert peak() - before < 12, peak() - before
