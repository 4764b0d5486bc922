"""What a signal does, from the first line of the program to its last: decided here, and nowhere else.

SIGINT, SIGTERM and SIGHUP are one: a stop. Nobody else listens to them, neither asyncio nor the server of the pages;
they are told by whoever is here. What a stop does depends on how far the command is:

- before it has begun, nothing is open: one line, and the process ends;
- while it is under way, the first signal ends it in order: what waits in an event loop is cancelled, what computes gets
  a `KeyboardInterrupt`. Every other signal changes nothing: raised in the middle of ending, it would break that off;
- when it has ended, its errors are told and its output is written, signals change nothing either;
- when its exit code is known, the process ends with it at once.

Whatever takes too long after the first signal is ended by a thread, which hears of signals also while the main thread
is deep in a library: `SECONDS` later, with one line, if none was said by then.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import time

TYPE_CHECKING = False  # nothing is imported here that takes a while: nobody can answer Ctrl-C until this is

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import FrameType
    from typing import Any, TypeVar

    T = TypeVar("T")

SECONDS = 4.5  # until what was stopped is ended
INTERRUPTED = 130  # exit code of a command that was stopped, whichever signal it was

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What stops a command."""

_TO_SUM_UP = 15.0  # seconds more for who has heard of it, and shows what is over
_PATIENCE = 1.0  # seconds in which an event loop may come to its next turn, and be told there
_LOOK_AGAIN = 0.1  # seconds
_TO_SPEAK = 2.0  # seconds for who says the one line
_LINE = b"polyclinic: interrupted\n"
_CURSOR = b"\x1b[?25h"  # shows it again, where a bar of progress has hidden it


BEFORE, UNDER_WAY, AFTER, OVER = range(4)  # nothing is open; a command runs; its output is written; only to end


class _Stop:
    """How far the command of this process is, and whether somebody has stopped it."""

    def __init__(self) -> None:
        self.alone = False  # whether the command is all that this process does, so that it may be ended
        self.phase = BEFORE
        self.code = 0  # of the process, when it is over
        self.came = 0  # the signal that came first
        self.heard = False  # whether somebody asked, and ends by itself
        self.ending: Callable[[], None] | None = None  # what ends the command in place of an exception
        self.due = True  # whether the main thread has yet to act as at a signal
        self.lost = False  # whether the exception of the first signal went nowhere
        self.insists = False  # whether what computes in a loop is broken off at the next signal
        self.first, self.word = _thread.allocate_lock(), _thread.allocate_lock()  # taken by the one who is first

    def begin(self) -> None:
        """Nobody has stopped what begins now."""
        self.came, self.heard, self.ending, self.lost, self.insists = 0, False, None, False, False
        self.first = _thread.allocate_lock()


_STOP = _Stop()


def listen() -> None:
    """Listens for signals from now on, as the command is all that this process does; ignored ones stay ignored."""
    if _STOP.alone:
        return
    _STOP.alone = True
    atexit.register(_hear_no_more)  # registered first, so that it is called last
    for number in _usual():
        signal.signal(number, _on_signal)
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    # Written to by the system's own handler: ours has to wait until the main thread is back in Python.
    signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
    _thread.start_new_thread(_watch, (reads,))


class Stoppable:
    """While it lasts, signals are listened to; once left, no signal raises anything."""

    def __enter__(self) -> None:
        self._before: dict[int, Any] = {}
        if _STOP.alone:
            return
        import threading  # noqa: PLC0415 - the program itself does not ask

        if threading.current_thread() is threading.main_thread():
            _STOP.begin()
            _STOP.phase = UNDER_WAY
            self._before = {number: signal.signal(number, _on_signal) for number in _usual()}

    def __exit__(self, *_: object) -> None:
        if _STOP.alone:
            _STOP.phase = AFTER
        for number, before in self._before.items():
            signal.signal(number, before)


def begin() -> None:
    """Says that the command begins, and may open what must be closed."""
    _STOP.phase = UNDER_WAY


def is_stopped() -> bool:
    """Whether somebody stops the command; who asks ends soon by itself, and is not broken off."""
    _STOP.heard = _STOP.heard or bool(_STOP.came)
    return bool(_STOP.came)


def was_stopped() -> bool:
    """Whether somebody stopped the command."""
    return bool(_STOP.came)


def take_last_word() -> None:
    """Says that the one line is told now. Where it has been told already, the process ends within this."""
    if _STOP.alone and not _STOP.word.acquire(blocking=False):
        time.sleep(SECONDS)


def is_over(code: object) -> None:
    """Says that the command has done all that it does: a signal ends the process now, with its code and no word."""
    _STOP.code = code if isinstance(code, int) else 0 if code is None else 1
    _STOP.phase = OVER


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end as `asyncio.run` does; a stop cancels it once, and nothing else.

    Raises:
        KeyboardInterrupt: it was stopped, or somebody had stopped the command before.
    """
    import asyncio  # noqa: PLC0415 - not before somebody listens

    ending = _Cancellation()
    if _STOP.came:
        coroutine.close()
        raise KeyboardInterrupt
    try:
        with EndedBy(ending), asyncio.Runner() as runner:
            return runner.run(ending.await_(coroutine))
    except asyncio.CancelledError:
        if ending.told:
            raise KeyboardInterrupt from None
        raise
    finally:
        coroutine.close()


class EndedBy:
    """While it lasts, a stop calls this in place of raising an exception; it is called where a signal may come."""

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end

    def __enter__(self) -> None:
        import threading  # noqa: PLC0415 - not before somebody listens

        self._before = _STOP.ending
        if threading.current_thread() is threading.main_thread():
            _STOP.ending = self._end

    def __exit__(self, *_: object) -> None:
        if _STOP.ending is self._end:
            _STOP.ending = self._before


class Unheard:
    """A process started meanwhile is not reached by Ctrl-C at the terminal; its owner ends it by SIGTERM."""

    def __enter__(self) -> None:
        if hasattr(signal, "pthread_sigmask"):
            from multiprocessing import resource_tracker  # noqa: PLC0415 - for those who start one

            # It would let signals through, where it is started together with another.
            resource_tracker.ensure_running()
            self._before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})

    def __exit__(self, *_: object) -> None:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_SETMASK, self._before)


class _Cancellation:
    """Cancels a coroutine where it waits, however early; `taken` once its loop knows."""

    def __init__(self) -> None:
        self.told = self.taken = False
        self._task: Any = None

    def __call__(self) -> None:
        self.told = True
        if self._task is not None:
            self._task.cancel()
            try:
                self._task.get_loop().call_soon_threadsafe(self._take)
            except RuntimeError:  # the loop is closed
                self.taken = True

    async def await_(self, coroutine: Coroutine[Any, Any, T]) -> T:
        import asyncio  # noqa: PLC0415 - not before somebody listens

        self._task = asyncio.current_task()
        if self.told:
            raise asyncio.CancelledError
        return await coroutine

    def _take(self) -> None:
        self.taken = True


def _usual() -> list[signal.Signals]:
    """Returns the signals to which the process does what any does."""
    return [one for one in SIGNALS if signal.getsignal(one) in (signal.default_int_handler, signal.SIG_DFL)]


def _hear_no_more() -> None:
    # What is left is Python's own end, in which it would let signals do to the process what they do to any.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _on_signal(number: int, frame: FrameType | None) -> None:
    _STOP.due = False
    if _STOP.insists:
        _STOP.insists = False
        if _waits_for_a_turn():
            import asyncio  # noqa: PLC0415 - a loop runs, so it is there

            # Not `KeyboardInterrupt`, which would break the loop off, and with it all that ends in order.
            raise asyncio.CancelledError
        return
    if _STOP.alone and _STOP.phase == OVER:
        os._exit(_STOP.code)
    if not _STOP.first.acquire(blocking=False):
        return
    if _STOP.alone and _STOP.phase == BEFORE:
        _leave()
    _STOP.came = number
    if _STOP.alone:
        _be_quiet()
    if _STOP.ending is not None:
        _STOP.ending()
    elif frame is not None and frame.f_code is _lost.__code__:
        _STOP.lost = True  # raised there, it would go nowhere too
    elif _STOP.phase == UNDER_WAY:
        raise KeyboardInterrupt


def _be_quiet() -> None:
    # What a task, a thread or an object that is broken off raises then is no news, with its traceback.
    if (logging := sys.modules.get("logging")) is not None:
        for name in ("asyncio", "uvicorn.error"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    sys.unraisablehook = _lost
    if (threading := sys.modules.get("threading")) is not None:
        vars(threading)["excepthook"] = lambda _: None


def _lost(raised: Any) -> None:
    # Raised where an object was being taken away, say, an exception goes nowhere: then it is raised once more.
    _STOP.lost = _STOP.lost or issubclass(raised.exc_type, KeyboardInterrupt)


def _again(number: int) -> None:
    """Has the main thread act as at a signal, also where it waits."""
    _STOP.due = True
    threading = sys.modules.get("threading")
    if threading is None or not hasattr(signal, "pthread_kill"):
        _thread.interrupt_main(signal.Signals(number))
    else:
        signal.pthread_kill(threading.main_thread().ident, number)


def _waits_for_a_turn() -> bool:
    """Whether a loop was told to end, and computes since."""
    ending = _STOP.ending
    return isinstance(ending, _Cancellation) and ending.told and not ending.taken and not _STOP.heard


def _watch(reads: int) -> None:
    # In a thread of its own, to the end of the process; the pipe holds the numbers of the signals that come.
    while (number := os.read(reads, 1)[0]) not in SIGNALS:
        pass
    if _STOP.phase == BEFORE:
        _leave()
    began, patient = time.monotonic(), _PATIENCE
    while (since := time.monotonic() - began) < SECONDS:
        if _STOP.due:  # it came just before the main thread began to wait for something, and did not wake it
            _again(number)
        elif _STOP.lost:
            _STOP.lost = False
            _STOP.first.release()
            _again(number)
        elif since > patient:
            patient += _PATIENCE
            _STOP.insists = _waits_for_a_turn()  # what computes is not reached by a cancellation
            if _STOP.insists:
                _again(number)
        time.sleep(_LOOK_AGAIN)
    if _STOP.heard:
        time.sleep(_TO_SUM_UP)
    _leave()


def _leave() -> None:
    """Ends the process now; with the one line, if nobody has said it."""
    if _STOP.phase == OVER:
        os._exit(_STOP.code)
    if not _STOP.word.acquire(blocking=False):
        time.sleep(_TO_SPEAK)  # whoever says it ends the process too, unless it hangs
        os._exit(INTERRUPTED)
    # Not `print`: whoever hangs may hold its lock.
    try:
        os.write(2, _CURSOR + _LINE if os.isatty(2) else _LINE)
    finally:
        os._exit(INTERRUPTED)
