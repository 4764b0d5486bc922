"""The pages of a run of ten thousand visits: how soon they are there, how quick they are, and what fifty who look cost.

    python -m bench web [--run FOLDER] [--visits N]

Without --run a run is made as `python -m bench seek` makes one; with it, one that is there. The browser parts need
Chromium and the extra `browser`, and a machine that does nothing else: they count frames.
"""

import argparse
import asyncio
import gzip
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

import msgspec

from bench.seek import RESIDENTS, SEED, live
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.store import Store
from polyclinic.knowledge.knowledge import read_knowledge

STATIC = Path(__file__).parents[1] / "src" / "polyclinic" / "web" / "static"
LOOKERS = 50
FIRST_LOAD, FIRST_PAINT, SEEK, FRAMES = 1 << 20, 2.0, 200, 20
SEEKS = 15


def run(*options: str) -> None:
    told = argparse.ArgumentParser(prog="python -m bench web")
    told.add_argument("--run", type=Path)
    told.add_argument("--visits", type=int, default=10_000)
    given = told.parse_args(options)
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.run or made(Path(scratch) / "run", given.visits)
        loaded()
        with Server(folder) as server:
            asyncio.run(looked_at_by_many(server, folder))
            if shutil.which("chromium") is None:
                print("no Chromium: nothing was measured in a browser")
            else:
                in_browser(server, folder)


def made(folder: Path, visits: int, residents: int = RESIDENTS) -> Path:
    hospital = msgspec.to_builtins(read_hospital(None, read_knowledge()), str_keys=True)
    with Store.create(folder, {"seed": SEED, "residents": residents, "hospital": hospital}) as store:
        lived = asyncio.run(live(visits=visits, n=residents, sinks=(store,)))
        store.finish({"visits": lived.summary["arrived"]})
    return folder


def loaded() -> None:
    page = (STATIC / "town.html").read_text("utf-8")
    names = {"town.html", "town/tiles.png", "town/people.png", *re.findall(r'(?:src|href)="\./([^"]+)"', page)}
    names |= {f"assets/{path.name}" for path in (STATIC / "assets").glob("phaser*.js")}
    sizes = {name: len(gzip.compress((STATIC / name).read_bytes(), 6)) for name in names}
    early = sum(size for name, size in sizes.items() if "phaser" not in name)
    whole = sum(sizes.values()) / 1024
    print(f"first load {whole:.0f} KiB compressed (allowed: 1,024), {early / 1024:.0f} of them before the map is drawn")
    assert sum(sizes.values()) <= FIRST_LOAD


class Server:
    """The pages of a run, from a process of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> "Server":
        command = [sys.executable, "-m", "polyclinic", "serve", str(self._folder), "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        found = re.search(r"http://127\.0\.0\.1:(\d+)", self.process.stderr.readline())
        self.port = int(found[1])
        self.id = json.loads(self.asked("/api/town/runs"))["runs"][0]["id"]
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()

    @property
    def at(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def asked(self, path: str) -> bytes:
        with urllib.request.urlopen(self.at + path, timeout=60) as answer:
            return answer.read()

    def memory(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


async def looked_at_by_many(server: Server, folder: Path) -> None:
    """Fifty read the whole log as a stream, one of them slowly; the slow one is left alone at the end."""
    with RecordedRun(folder) as recorded:
        n = len(recorded)
    await asyncio.gather(*(read(server, n // 20) for _ in range(LOOKERS)))
    before, cpu, began = server.memory(), server.cpu(), time.monotonic()
    slow = asyncio.create_task(read(server, n, pause=0.05))
    got = await asyncio.gather(*(read(server, n) for _ in range(LOOKERS - 1)))
    wall, cpu, after = time.monotonic() - began, server.cpu() - cpu, server.memory()
    far = slow.done()
    slow.cancel()
    assert got == [n] * (LOOKERS - 1)
    print(
        f"{LOOKERS} streams of {n:,} happenings, each to its end in {wall:.0f} s: {cpu:.0f} s of CPU, "
        f"{LOOKERS * n / cpu:,.0f} a second of one core; the slow one {'too' if far else 'goes on'}; "
        f"{before:.0f} MiB before, {after:.0f} after"
    )
    assert after < before + 32


async def read(server: Server, n: int, *, pause: float = 0.0) -> int:
    """Returns how many happenings came, each once and in order, until there were so many."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 24)
    head = f"GET /api/town/live?run={quote(server.id)} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
    writer.write(head.encode())
    count = 0
    try:
        while count < n:
            line = await reader.readline()
            if line.startswith(b"id: "):
                count = int(line[4:]) + 1
                if pause:
                    await asyncio.sleep(pause)
            elif not line:
                break
    finally:
        writer.close()
    return min(count, n)


def states(server: Server, end: int) -> None:
    """What a seek costs the server, and how much it sends."""
    sizes, cpu = [], server.cpu()
    for place in range(10 * SEEKS):
        t = end * (place * 7 % (10 * SEEKS)) // (10 * SEEKS) + 1
        asked = urllib.request.Request(f"{server.at}/api/town/state?run={quote(server.id)}&t={t}")
        asked.add_header("accept-encoding", "gzip")
        with urllib.request.urlopen(asked, timeout=60) as answer:
            sizes.append(len(answer.read()) / 1024)
    took = 1000 * (server.cpu() - cpu) / len(sizes)
    print(f"{len(sizes)} states: {took:.0f} ms of the server's processor time each, at most {max(sizes):.0f} KiB sent")


def in_browser(server: Server, folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    with RecordedRun(folder) as recorded:
        end = next(recorded.happenings(begin=len(recorded) - 1)).t
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        began = time.monotonic()
        page.goto(f"{server.at}/town?run={quote(server.id)}&paused#t={end // 2}")
        page.wait_for_selector(".name")
        named = time.monotonic() - began
        page.wait_for_selector("body[data-ready]")
        print(f"first paint {named:.2f} s, all of it {time.monotonic() - began:.2f} s (allowed: {FIRST_PAINT} s)")
        while page.evaluate("town.charts[0].reading"):
            page.wait_for_timeout(100)
        print(f"the charts are whole after {time.monotonic() - began:.1f} s")
        took = []
        for place in range(SEEKS):
            t = end * (place * 7 % SEEKS) // SEEKS + 1
            page.evaluate(f"delete document.body.dataset.seek; location.hash = '#t={t}'")
            while not page.evaluate("document.body.dataset.seek"):
                page.wait_for_timeout(10)
            assert page.evaluate(f"Math.abs(town.state().t - {t}) < 1")
            took.append(int(page.locator("body").get_attribute("data-seek")))
        took.sort()
        print(f"{SEEKS} seeks: median {statistics.median(took):.0f} ms, longest {took[-1]} ms (allowed: {SEEK} ms)")
        page.close()
        states(server, end)
        busiest = fullest(server)
        for renderer in ("canvas", "webgl"):
            page = browser.new_page(viewport={"width": 640, "height": 480})
            page.goto(f"{server.at}/town?run={quote(server.id)}&speed=10000&renderer={renderer}#t={busiest - 20_000}")
            page.wait_for_selector("body[data-ready]")
            rates, drawn = [], 0
            for _ in range(10):
                page.wait_for_timeout(500)
                rates.append(int(page.locator("body").get_attribute("data-rate")))
                drawn = max(drawn, page.evaluate("town.state().drawn"))
            told = f"(allowed: {FRAMES})" if renderer == "canvas" else "(given up where it is too slow)"
            rate = statistics.median(rates)
            print(f"{renderer}, 640 x 480, 10,000 times: {rate:.0f} frames/s with {drawn} drawn {told}")
            page.close()
        browser.close()


def fullest(server: Server) -> int:
    """Returns when most people are in the hospital."""
    points, more = [], True
    while more:
        read_on = json.loads(server.asked(f"/api/town/course?run={quote(server.id)}&points={len(points)}"))
        points += read_on["points"]
        more = read_on["more"]
    return max(points, key=lambda point: sum(point[1]) + sum(point[2:5]))[0]
