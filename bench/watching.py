"""A run of ten thousand visits while it goes on: what it costs the run that people watch, and what they get.

    python -m bench watching [--visits N] [--watchers N] [--browser]

The run goes on at full speed in a process of its own, and a server shows it. By turns nobody watches and all do; one of
the watchers reads slowly. Who comes again says which line it has (`Last-Event-ID`). The run's processor time for each
line, with and without watchers, is compared within the one run, as time on the wall is that of a machine which others
use too. At the end everybody must have every line once.
"""

import argparse
import asyncio
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from bench.web import Server
from polyclinic.hospital.record.recorded import RecordedRun

TURN = 6.0  # seconds of watching, or of none
SLOWER = 1.10  # what the run may take for a line when it is watched, of what it takes otherwise
MEMORY = 48  # MiB by which the server may grow
FRAMES = 20
PAUSE = 0.02  # seconds of the slow watcher after each event


def run(*options: str) -> None:
    told = argparse.ArgumentParser(prog="python -m bench watching")
    told.add_argument("--visits", type=int, default=10_000)
    told.add_argument("--watchers", type=int, default=10)
    told.add_argument("--browser", action="store_true", help="one of those who watch is Chromium, at 640 x 480")
    given = told.parse_args(options)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        command = [sys.executable, "-m", "polyclinic", "run", "--visits", str(given.visits), "--days", "60", "--json"]
        process = subprocess.Popen(
            [*command, "--out", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            while not (folder / "run.sqlite").is_file() or not length(folder):
                time.sleep(0.2)
            with Server(folder) as server:
                asyncio.run(watched(server, folder, process, given.watchers, given.browser))
        finally:
            process.kill()
            process.wait()


class Watcher:
    """Reads the stream of a run, and goes on where it was."""

    def __init__(self, server: Server, pause: float = 0.0) -> None:
        self.server, self.pause, self.last, self.over, self.bytes = server, pause, -1, False, 0

    async def watch(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port, limit=1 << 24)
        head = f"GET /api/town/live?run={quote(self.server.id)} HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
        writer.write(f"{head}Last-Event-ID: {self.last}\r\n\r\n".encode() if self.last >= 0 else f"{head}\r\n".encode())
        id = -1
        try:
            while line := await reader.readline():
                self.bytes += len(line)
                if line.startswith(b"id: "):
                    id = int(line[4:])
                elif line.startswith(b"data: [["):
                    begin = int(re.match(rb"data: \[\[(\d+)", line)[1])
                    assert begin == self.last + 1, f"line {begin} follows {self.last}"
                    self.last = id
                    await asyncio.sleep(self.pause)
                elif line.startswith(b"event: over"):
                    self.over = True
                    return
        finally:
            writer.close()


async def watched(server: Server, folder: Path, process: subprocess.Popen, n: int, browser: bool) -> None:
    watchers = [Watcher(server, PAUSE if place == 0 else 0.0) for place in range(n)]
    if browser:
        await asyncio.gather(asyncio.to_thread(frames, server), turns(server, folder, process, watchers))
    else:
        await turns(server, folder, process, watchers)


async def turns(server: Server, folder: Path, process: subprocess.Popen, watchers: list[Watcher]) -> None:
    costs: dict[bool, list[float]] = {False: [], True: []}
    memory, began, cpu, watching = server.memory(), time.monotonic(), server.cpu(), False
    while process.poll() is None:
        tasks = [asyncio.create_task(one.watch()) for one in watchers if watching]
        lines, used = length(folder), spent(process)
        await asyncio.sleep(TURN)
        more, took = length(folder) - lines, spent(process) - used
        if more > 500 and process.poll() is None:
            costs[watching].append(1e6 * took / more)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        watching = not watching
    wall, cpu = time.monotonic() - began, server.cpu() - cpu
    watchers[0].pause = 0.0
    await asyncio.gather(*(one.watch() for one in watchers))
    n = length(folder)
    assert all(one.over and one.last == n - 1 for one in watchers), [one.last for one in watchers]
    alone, looked = statistics.median(costs[False]), statistics.median(costs[True])
    # Whatever a run does later costs more: turns are compared with those before and after them.
    pairs = [b / a for a, b in zip(costs[False], costs[True], strict=False)]
    print(
        f"{n:,} happenings in {wall:.0f} s; {alone:.0f} us of the run's processor time each where nobody watches, "
        f"{looked:.0f} with {len(watchers)}: {statistics.median(pairs):.2f} of it over {len(pairs)} turns "
        f"(allowed: {SLOWER})"
    )
    print(
        f"every watcher has every line once; {sum(one.bytes for one in watchers) / 2**20:.0f} MiB for {cpu:.0f} s of "
        f"the server's processor time; {memory:.0f} MiB before, {server.memory():.0f} after"
    )
    assert server.memory() < memory + MEMORY
    assert statistics.median(pairs) <= SLOWER


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


def length(folder: Path) -> int:
    with RecordedRun(folder) as recorded:
        return len(recorded)


def spent(process: subprocess.Popen) -> float:
    """Returns the seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
