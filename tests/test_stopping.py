"""What is stopped is stopped once, however often it is asked to, and has the time to write what it has."""

import asyncio
import errno
import io
import os
import signal
import subprocess
import sys
import time

import pytest

from polyclinic import stopping
from polyclinic.cli import main
from polyclinic.stopping import INTERRUPTED, SECONDS, EndedBy, Stoppable

LINE = "polyclinic: interrupted\n"


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

    with pytest.raises(KeyboardInterrupt), Stoppable():
        stopping.run(work())
    assert written == ["all"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_second_signal_does_not_break_off_what_ends_without_a_loop():
    written = []
    with Stoppable():
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            for number in stopping.SIGNALS:
                signal.raise_signal(number)
            written.append("all")
    assert written == ["all"]


def test_what_begins_after_a_stop_does_not_run():
    async def work():
        raise AssertionError

    with Stoppable():
        with EndedBy(lambda: None):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            stopping.run(work())


# A program of its own, as the command line is: what it does stands between `begin` and its end.
PROGRAM = """
import asyncio, os, signal, sys, threading, time
from polyclinic import stopping
from polyclinic.stopping import *
stopping.listen()

def told(*numbers):
    for number in numbers or (signal.SIGINT,):
        os.kill(os.getpid(), number)

def main(work):
    try:
        with Stoppable():
            begin()
            work()
    except KeyboardInterrupt:
        take_last_word()
        print("polyclinic: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)

def program(work):
    try:
        main(work)
    except SystemExit as ended:
        is_over(ended.code)
        raise
"""


def program(text, *, within=SECONDS + 3):
    """Returns how a program ended, what it said on stderr, and how long it took."""
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM + text], capture_output=True, text=True, check=False, timeout=60
    )
    took = time.monotonic() - began
    assert took < within
    return ended.returncode, ended.stderr


def test_before_anything_is_open_the_process_ends_at_once_in_one_line():
    assert program("told(*[signal.SIGINT] * 9); time.sleep(60)") == (INTERRUPTED, LINE)


def test_in_the_midst_of_ending_nothing_is_raised_again():
    ends = """
def work():
    try:
        told()
        time.sleep(60)
    finally:
        for _ in range(50):
            told(*SIGNALS)
        print("written", file=sys.stderr)
program(work)
"""
    assert program(ends) == (INTERRUPTED, "written\n" + LINE)


@pytest.mark.slow
def test_a_loop_that_takes_a_while_to_end_is_not_broken_off():
    ends = """
async def child():
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(2)  # longer than what computes has
        print("written", file=sys.stderr)

async def work():
    waiting = asyncio.create_task(child())
    try:
        await asyncio.sleep(0)
        told(*SIGNALS)
        await waiting
    finally:
        told()
program(lambda: stopping.run(work()))
"""
    assert program(ends) == (INTERRUPTED, "written\n" + LINE)


@pytest.mark.slow
def test_what_computes_in_a_loop_is_broken_off_and_what_waits_beside_it_ends_in_order():
    ends = """
async def child():
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(0)
        print("written", file=sys.stderr)

async def work():
    waiting = asyncio.create_task(child())
    await asyncio.sleep(0)
    told()
    while True:
        pass
program(lambda: stopping.run(work()))
"""
    assert program(ends) == (INTERRUPTED, "written\n" + LINE)


def test_an_exception_that_goes_nowhere_is_raised_once_more():
    ends = """
class Taken:
    def __del__(self):
        told()
        time.sleep(1)

def work():
    one = Taken()
    del one
    time.sleep(60)
program(work)
"""
    assert program(ends, within=SECONDS) == (INTERRUPTED, LINE)


@pytest.mark.slow
def test_a_signal_that_comes_just_before_a_long_wait_ends_it():
    ends = """
def work():
    # Another thread is hit, as where the main thread was about to wait: nothing wakes it.
    other = threading.Thread(target=time.sleep, args=(60,), daemon=True)
    other.start()
    threading.Timer(0.3, lambda: signal.pthread_kill(other.ident, signal.SIGINT)).start()
    time.sleep(60)
program(work)
"""
    assert program(ends, within=SECONDS) == (INTERRUPTED, LINE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "hangs",
    [
        "def work():\n    told()\n    while True:\n        try:\n            time.sleep(60)\n"
        "        except BaseException:\n            pass\nprogram(work)",
        # The main thread does not come back to Python until it has.
        "def work():\n    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)\n"
        "    threading.Timer(0.1, told).start()\n"
        "    time.sleep(60)\nprogram(work)",
        "def work():\n    threading.Thread(target=time.sleep, args=(60,)).start()\n    told()\n    time.sleep(60)\n"
        "program(work)",
    ],
    ids=["swallows it", "is away", "has a thread"],
)
def test_what_hangs_is_ended_in_one_line(hangs):
    assert program(hangs) == (INTERRUPTED, LINE)


def test_behind_the_last_line_a_signal_changes_neither_code_nor_words():
    ends = """
import atexit
atexit.register(told, *SIGNALS)
def work():
    sys.exit(1)
program(work)
"""
    assert program(ends) == (1, "")


def test_a_signal_that_is_ignored_stays_ignored():
    ignored = ["sh", "-c", f"trap '' HUP; exec {sys.executable} -c '{PROGRAM}told(signal.SIGHUP); print(1)'"]
    ended = subprocess.run(ignored, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "1\n", "")


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


def test_a_letter_that_the_encoding_of_the_output_lacks_is_no_traceback(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    with pytest.raises(SystemExit) as ended:
        main(["cases", "show", "shipped-zh"])
    assert ended.value.code == 0
    assert rb"\u4e0a" in raw.getvalue()
