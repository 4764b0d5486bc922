"""A model in a process of its own, with a measurement's answers and a fixed time for each; and what a ratio comes to.

A module that measures so ends with `serve_or_run(answer, run)`: `python -m bench.NAME serve LATENCY` is the process.
It does nothing but answer, so that what it takes itself of two cores is hardly laid to whoever asks; an answer leaves
so long after its request has come, whatever else was to be done meanwhile.
"""

import asyncio
import contextlib
import re
import signal
import subprocess
import sys
from pathlib import Path

import msgspec

from polyclinic.testing.endpoint import completion

ROOT = Path(__file__).parents[1]


class Served:
    """The endpoint that a module of `bench` serves, in a process of its own; entered, it is its address."""

    def __init__(self, name, latency):
        self._command = [sys.executable, "-m", name, "serve", str(latency)]

    def __enter__(self):
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        url = self._process.stdout.readline().strip()
        assert url, "the endpoint did not start"
        return url

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()


class Answering(asyncio.Protocol):
    """One connection over which one request at a time is put, as clients with a pool of connections do."""

    LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)

    def __init__(self, answer, latency):
        self._answer, self._latency, self._came = answer, latency, b""

    def connection_made(self, transport):
        self._transport = transport

    def data_received(self, data):
        loop = asyncio.get_running_loop()
        at = loop.time() + self._latency
        self._came += data
        head, _, body = self._came.partition(b"\r\n\r\n")
        length = self.LENGTH.search(head)
        if length is None or len(body) < int(length[1]):
            return
        self._came = b""
        request = msgspec.json.decode(body)
        said = completion(request, self._answer(request))
        loop.call_at(at, self._say, said)

    def _say(self, said):
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said)
        )


async def serve(answer, latency):
    """Answers until it is stopped, and says its address first."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stopped.set)
    server = await loop.create_server(lambda: Answering(answer, latency), "127.0.0.1", 0, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await stopped.wait()


def serve_or_run(answer, run):
    """Serves the answers where the command line says so, and measures otherwise."""
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(answer, float(sys.argv[2])))
    else:
        run()


def held_against(ratio, bar):
    """Returns a ratio beside the most that it may be."""
    return f"ratio {ratio:.3f}  bar {bar}: {'met' if ratio <= bar else 'MISSED'}"
