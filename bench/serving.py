"""A model in a process of its own, with a measurement's answers and a fixed time for each; and what a ratio comes to.

A module that measures so ends with `serve_or_run(answer, run)`: `python -m bench.NAME serve LATENCY` is the process.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

from polyclinic.testing.endpoint import serve

ROOT = Path(__file__).parents[1]


class Served:
    """The endpoint that a module of `bench` serves, in a process of its own; entered, it is its address."""

    def __init__(self, name, latency):
        self._command = [sys.executable, "-m", name, "serve", str(latency)]

    def __enter__(self):
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        url = self._process.stdout.readline().strip()
        assert url, "the endpoint did not start"
        return url

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()


def serve_or_run(answer, run):
    """Serves the answers where the command line says so, and measures otherwise."""
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(answers=answer, latency=float(sys.argv[2]), port=0))
    else:
        run()


def held_against(ratio, bar):
    """Returns a ratio beside the most that it may be."""
    return f"ratio {ratio:.3f}  bar {bar}: {'met' if ratio <= bar else 'MISSED'}"
