"""Simulated time, in which what players decide takes effect when it is due and never when it is known.

A decision is launched as an asyncio task once its inputs are fixed, and enters the world at a simulated time that is
named at the launch. The clock runs on over other events; it stands still only where the next event is a decision whose
task has not finished. So the order in which answers come, and how long they take, changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from heapq import heappop
from types import TracebackType
from typing import Any, Self

from simpy import Environment, Event

from polyclinic.errors import PolyclinicError

Process = Generator[Event, Any, Any]
"""What somebody does, step by step: yields the events that it waits for, and is sent their values."""

_STEPS = 256
"""Events between two chances for tasks to go on, where the clock need not wait: about a millisecond."""


class DueInThePast(PolyclinicError):
    """A decision was to take effect before the simulated time at which it was launched."""


class Decision(Event):
    """Happens when it is due; its value is what the task came to.

    Attributes:
        task: what is being decided.
    """

    def __init__(self, environment: Environment, task: asyncio.Future[Any], *, due: int) -> None:
        super().__init__(environment)
        self.task = task
        environment.schedule(self, delay=due - environment.now)

    def settle(self) -> None:
        """Takes the value from the task, which has finished; raises what the task raised."""
        self._value = self.task.result()
        self._ok = True


class _Kernel(Environment):
    """simpy's, with a look at the next event, and with errors raised as they are instead of copied."""

    def head(self) -> tuple[int, Event] | None:
        """Returns when the next event happens, and the event; None where there is none."""
        if not self._queue:
            return None
        at, _, _, event = self._queue[0]
        return int(at), event

    def step(self) -> None:
        self._now, _, _, event = heappop(self._queue)
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(event)
        if not event._ok and not event.defused:
            raise event._value

    def stand(self, at: int) -> None:
        """Sets the time; no event may lie before it."""
        self._now = at


class Clock:
    """Events by time, priority and the order in which they were planned; whole seconds.

    An asynchronous context manager: at its end, decisions that never came due are cancelled.

    Args:
        start: the first moment.
    """

    def __init__(self, *, start: int = 0) -> None:
        self._kernel = _Kernel(start)
        self._tasks: set[asyncio.Future[Any]] = set()
        self._stopped = False

    @property
    def now(self) -> int:
        """The simulated time."""
        return int(self._kernel.now)

    @property
    def open(self) -> int:
        """Tasks that have not finished."""
        return len(self._tasks)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def event(self) -> Event:
        """Returns an event that happens when somebody lets it succeed."""
        return self._kernel.event()

    def start(self, process: Process) -> Event:
        """Lets somebody act from now on; the event happens at the end, its value is what the process returns."""
        return self._kernel.process(process)

    def wait(self, seconds: int) -> Event:
        """Returns an event that happens so many seconds from now."""
        return self._kernel.timeout(seconds)

    def at(self, time: int) -> Event:
        """Returns an event that happens at a time; now, where that has passed."""
        return self._kernel.timeout(max(0, time - self.now))

    def call(self, seconds: int, then: Callable[[], None]) -> None:
        """Calls a function so many seconds from now."""
        timer = self._kernel.timeout(seconds)
        timer.callbacks = [lambda _: then()]

    def launch(self, work: Awaitable[Any], *, due: int) -> Event:
        """Starts to decide something at once, to take effect at a simulated time.

        Args:
            work: decides it.
            due: when it takes effect.

        Returns:
            An event that happens when it is due, with what was decided. Where the work fails, `run` raises its
            error when it is due, neither earlier nor later.

        Raises:
            DueInThePast: that time has passed.
        """
        if due < self.now:
            if isinstance(work, Coroutine):
                work.close()
            raise DueInThePast(f"a decision launched at {self.now} s was to take effect before, at {due} s")
        return Decision(self._kernel, self._task(work), due=due)

    def stop(self) -> None:
        """Lets `run` return after the present event."""
        self._stopped = True

    async def run(self, until: int | None = None) -> None:
        """Lets everything happen that lies before a time, or everything there is.

        Args:
            until: the first moment that is left out; the clock then stands at it.

        Raises:
            Exception: what a decision or a process raised.
        """
        self._stopped = False
        steps = 0
        while not self._stopped:
            head = self._kernel.head()
            if head is None or (until is not None and head[0] >= until):
                break
            event = head[1]
            if isinstance(event, Decision):
                if not event.task.done():
                    await asyncio.wait([event.task])
                event.settle()
            self._kernel.step()
            steps += 1
            if steps % _STEPS == 0 and self._tasks:
                await asyncio.sleep(0)
        if until is not None and not self._stopped:
            self._kernel.stand(max(self.now, until))

    def _task(self, work: Awaitable[Any]) -> asyncio.Future[Any]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Future[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # looked at here, or asyncio complains of errors that never came due
