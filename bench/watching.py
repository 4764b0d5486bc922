"""A run while it goes on: what it costs the run that people watch, and what they get.

    python -m bench watching [--visits N] [--watchers N] [--cost-visits N]

First a run of 400 visits is made twice at full speed, alone and watched from its beginning, and the processor time that
it takes is compared: time on the wall is that of a machine which others use too. Then a run of ten thousand visits in a
crowded hospital, in which all but what is said is simulated as ever, so that it is over in a minute and the pages have
twenty times as much to do: it is watched from its beginning to its end, by Chromium too where there is one.

One of the watchers reads slowly, and one comes and goes, saying which line it has (`Last-Event-ID`). At the end
everybody must have every line once. The server's memory is looked at all the while.
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

from bench.web import Server, made
from polyclinic.errors import BadInput
from polyclinic.hospital.record.recorded import RecordedRun

SLOWER = 1.10  # what the run may take when it is watched, of what it takes alone
MEMORY = 48  # MiB by which the server may grow until a fifth of a run is sent, with its caches
FLAT = 16  # MiB by which it may grow after that
FRAMES = 20
CROWD = 500  # people on the map
RESIDENTS = 90_000  # of the town whose hospital is crowded
PAUSE = 0.02  # seconds of the slow watcher after each event
STAY = 3.0  # seconds for which one watches who comes and goes


def run(*options: str) -> None:
    told = argparse.ArgumentParser(prog="python -m bench watching")
    told.add_argument("--visits", type=int, default=10_000)
    told.add_argument("--watchers", type=int, default=10)
    told.add_argument("--cost-visits", type=int, default=400, help="of the run that is compared; 0 for no comparison")
    given = told.parse_args(options)
    with tempfile.TemporaryDirectory() as scratch:
        if given.cost_visits:
            compared(Path(scratch), given.cost_visits, given.watchers)
        folder = Path(scratch) / "crowded"
        crowded = Run(folder, [sys.executable, "-m", "bench.watching", str(folder), str(given.visits)])
        follow(crowded, given.watchers, browser=shutil.which("chromium") is not None)


def compared(scratch: Path, visits: int, watchers: int) -> None:
    def common(name: str) -> Run:
        command = [sys.executable, "-m", "polyclinic", "run", "--visits", str(visits), "--days", "60", "--json"]
        return Run(scratch / name, [*command, "--out", str(scratch / name)])

    alone = common("alone").ended()
    looked = follow(common("watched"), watchers, browser=False)
    print(
        f"a run of {visits} visits took {alone:.1f} s of processor time alone, {looked:.1f} watched by {watchers}: "
        f"{looked / alone:.2f} of it (allowed: {SLOWER})",
        flush=True,
    )
    assert looked <= alone * SLOWER


def follow(going: "Run", watchers: int, *, browser: bool) -> float:
    """Returns the seconds of processor time that a run takes while it is watched."""
    try:
        with Server(going.folder) as server:
            return asyncio.run(watched(server, going, watchers, browser))
    finally:
        going.process.kill()


class Run:
    """A run in a process of its own."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self.folder = folder
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, cwd=Path(__file__).parents[1], **quiet)
        while not begun(folder):
            assert self.process.poll() is None, f"{command} ended with {self.process.returncode}"
            time.sleep(0.1)

    def ended(self) -> float:
        """Waits for its end, and returns the seconds of processor time that it took."""
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        assert self.process.returncode == 0, f"the run ended with {self.process.returncode}"
        return used.ru_utime + used.ru_stime


class Watcher:
    """Reads the stream of a run, and goes on where it was."""

    def __init__(self, server: Server, pause: float = 0.0) -> None:
        self.server, self.pause, self.last = server, pause, -1
        self.bytes = self.came = 0

    async def watch(self, until: float = math.inf) -> None:
        """Reads on, to the end of the run or until there were so many lines."""
        self.came += 1
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


async def watched(server: Server, going: Run, n_watchers: int, browser: bool) -> float:
    watchers = [Watcher(server, PAUSE if place == 0 else 0.0) for place in range(n_watchers)]
    memory, cpu, began = server.memory(), server.cpu(), time.monotonic()
    beside = [asyncio.to_thread(frames, server, going)] if browser else []
    comes = asyncio.create_task(coming_and_going(watchers[-1]))
    sizes: list[float] = []
    looks = asyncio.create_task(looking(server, sizes))
    following = [asyncio.create_task(one.watch()) for one in watchers[:-1]]
    took, *_ = await asyncio.gather(asyncio.to_thread(going.ended), *beside)
    wall = time.monotonic() - began
    far = watchers[0].last
    watchers[0].pause = 0.0
    await asyncio.gather(*following)
    for task in (comes, looks):
        task.cancel()
    await asyncio.gather(comes, looks, return_exceptions=True)
    await watchers[-1].watch()
    n = length(going.folder)
    assert all(one.last == n - 1 for one in watchers), [one.last for one in watchers]
    sent = sum(one.bytes for one in watchers) / 2**20
    print(
        f"{n:,} happenings in {wall:.0f} s, and every watcher has each once, also who came {watchers[-1].came} times; "
        f"the slow one had {(far + 1) / n:.0%} of them when the run was over; {sent:.0f} MiB were sent"
    )
    early, most = max(sizes[: len(sizes) // 5 + 1]), max(*sizes, server.memory())
    print(
        f"the server took {server.cpu() - cpu:.0f} s of processor time; {memory:.0f} MiB before, {early:.0f} after a "
        f"fifth of the time, {most:.0f} at the most",
        flush=True,
    )
    assert early < memory + MEMORY
    assert most < early + FLAT
    return took


async def looking(server: Server, sizes: list[float]) -> None:
    while True:
        sizes.append(server.memory())
        await asyncio.sleep(0.5)


async def coming_and_going(watcher: Watcher) -> None:
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(watcher.watch(), STAY)
        await asyncio.sleep(STAY / 3)


def frames(server: Server, going: Run) -> None:
    """Watches in a browser, at 640 x 480, until the run is over, and counts frames."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 640, "height": 480})
        page.set_default_timeout(600_000)
        page.goto(f"{server.at}/town?run={quote(server.id)}")
        page.wait_for_selector("body[data-ready]")
        rates, crowds = [], []
        while not page.locator("body[data-over]").count():
            page.wait_for_timeout(500)
            rates.append(int(page.locator("body").get_attribute("data-rate")))
            crowds.append(page.evaluate("town.state().drawn"))
        # The page tells four times a second how far it is.
        page.wait_for_function("n => Number(document.body.dataset.seq) + 1 >= n", arg=length(going.folder))
        had = int(page.locator("body").get_attribute("data-seq")) + 1
        browser.close()
    full = [rate for rate, crowd in zip(rates, crowds, strict=True) if crowd >= CROWD]
    assert had == length(going.folder), f"the page came to line {had}"
    print(
        f"live in a browser at 640 x 480: {statistics.median(rates):.0f} frames/s, least {min(rates)}; up to "
        f"{max(crowds)} drawn, and {f'{statistics.median(full):.0f} frames/s' if full else 'never'} while {CROWD} were "
        f"(allowed: {FRAMES}); followed to the last line"
    )


def begun(folder: Path) -> bool:
    try:
        return length(folder) > 0
    except BadInput:  # its file is not there, or not made yet
        return False


def length(folder: Path) -> int:
    with RecordedRun(folder) as recorded:
        return len(recorded)


if __name__ == "__main__":
    made(Path(sys.argv[1]), int(sys.argv[2]), RESIDENTS)
