"""`polyclinic serve` and `run --live`, with wrong input."""

import io
import logging
import signal
import socket
from threading import Event

import pytest
import uvicorn

from polyclinic.web.server import _PageServer, address, bound, tell_later


def test_a_port_in_use_is_said_at_once(complaint, runs):
    with socket.create_server(("127.0.0.1", 0)) as there:
        port = there.getsockname()[1]
        told = complaint("serve", runs, "--port", port)
        assert f"port {port} of 127.0.0.1" in told and "--port" in told and "\n" not in told.strip()
        assert f"port {port}" in complaint("run", "--live", "--port", port, "--residents", 5, "--days", 1)


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


def test_a_second_stop_changes_nothing():
    server = _PageServer(uvicorn.Config(None))
    server.handle_exit(signal.SIGINT, None)
    server.handle_exit(signal.SIGINT, None)
    assert (server.should_exit, server.force_exit) == (True, False)
