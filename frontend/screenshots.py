"""Makes pictures of every page, light and dark, on a desk and on a phone, to be looked at.

`python frontend/screenshots.py [FOLDER]` of runs that are made for it. `make docs` calls it, and goes on
where there is no Chromium.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = {"desk": (1280, 800), "phone": (390, 844)}
_PLAYED = """
const sent = async (path, told) => (await fetch(`api/chair/${path}`, {
  method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(told)})).json();
const moves = {
  say: {text: 'Do you have a fever? Since when?'},
  order: {names: ['physical examination', 'blood test', 'chest X-ray']},
  note: {diagnoses: [{name: 'Influenza A', probability: 0.6}, {name: 'COVID-19', probability: 0.2}]},
  conclude: {},
  report: {diagnoses: [{name: 'Influenza A', probability: 0.8}], symptoms: ['fever'], treatment: ['rest']},
};
const play = async (steps) => {
  const { cases } = await (await fetch('api/chair/cases?set=shipped')).json();
  const { id } = await sent('visits', {set: 'shipped', key: cases[0].key});
  for (const [after, name] of steps.entries()) await sent(`visits/${id}/moves`, {after, move: {do: name, ...moves[name]}});
  return id;
};
"""
PICTURES = {
    "runs": ("/", ""),
    "town": ("/town?run=one&paused#t=37800", ""),
    "room": ("/town?run=one&paused#t=37800", "town.choose({run: town.runs[0], room: 'waiting-hall'})"),
    "person": (
        "/town?run=one&paused#t=37800",
        "(async () => { const people = Object.entries(town.state().people);"
        "const who = (people.find(([, one]) => one.activity === 'consultation') ?? people[0])[0];"
        "town.choose({run: town.runs[0], who}); const at = town.runs[0].actors.all.get(who);"
        "town.views[0].stage.see({x: at.x, y: at.y, zoom: 2}); })()",
    ),
    "night": ("/town?run=one&paused#t=79200", ""),
    "two": ("/town?run=one&with=two&paused#t=37800", ""),
    "chair": ("/chair", ""),
    "visit": ("/chair", _PLAYED + "play(['say', 'order', 'note']).then((id) => (location.hash = `#/visit/${id}`))"),
    "score": (
        "/chair",
        _PLAYED
        + "play(['say', 'order', 'note', 'conclude', 'report']).then((id) => (location.hash = `#/visit/${id}`))",
    ),
    "judging": ("/judging", ""),
    "results": ("/browse#/about/one", ""),
    "result": ("/browse#/record/one/0/0", ""),
}


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(".venv") / "screenshots"
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("No pictures of the pages: they need Chromium, and pip install 'polyclinic[browser]'.", file=sys.stderr)
        return
    out.mkdir(parents=True, exist_ok=True)
    program = [sys.executable, "-m", "polyclinic"]
    with tempfile.TemporaryDirectory() as scratch:
        for name, more in (("one", []), ("two", ["--set", "run.examinations=1"])):
            town = [
                "--residents",
                "6000",
                "--set",
                "run.load=0.5",
                "--days",
                "1",
                *more,
                "--out",
                f"{scratch}/{name}",
                "--json",
            ]
            subprocess.run([*program, "run", *town], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server = subprocess.Popen([*program, "serve", scratch, "--port", "0"], stderr=subprocess.PIPE, text=True)
        try:
            at = re.search(r"http://[\d.:]+", server.stderr.readline())[0]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                for name, (path, script) in PICTURES.items():
                    for size, (width, height) in SIZES.items():
                        for scheme in ("light", "dark"):
                            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                            page.goto(at + path)
                            page.wait_for_selector("h1")
                            if path.startswith("/town"):
                                page.wait_for_selector("body[data-ready]", timeout=60_000)
                            if script:
                                page.evaluate(script)
                            page.wait_for_timeout(1_200)
                            page.screenshot(path=out / f"{name}-{size}-{scheme}.png", full_page=size == "phone")
                            page.close()
                browser.close()
        finally:
            server.terminate()
            server.wait()
            server.stderr.close()
    print(f"Pictures of the pages: {out}")


if __name__ == "__main__":
    main()
