"""What a single visit by rules costs beside the visit: the modules of ours that it imports, and its processor time.

`python -m bench startup --against PATH` measures another checkout in turns with this one.
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

from bench.serving import held_against

ROOT = Path(__file__).parents[1]
RUNS = 7
CASE = "shipped#p1-00001"
MODULES = 200
RATIO = 0.6

_PROGRAM = """
import os, sys, time
from contextlib import redirect_stdout
sys.argv = ["polyclinic", "consult", *{words!r}]
from polyclinic.cli import program
try:
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        program()
except SystemExit as ended:
    assert not ended.code, ended.code
print(sum(name.startswith("polyclinic.") for name in sys.modules), time.process_time())
"""


def run(*options: str) -> None:
    asked = argparse.ArgumentParser(prog="python -m bench startup")
    asked.add_argument("--against", type=Path, metavar="PATH", help="another checkout")
    asked.add_argument("--runs", type=int, default=RUNS)
    given = asked.parse_args(options)
    places = [ROOT, *([given.against] if given.against else [])]
    for place in places:
        consulted(place)  # which writes what later calls read: bytecode, and names of diseases
    turns = [[consulted(place) for place in places] for _ in range(given.runs)]
    for number, place in enumerate(places):
        spent = [turn[number][1] for turn in turns]
        median = f"median of {given.runs}: {statistics.median(spent):.2f} s of CPU, least {min(spent):.2f} s"
        print(f"{place}: {turns[0][number][0]} modules, {median}")
    print(f"modules {turns[0][0][0]}  bar {MODULES}: {'met' if turns[0][0][0] <= MODULES else 'MISSED'}")
    if given.against:
        print(held_against(statistics.median(turn[0][1] / turn[1][1] for turn in turns), RATIO))


def consulted(checkout: Path) -> tuple[int, float]:
    """Returns how many modules of ours one visit by rules imports in a process of its own, and its CPU seconds."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(checkout.resolve() / "src")
    for words in ([CASE], ["--case", CASE]):  # older checkouts take an option
        program = [sys.executable, "-c", _PROGRAM.format(words=words)]
        done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
        if not done.returncode:
            modules, seconds = done.stdout.split()
            return int(modules), float(seconds)
    raise SystemExit(f"{checkout}: {done.stderr.strip()}")
