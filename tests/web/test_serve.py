"""`polyclinic serve` and `run --live`, with wrong input."""

import io
import logging
import socket
import subprocess
import sys
from threading import Event

import pytest

from polyclinic.web.server import address, bound, tell_later


def test_a_port_in_use_is_said_at_once(complaint, runs):
    with socket.create_server(("127.0.0.1", 0)) as there:
        port = there.getsockname()[1]
        told = complaint("serve", runs, "--port", port)
        assert f"port {port} of 127.0.0.1" in told and "--port" in told and "\n" not in told.strip()
        assert f"port {port}" in complaint("run", "--live", "--set", f"run.port={port}", "--residents", 5, "--days", 1)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["serve", "/nowhere/at/all"], "no such folder"),
        (["serve", "--port", "70000"], "65,535"),
        (["run", "--live", "--replicas", "2"], "--live"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_line(complaint, arguments, word):
    assert word in complaint(*arguments)


def test_an_address_can_be_opened():
    with bound("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert address(taken, "127.0.0.1", page="town") == f"http://127.0.0.1:{port}/town"
        assert address(taken, "0.0.0.0", token="a b").endswith(f":{port}/?token=a%20b")
        assert address(taken, "::1") == f"http://[::1]:{port}/"


@pytest.mark.slow
def test_a_terminal_that_stands_still_keeps_the_server_from_nothing():
    class Still(io.StringIO):
        goes_on = Event()

        def write(self, text):
            self.goes_on.wait(60)
            return super().write(text)

    end = tell_later(terminal := Still())
    log = logging.getLogger("uvicorn.error")
    for n in range(1_500):  # more than can wait
        log.error("line %d", n)
    Still.goes_on.set()
    log.error("the last")
    end()
    assert "ERROR: line 0\nERROR: line 1\n" in terminal.getvalue()
    assert logging.getLogger("uvicorn").handlers == []


@pytest.mark.slow
def test_a_stop_ends_the_server_in_order_and_a_second_changes_nothing(runs):
    script = f"""
import os, signal, sys, threading, urllib.request
from pathlib import Path
from polyclinic import stopping
from polyclinic.web.server import address, bound, serve
from polyclinic.web.serving import Serving
stopping.listen()
stopping.begin()

def stop(url=""):
    if url:
        urllib.request.urlopen(url, timeout=60).read()  # it waits until the server is there
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGINT):
        os.kill(os.getpid(), number)

serving = Serving([Path({str(runs)!r})])
async def end():
    print("ended")
    stop()
serving.ending.append(end)
with bound("127.0.0.1", 0) as taken:
    threading.Thread(target=stop, args=(address(taken, "127.0.0.1"),)).start()
    serve(serving, taken)
print("closed", flush=True)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ended\nclosed\n", "")
