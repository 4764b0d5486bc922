"""No more connections than there are places for, and none that is held without asking anything."""

import asyncio
import resource
from contextlib import suppress

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from uvicorn import Config
from uvicorn.server import ServerState

from polyclinic.web import server
from polyclinic.web.server import BoundedConnection, allow_files, places

ASK = b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
STREAM = ASK.replace(b"/", b"/stream", 1)
BODY = b"POST /body HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\n{"


async def _events():
    yield b": \n\n"
    await asyncio.Event().wait()


async def _body(request):
    return PlainTextResponse(await request.body())


APP = Starlette(
    routes=[
        Route("/", lambda _: PlainTextResponse("well")),
        Route("/stream", lambda _: StreamingResponse(_events())),
        Route("/body", _body, methods=["POST"]),
    ]
)


@pytest.fixture
async def port():
    config = Config(APP, http=BoundedConnection, log_config=None)
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
    monkeypatch.setattr(server, "HEAD", 0.01)
    for before, half in ((b"", b"GET / HTTP/1.1\r\nX"), (ASK.replace(b"close", b"keep-alive"), b"GET")):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(before)
        if before:
            assert (await reader.readuntil(b"well")).startswith(b"HTTP/1.1 200")
        writer.write(half)
        with suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()


async def streaming(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(STREAM)
    assert (await asyncio.wait_for(reader.readuntil(b": \n\n\r\n"), 5)).startswith(b"HTTP/1.1 200")
    return reader, writer


async def test_half_requests_keep_nobody_out(port, monkeypatch):
    monkeypatch.setattr(server, "MOST", 6)
    streams = [await streaming(port) for _ in range(2)]
    half = []
    for n in range(12):
        half.append(await asyncio.open_connection("127.0.0.1", port))
        half[-1][1].write(BODY if n % 2 else b"GET / HTTP/1.1\r\nX")
        assert await asked(port, ASK) == b"HTTP/1.1 200"
    for reader, _ in half[:6]:  # whoever asked nothing for longest had to go
        with suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 5) == b""
    # Whoever is being answered has not; where all are, it is the newcomer who goes.
    streams += [await streaming(port) for _ in range(4)]
    assert await asked(port, ASK) == b"" and not any(reader.at_eof() for reader, _ in streams)
    streams[0][1].transport.abort()
    for _ in range(50):
        await asyncio.sleep(0)
    assert await asked(port, ASK) == b"HTTP/1.1 200"
    for _, writer in half + streams:
        writer.transport.abort()


def test_places_need_files(monkeypatch):
    held = {"now": (256, 20_000)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: held["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, told: held.update(now=told))
    assert places() == 128
    allow_files()
    assert held["now"] == (2_048, 20_000) and places() == 1_024
    held["now"] = (256, 512)
    allow_files()
    assert held["now"] == (512, 512) and places() == 256
