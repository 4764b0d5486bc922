"""Simulated time, in which what players decide takes effect when it is due and never when it is known.

A decision is launched as an asyncio task once its inputs are fixed, and enters the world at a simulated time that is
named at the launch. The clock runs on over other events; it stands still only where the next event is a decision whose
task has not finished. So the order in which answers come, and how long they take, changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from heapq import heappop, heappush
from time import monotonic
from typing import Any, Self

from polyclinic.errors import BudgetSpent, PolyclinicError
from polyclinic.models.limits import AnswerWanted

_FIRST, _THEN = 0, 1  # who begins to act, and what is decided, comes before anything else that happens at that moment
_QUESTIONS = 40  # in a row, of which the last is as urgent as the first of what is due as long after it as it from now
_STEPS = 32  # events, at most, between two chances for tasks to go on, where the clock need not wait
_SECONDS = 0.002  # the same in time: some events take as long as many others


class DueInThePast(PolyclinicError):
    """A decision was to take effect before the simulated time at which it was launched."""


class Signal:
    """Something to wait for, which happens once."""

    __slots__ = ("_clock", "then", "value")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.value: Any = None  # what comes of it
        self.then: list[Callable[[Signal], None]] | None = []  # called with it when it happens; None once it has

    def succeed(self, value: Any = None) -> None:
        """Lets it happen now, after what has been planned for now before."""
        self.value = value
        self._clock.plan(self)


Steps = Generator[Signal, Any, Any]
"""What somebody does, step by step: yields the signals that it waits for, and is sent their values."""


class Decision(Signal):
    """Happens when it is due; its value is what the task comes to."""

    __slots__ = ("task",)

    def __init__(self, clock: Clock, task: asyncio.Future[Any]) -> None:
        super().__init__(clock)
        self.task = task


class _Acting(Signal):
    """Somebody acts; happens when that ends, with what the steps return."""

    __slots__ = ("_steps",)

    def __init__(self, clock: Clock, steps: Steps) -> None:
        super().__init__(clock)
        self._steps = steps

    def go_on(self, came: Signal) -> None:
        """Goes on from what was waited for to the next that has not happened."""
        try:
            while came.then is None:
                came = self._steps.send(came.value)
        except StopIteration as end:
            self.succeed(end.value)
        else:
            came.then.append(self.go_on)


class Clock:
    """What happens, by time, priority, name and the order in which it was planned; whole seconds.

    An asynchronous context manager: at its end, decisions that never came due are cancelled. Where a budget is spent,
    they are waited for: what they have asked is paid for, and each of them ends at its next question.
    """

    def __init__(self, *, start: int = 0) -> None:
        self.now = start  # the simulated time
        self._planned: list[tuple[int, int, str, int, Signal]] = []
        self._count = 0
        self._tasks: set[asyncio.Future[Any]] = set()
        self._stopped = False

    @property
    def open(self) -> int:
        """Tasks that have not finished."""
        return len(self._tasks)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        left = list(self._tasks)
        try:
            if left and isinstance(error, BudgetSpent):
                await asyncio.wait(left)
        finally:
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def plan(self, signal: Signal, seconds: int = 0, *, priority: int = _THEN, name: str = "") -> None:
        """Has something happen so many seconds from now."""
        self._count += 1
        heappush(self._planned, (self.now + seconds, priority, name, self._count, signal))

    def signal(self) -> Signal:
        """Returns one that happens when somebody lets it succeed."""
        return Signal(self)

    def start(self, steps: Steps) -> Signal:
        """Lets somebody act from now on; happens at the end, with what the steps return."""
        acting, begins = _Acting(self, steps), Signal(self)
        begins.then = [acting.go_on]
        self.plan(begins, priority=_FIRST)
        return acting

    def wait(self, seconds: int) -> Signal:
        """Returns what happens so many seconds from now."""
        signal = Signal(self)
        self.plan(signal, seconds)
        return signal

    def at(self, time: int) -> Signal:
        """Returns what happens at a time; now, where that has passed."""
        return self.wait(max(0, time - self.now))

    def before(self, time: int) -> Signal:
        """Returns what happens at a time, or now where that has passed, before whatever else happens then."""
        signal = Signal(self)
        self.plan(signal, max(0, time - self.now), priority=_FIRST)
        return signal

    def call(self, seconds: int, then: Callable[[], None]) -> None:
        """Calls a function so many seconds from now."""
        self.wait(seconds).then = [lambda _: then()]

    def wanted(self, due: int) -> AnswerWanted:
        """Returns when the answers for a decision that is due then are wanted.

        Where models can be asked so much at a time, what is due first goes first, and of one decision each further
        question a little later, by a fortieth of the time from now until it is due.
        """
        return AnswerWanted(due, (due - self.now) // _QUESTIONS)

    def launch(self, work: Awaitable[Any], *, due: int, name: str = "") -> Signal:
        """Starts to decide something at once; returns a signal that happens, with what was decided, when it is due.

        Decisions that are due in the same second come in the order of their names, whenever they were launched. If the
        work fails, `run` raises its error when it is due, neither earlier nor later.
        """
        if due < self.now:
            if isinstance(work, Coroutine):
                work.close()
            raise DueInThePast(f"a decision launched at {self.now} s was to take effect before, at {due} s")
        decision = Decision(self, self._task(work))
        # Before whatever else happens then: so it is the same whether it was launched at that moment or long before.
        self.plan(decision, due - self.now, priority=_FIRST, name=name)
        return decision

    def stop(self) -> None:
        """Lets `run` return after what happens now."""
        self._stopped = True

    async def run(self, until: int | None = None) -> None:
        """Lets everything happen before a time, or everything there is; raises what decisions and steps raise."""
        self._stopped = False
        steps, pause = 0, monotonic() + _SECONDS
        while self._planned and not self._stopped:
            time, *_, signal = self._planned[0]
            if until is not None and time >= until:
                break
            if isinstance(signal, Decision):
                if not signal.task.done():
                    await asyncio.wait([signal.task])
                    continue
                signal.value = signal.task.result()
            heappop(self._planned)
            self.now = time
            waiting, signal.then = signal.then, None
            for go_on in waiting or ():
                go_on(signal)
            steps += 1
            if self._tasks and (steps >= _STEPS or monotonic() >= pause):
                await asyncio.sleep(0)
                steps, pause = 0, monotonic() + _SECONDS
        if until is not None and not self._stopped:
            self.now = max(self.now, until)

    def _task(self, work: Awaitable[Any]) -> asyncio.Future[Any]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Future[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # looked at here, or asyncio complains of errors that never came due
