"""Stopping a command: one line and a clean end, whichever signal asks for it and however often.

The first signal ends what is under way, and gives it the time to write what it has. What comes after it changes
nothing: raised in the middle of that, it would break it off. What takes too long all the same is ended.
"""

from __future__ import annotations

import _thread
import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SECONDS = 4.5
"""Until what was stopped is ended."""

_TO_SUM_UP = 15.0  # seconds more for who has heard of it, and shows what is over

_PATIENCE = 1.0  # seconds in which what is under way may come to a place where it waits, and ends there

INTERRUPTED = 130
"""Exit code of a command that was stopped."""

_alone = False
_insists = False
_came = False
_heard = False
_TOO = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def stoppable() -> Iterator[None]:
    """While it lasts, SIGTERM and SIGHUP stop as Ctrl-C does, and what is stopped is stopped once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    global _came, _heard  # noqa: PLW0603
    _came = _heard = False
    before = {one: signal.signal(one, _as_interrupt) for one in _TOO if signal.getsignal(one) is signal.SIG_DFL}
    # `asyncio.run` raises at the second Ctrl-C, wherever its tasks then are; there is no other way to tell it not to.
    ours = "_on_sigint"
    asyncios = getattr(asyncio.Runner, ours, None)
    if asyncios is not None:
        setattr(asyncio.Runner, ours, lambda *given, **named: _once(asyncios, *given, **named))
    try:
        yield
    finally:
        if asyncios is not None:
            setattr(asyncio.Runner, ours, asyncios)
        for number, handler in before.items():
            signal.signal(number, handler)


def alone() -> None:
    """Says that the command is all that this process does, so that the process may be ended."""
    global _alone  # noqa: PLW0603
    _alone = True


def is_stopped() -> bool:
    """Whether somebody stops the command; who asks ends soon by itself, and is not broken off."""
    global _heard  # noqa: PLW0603
    _heard = _heard or _came
    return _came


def end_soon() -> None:
    """Ends the process after a while, whatever it waits for, and lets nothing more stop it."""
    if _alone:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _watch()


def is_over(code: object) -> None:
    """Says that the command has done all that it does: Ctrl-C ends the process now, with its exit code and no word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(code if isinstance(code, int) else 0))


def _as_interrupt(_: int, __: FrameType | None) -> None:
    signal.raise_signal(signal.SIGINT)


def _once(asyncios: Any, runner: Any, *given: Any, **named: Any) -> None:
    global _insists, _came  # noqa: PLW0603
    if _insists:
        _insists = False
        raise KeyboardInterrupt
    if not runner._interrupt_count:
        _came = True
        _watch()
        asyncios(runner, *given, **named)


def _watch() -> None:
    if _alone:
        # What a task that is broken off raises then is no news: asyncio would log it with its traceback.
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        for seconds, then in ((_PATIENCE, _insist), (SECONDS, _end)):
            timer = threading.Timer(seconds, then)
            timer.daemon = True
            timer.start()


def _insist() -> None:
    # What computes without waiting is not reached by a cancellation.
    global _insists  # noqa: PLW0603
    if not _heard and signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, signal.default_int_handler):
        _insists = True
        _thread.interrupt_main()


def _end() -> None:
    if _heard:
        threading.Event().wait(_TO_SUM_UP)
    # Not `print`: whoever hangs may hold its lock.
    os.write(sys.__stderr__.fileno() if sys.__stderr__ is not None else 2, b"polyclinic: interrupted\n")
    os._exit(INTERRUPTED)
