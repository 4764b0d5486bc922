"""The endpoint in a process of its own, for measurements and for clients that are killed. For tests only."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from typing import Any, Self


class EndpointProcess:
    """Runs `python -m polyclinic.testing.endpoint` on a free port, with its options: `latency=0.05, faults=0.1`."""

    def __init__(self, **options: object) -> None:
        self._options = options
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "polyclinic.testing.endpoint", "--port", "0"]
        for name, value in self._options.items():
            values = [] if value is True else value if isinstance(value, (list, tuple)) else [value]
            command += [f"--{name}", *map(str, values)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
        assert self._process.stdout is not None  # noqa: S101
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError("the endpoint did not start")
        return self

    def __exit__(self, *_: object) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def counters(self) -> dict[str, Any]:
        """Returns the endpoint's counters."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/counters", timeout=10) as answer:  # noqa: S310
            counters: dict[str, Any] = json.load(answer)
        return counters
