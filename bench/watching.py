"""A run while it goes on: what it costs the run that people watch, and what they get.

    python -m bench watching [--visits N] [--watchers N] [--browser]

The same run is made twice at full speed, alone and watched from its beginning, and the processor time that it takes is
compared: time on the wall is that of a machine which others use too. One of the watchers reads slowly, and one comes
and goes, saying which line it has (`Last-Event-ID`). At the end everybody must have every line once.
"""

import argparse
import asyncio
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from bench.web import Server
from polyclinic.errors import BadInput
from polyclinic.hospital.record.recorded import RecordedRun

SLOWER = 1.10  # what the run may take when it is watched, of what it takes alone
MEMORY = 48  # MiB by which the server may grow
FRAMES = 20
PAUSE = 0.02  # seconds of the slow watcher after each event
STAY = 3.0  # seconds for which one watches who comes and goes


def run(*options: str) -> None:
    told = argparse.ArgumentParser(prog="python -m bench watching")
    told.add_argument("--visits", type=int, default=10_000)
    told.add_argument("--watchers", type=int, default=10)
    told.add_argument("--browser", action="store_true", help="one of those who watch is Chromium, at 640 x 480")
    given = told.parse_args(options)
    with tempfile.TemporaryDirectory() as scratch:
        alone = Run(Path(scratch) / "alone", given.visits)
        cost = alone.ended()
        watched_run = Run(Path(scratch) / "watched", given.visits)
        try:
            with Server(watched_run.folder) as server:
                looked = asyncio.run(watched(server, watched_run, given))
        finally:
            watched_run.process.kill()
    print(
        f"the run took {cost:.1f} s of processor time alone, {looked:.1f} watched by {given.watchers}: "
        f"{looked / cost:.2f} of it (allowed: {SLOWER})"
    )
    assert looked <= cost * SLOWER


class Run:
    """A run in a process of its own."""

    def __init__(self, folder: Path, visits: int) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "polyclinic", "run", "--visits", str(visits), "--days", "60", "--json"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([*command, "--out", str(folder)], **quiet)
        while not begun(folder):
            time.sleep(0.1)

    def ended(self) -> float:
        """Waits for its end, and returns the seconds of processor time that it took."""
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        assert self.process.returncode == 0
        return used.ru_utime + used.ru_stime


class Watcher:
    """Reads the stream of a run, and goes on where it was."""

    def __init__(self, server: Server, pause: float = 0.0) -> None:
        self.server, self.pause, self.last, self.bytes = server, pause, -1, 0

    async def watch(self, until: float = math.inf) -> None:
        """Reads on, to the end of the run or until there were so many lines."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port, limit=1 << 24)
        head = f"GET /api/town/live?run={quote(self.server.id)} HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
        writer.write(f"{head}Last-Event-ID: {self.last}\r\n\r\n".encode() if self.last >= 0 else f"{head}\r\n".encode())
        id = -1
        try:
            while self.last + 1 < until and (line := await reader.readline()):
                self.bytes += len(line)
                if line.startswith(b"id: "):
                    id = int(line[4:])
                elif line.startswith(b"data: [["):
                    begin = int(re.match(rb"data: \[\[(\d+)", line)[1])
                    assert begin == self.last + 1, f"line {begin} follows {self.last}"
                    self.last = id
                    await asyncio.sleep(self.pause)
                elif line.startswith(b"event: over"):
                    return
        finally:
            writer.close()


async def watched(server: Server, run: Run, given: argparse.Namespace) -> float:
    watchers = [Watcher(server, PAUSE if place == 0 else 0.0) for place in range(given.watchers)]
    memory, cpu = server.memory(), server.cpu()
    beside = [asyncio.to_thread(frames, server)] if given.browser else []
    comes = asyncio.create_task(coming_and_going(watchers[-1]))
    following = [asyncio.create_task(one.watch()) for one in watchers[:-1]]
    took, *_ = await asyncio.gather(asyncio.to_thread(run.ended), *beside)
    watchers[0].pause = 0.0
    await asyncio.gather(*following)
    comes.cancel()
    await asyncio.gather(comes, return_exceptions=True)
    await watchers[-1].watch()
    n = length(run.folder)
    assert all(one.last == n - 1 for one in watchers), [one.last for one in watchers]
    sent = sum(one.bytes for one in watchers) / 2**20
    print(f"{n:,} happenings, and every watcher has each once; {sent:.0f} MiB were sent")
    used, after = server.cpu() - cpu, server.memory()
    print(f"the server took {used:.0f} s of processor time, and {memory:.0f} MiB before, {after:.0f} after")
    assert server.memory() < memory + MEMORY
    return took


async def coming_and_going(watcher: Watcher) -> None:
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(watcher.watch(), STAY)
        await asyncio.sleep(STAY / 3)


def frames(server: Server) -> None:
    """Watches in a browser, at 640 x 480, and counts frames."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 640, "height": 480})
        page.goto(f"{server.at}/town?run={quote(server.id)}", timeout=120_000)
        page.wait_for_selector("body[data-ready]", timeout=120_000)
        rates, drawn = [], 0
        for _ in range(60):
            page.wait_for_timeout(1_000)
            rates.append(int(page.locator("body").get_attribute("data-rate")))
            drawn = max(drawn, page.evaluate("town.state().drawn"))
        told = f"{statistics.median(rates):.0f} frames/s, least {min(rates)}, with up to {drawn} drawn"
        print(f"live in a browser at 640 x 480: {told} (allowed: {FRAMES})")
        browser.close()


def begun(folder: Path) -> bool:
    try:
        return length(folder) > 0
    except BadInput:  # its file is not there, or not made yet
        return False


def length(folder: Path) -> int:
    with RecordedRun(folder) as recorded:
        return len(recorded)
