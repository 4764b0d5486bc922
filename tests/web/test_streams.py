"""Streams of events: so many at once, so many of them from one address, and those that end make room."""

import asyncio
from contextlib import suppress

import pytest
from starlette.requests import Request

from polyclinic.web.refused import RequestRefused
from polyclinic.web.replies import ALIVE, streamed
from polyclinic.web.serving import MOST_STREAMS, MOST_STREAMS_OF_ONE, Serving

HERE, ELSEWHERE = "127.0.0.1", "192.0.2.1"


async def _events():
    yield ALIVE
    await asyncio.Event().wait()


def _asked(address):
    return Request({"type": "http", "headers": [], "client": (address, 1)})


def _begun(serving, address):
    """Begins a stream as a server does, and returns its task."""
    response = streamed(_asked(address), serving, _events())

    async def receive():
        await asyncio.Event().wait()

    async def send(_):
        pass

    return asyncio.create_task(response({"type": "http", "asgi": {"spec_version": "2.4"}}, receive, send))


@pytest.fixture
async def begin(tmp_path):
    serving, tasks = Serving([tmp_path]), []

    async def begin(address, n):
        for _ in range(n):
            tasks.append(_begun(serving, address))
            await asyncio.sleep(0)
        return tasks

    begin.serving = serving
    yield begin
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_address_leaves_streams_for_others_and_gets_them_back(begin):
    tasks = await begin(HERE, MOST_STREAMS_OF_ONE)
    with pytest.raises(RequestRefused, match="from your address") as refused:
        await begin(HERE, 1)
    assert refused.value.status == 503
    await begin(ELSEWHERE, 3)
    tasks[0].cancel()
    with suppress(asyncio.CancelledError):
        await tasks[0]
    await begin(HERE, 1)
    assert begin.serving.streams == {HERE: MOST_STREAMS_OF_ONE, ELSEWHERE: 3}


async def test_all_addresses_together_have_so_many(begin):
    for number in range(MOST_STREAMS // MOST_STREAMS_OF_ONE):
        await begin(f"192.0.2.{number}", MOST_STREAMS_OF_ONE)
    with pytest.raises(RequestRefused, match=f"{MOST_STREAMS} streams are open"):
        await begin(HERE, 1)


async def test_an_address_that_has_left_is_forgotten(begin):
    for task in await begin(HERE, 2):
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert begin.serving.streams == {}


def test_several_pages_of_several_browsers_fit():
    assert 30 <= MOST_STREAMS_OF_ONE <= MOST_STREAMS // 4
