"""What is stopped is stopped once, however often it is asked to, and has the time to write what it has."""

import asyncio
import errno
import io
import logging
import os
import signal
from types import SimpleNamespace

import pytest

from polyclinic import __main__ as start
from polyclinic.cli import main, stopping
from polyclinic.cli.stopping import INTERRUPTED, is_over, stoppable


@pytest.mark.parametrize("numbers", [(signal.SIGINT,) * 3, (signal.SIGTERM,), (signal.SIGHUP, signal.SIGINT)])
def test_a_second_signal_does_not_break_off_what_the_first_has_begun(numbers):
    written = []

    async def work():
        try:
            for number in numbers:
                os.kill(os.getpid(), number)
            await asyncio.sleep(9)
        finally:
            await asyncio.sleep(0)
            written.append("all")

    with pytest.raises(KeyboardInterrupt), stoppable():
        asyncio.run(work())
    assert written == ["all"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


class Full(io.StringIO):
    def write(self, text):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_an_output_that_takes_nothing_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout", Full())
    monkeypatch.setattr("polyclinic.cli._say_no_more", lambda: None)
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 1
    assert capsys.readouterr().err == "polyclinic: the output cannot be written (No space left on device)\n"


def test_ctrl_c_before_and_behind_the_command_is_no_traceback(monkeypatch):
    said, ended = [], []
    monkeypatch.setattr(os, "write", lambda _, text: said.append(text))
    monkeypatch.setattr(os, "_exit", ended.append)
    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        listening, importing = [], []
        wants = {one: signal.getsignal(one) for one in start._STOPS}
        assert wants[signal.SIGTERM] is wants[signal.SIGHUP] is signal.SIG_DFL
        monkeypatch.setattr("polyclinic.cli.program", lambda: listening.extend(map(signal.getsignal, start._STOPS)))
        set_to = signal.signal
        monkeypatch.setattr(signal, "signal", lambda one, does: importing.append((one, does)) or set_to(one, does))
        start.program()
        assert importing[: len(wants)] == [(one, start._not_begun) for one in wants]
        assert listening == [*wants.values()]  # from here on the command itself listens
        start._not_begun()
        assert (said, ended) == ([b"polyclinic: interrupted\n"], [INTERRUPTED])
        is_over(1)
        signal.raise_signal(signal.SIGINT)
        assert ended == [INTERRUPTED, 1]
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_letter_that_the_encoding_of_the_output_lacks_is_no_traceback(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    with pytest.raises(SystemExit) as ended:
        main(["cases", "list", "shipped-zh"])
    assert ended.value.code == 0
    assert rb"\u4e0a" in raw.getvalue()


def test_of_a_task_that_a_stop_breaks_off_asyncio_says_nothing(monkeypatch, caplog):
    started = []
    monkeypatch.setattr(stopping, "_alone", True)
    monkeypatch.setattr("threading.Timer", lambda seconds, then: started.append(seconds) or SimpleNamespace(start=int))
    said = logging.getLogger("asyncio")
    level = said.level
    try:
        stopping._watch()
        said.error("Task exception was never retrieved")
    finally:
        said.setLevel(level)
    assert (caplog.records, started) == ([], [stopping._PATIENCE, stopping.SECONDS])
