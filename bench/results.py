"""Many folders in one table, and the page of a large run: how long they take, how large it is, whether it opens.

    python -m bench results [--run FOLDER] [--visits N] [--folders N]

Ten exams of 300 questions by two methods and ten examinations of 200 patients (AIE), made here, are joined; then the
page of a run of the hospital is made and opened in Chromium, where there is one. Without --run the run is made first,
by rules, in some minutes. Held against the bars is the processor's time, as others may use the machine.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from polyclinic.testing.endpoint import EndpointProcess

JOINED, REPORTED = 2.0, 10.0  # seconds
LARGEST = 5 * 10**6  # bytes of the page
VISITS = 10_000
QUESTIONS, PATIENTS, FOLDERS = 300, 200, 20
RESIDENTS = 90_000


def run(*options: str) -> None:
    told = argparse.ArgumentParser(prog="python -m bench results")
    told.add_argument("--run", type=Path, help="a run of the hospital that is there")
    told.add_argument("--visits", type=int, default=VISITS, help="of the run that is made")
    told.add_argument("--folders", type=int, default=FOLDERS)
    told.add_argument("--picture", type=Path, help="where the page as Chromium shows it is kept, as PNG")
    given = told.parse_args(options)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        joined(scratch, folders(scratch, given.folders))
        reported(scratch, given.run or hospital(scratch / "run", given.visits), given.picture)


def folders(scratch: Path, count: int) -> list[str]:
    """Makes the folders of as many evaluations, half of them exams, and returns their names."""
    options = {letter: f"finding {letter}" for letter in "ABCD"}
    lines = (
        json.dumps({"question": f"number {n}?", "options": options, "answer_idx": "ABCD"[n % 4]})
        for n in range(QUESTIONS)
    )
    (scratch / "questions.jsonl").write_text("\n".join(lines), "utf-8")
    called(scratch, "cases", "generate", "--n", PATIENTS, "--seed", 7, "--out", "cases.jsonl")
    exam = (
        "eval",
        "exam",
        "medqa",
        "questions.jsonl",
        "--limit",
        "all",
        "--method",
        "zero_shot",
        "self_consistency",
    )
    aie = ("eval", "aie", "--cases", "cases.jsonl", "--doctor", "rules", "--limit", PATIENTS)
    made = []
    with EndpointProcess() as endpoint:
        for number in range(count):
            name, seed = f"folder-{number:02}", ("--seed", number // 4)
            if number % 2:
                called(scratch, *aie, *seed, "--max-turns", 8 + 2 * (number % 4 > 1), "--out", name)
            else:
                model = ("--model", f"direct/{'ab'[number % 4 > 1]}", "--base-url", endpoint.url)
                called(scratch, *exam, *seed, *model, "--out", name)
            made.append(name)
    return made


def joined(scratch: Path, names: list[str]) -> None:
    seconds, out = called(scratch, "results", "show", *names, "--json")
    items = sum((scratch / name / "items.jsonl").read_bytes().count(b"\n") for name in names)
    rows = len(json.loads(out)["table"])
    print(f"results show of {len(names)} folders, {items:,} items: {rows} rows, {against(seconds, JOINED)}")


def hospital(folder: Path, visits: int) -> Path:
    began = time.monotonic()
    town = ("--residents", RESIDENTS, "--days", 200, "--visits", visits)
    called(folder.parent, "run", *town, "--on", "local:2", "--out", folder, "--json")
    print(f"a run of {visits:,} visits was made in {time.monotonic() - began:.0f} s", flush=True)
    return folder


def reported(scratch: Path, folder: Path, picture: Path | None) -> None:
    seconds, _ = called(scratch, "report", folder.absolute(), "--out", "page.html")
    page = scratch / "page.html"
    size = page.stat().st_size
    fits = "met" if size <= LARGEST else "MISSED"
    print(f"report of {folder}: {against(seconds, REPORTED)}")
    print(f"the page has {size / 1000:,.0f} KB  bar {LARGEST / 1000:,.0f} KB: {fits}")
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no Chromium: the page was not opened")
        return
    opened(page, chromium, picture)


def opened(page: Path, chromium: str, picture: Path | None) -> None:
    """Opens the page, and says what it complains of, what it fetches, and whether it is wider than the window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width in (1280, 400):
            window = browser.new_page(viewport={"width": width, "height": 800})
            said: list[str] = []
            window.on("console", lambda message, said=said: said.append(f"{message.type}: {message.text}"))
            window.on("pageerror", lambda error, said=said: said.append(f"error: {error}"))
            window.on(
                "request",
                lambda asked, said=said: None if asked.url.startswith(("file:", "data:")) else said.append(asked.url),
            )
            began = time.monotonic()
            window.goto(page.as_uri())
            took = time.monotonic() - began
            beyond = window.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if picture is not None:
                window.screenshot(path=picture.with_stem(f"{picture.stem}-{width}"), full_page=True)
            fine = "met" if not said and beyond <= 0 else f"MISSED: {'; '.join(said)}, {beyond} px too wide"
            print(f"opened in Chromium, {width} px wide, in {took:.1f} s; no error, nothing fetched or cut off: {fine}")
        browser.close()


def called(where: Path, *words: object) -> tuple[float, str]:
    """Runs a command to its end, and returns the seconds of processor time that it took and what it printed."""
    command = [sys.executable, "-m", "polyclinic", *map(str, words)]
    before = os.times()
    ended = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    after = os.times()
    assert ended.returncode == 0, f"{' '.join(command)}: {ended.stderr}"
    return (
        after.children_user - before.children_user + after.children_system - before.children_system,
        ended.stdout,
    )


def against(seconds: float, bar: float) -> str:
    return f"{seconds:.1f} s of processor time  bar {bar:.0f} s: {'met' if seconds <= bar else 'MISSED'}"
