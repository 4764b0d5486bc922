"""No more connections than there are places for, and none that is held without asking anything."""

import asyncio
import logging
from contextlib import suppress

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from uvicorn import Config
from uvicorn.server import ServerState

from polyclinic.web import connections
from polyclinic.web.connections import BoundedConnection, places

ASK = b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
APP = Starlette(routes=[Route("/", lambda _: PlainTextResponse("well"))])


@pytest.fixture
async def port():
    config = Config(APP, http=BoundedConnection, log_level=logging.CRITICAL)
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()
    served = await loop.create_server(
        lambda: BoundedConnection(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    yield served.sockets[0].getsockname()[1]
    served.close()


async def asked(port, request):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        return await asyncio.wait_for(reader.read(12), 5)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_who_asks_nothing_is_not_waited_for(port, monkeypatch):
    assert await asked(port, ASK) == b"HTTP/1.1 200"
    monkeypatch.setattr(connections, "HEAD", 0.01)
    for before, half in ((b"", b"GET / HTTP/1.1\r\nX"), (ASK.replace(b"close", b"keep-alive"), b"GET")):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(before)
        if before:
            assert (await reader.readuntil(b"well")).startswith(b"HTTP/1.1 200")
        writer.write(half)
        with suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()


async def test_one_address_has_half_of_the_places(port, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 6)
    held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
    await asyncio.sleep(0)
    assert await asked(port, ASK) == b""
    held.pop()[1].close()
    for _ in range(50):
        await asyncio.sleep(0)
    assert await asked(port, ASK) == b"HTTP/1.1 200"
    for _, writer in held:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    assert 2 <= places() <= 6
