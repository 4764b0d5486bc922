"""A real browser, a run of the hospital with its dialogues, and a server of the pages.

These are run by `make test-browser`. Where there is no Chromium, or what drives it is not installed, each test says so.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

CHROMIUM = next(
    filter(None, (os.environ.get("CHROMIUM"), shutil.which("chromium"), shutil.which("google-chrome"))), None
)
PATIENCE = 60_000  # milliseconds; a machine that does other things too is slow


@pytest.fixture(scope="session")
def playwright():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here; on Debian: apt install chromium, or name another with CHROMIUM=/path")
    drives = pytest.importorskip("playwright.sync_api", reason="pip install 'polyclinic[browser]' drives the browser")
    with drives.sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright):
    # A browser keeps no sandbox for root, which containers often are.
    started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
    yield started
    started.close()


@pytest.fixture
def opened(browser):
    """Opens a page; whatever it complains of fails the test."""
    complaints, contexts = [], []

    def opened(url, *, width=1280, height=800, scheme="light", locale="en-GB", ready=True):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, locale=locale, reduced_motion="reduce"
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda one: complaints.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"a dialog: {dialog.message}"))
        page.goto(url)
        if ready:
            page.wait_for_selector("body[data-ready]")
        return page

    opened.complaints = complaints
    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


class Pages:
    """A server of the pages, as a process."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "polyclinic", *arguments],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        told = ""
        for line in self.process.stderr:
            told += line
            found = re.search(r"(http://127\.0\.0\.1:(\d+))/", line)
            if found:
                self.at, self.port = found[1], found[2]
                return
        raise AssertionError(told)

    def close(self) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.stderr.close()

    def asked(self, path: str) -> bytes:
        with urllib.request.urlopen(f"{self.at}{path}", timeout=30) as answer:
            return answer.read()


@pytest.fixture(scope="session")
def pages_of():
    started = []

    def pages_of(*arguments):
        started.append(Pages(*arguments))
        return started[-1]

    yield pages_of
    for one in started:
        one.close()


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> Path:
    """A folder with the runs `one` and `two`: the same patients, another doctor."""
    folder = tmp_path_factory.mktemp("runs")
    common = ["--residents", "600", "--set", "run.load=0.05", "--days", "1", "--json"]
    for name, more in (("one", []), ("two", ["--set", "run.examinations=1"])):
        command = [sys.executable, "-m", "polyclinic", "run", *common, *more, "--out", str(folder / name)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="session")
def pages(runs, pages_of):
    return pages_of("serve", str(runs), "--port", "0")


@pytest.fixture(scope="session")
def looked_at():
    """Looks at a page with axe, and returns what is serious."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install 'polyclinic[browser]'").Axe()

    def looked_at(page):
        found = axe.run(page).response["violations"]
        return [
            (one["id"], [node["html"][:160] for node in one["nodes"]][:3])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]

    return looked_at
