"""A plugin of pytest that records which test runs which line of `src`: `pytest -p bench.covering`.

Each process of the tests leaves `covered.*.json` in the folder `POLYCLINIC_COVERED`: the tests with their seconds, and
for each file of `src` its hash and the numbers of the tests of each line. A process that a test starts is not recorded.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

SOURCE = Path(__file__).parents[1] / "src" / "polyclinic"
_SEEN = coverage.Coverage(data_file=None, source=[str(SOURCE)], context="import")
_SECONDS: dict[str, float] = {}


def pytest_configure(config: pytest.Config) -> None:
    """Begins, in a process that runs tests; what is imported for all tests is no test's."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        _SEEN.start()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Records one test."""
    del nextitem
    _SEEN.switch_context(item.nodeid)
    begun = time.monotonic()
    try:
        return (yield)
    finally:
        _SECONDS[item.nodeid] = round(time.monotonic() - begun, 3)
        _SEEN.switch_context("")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Writes what this process has seen."""
    del config
    if not _SECONDS:
        return
    _SEEN.stop()
    numbers = {name: number for number, name in enumerate(_SECONDS)}
    data, lines = _SEEN.get_data(), {}
    for file in sorted(data.measured_files()):
        found: dict[int, list[int]] = defaultdict(list)
        for line, contexts in data.contexts_by_lineno(file).items():
            found[line] = sorted({numbers[name.partition("|")[2]] for name in contexts if "|" in name} - {-1})
        hashed = hashlib.sha256(Path(file).read_bytes()).hexdigest()
        tests = {line: tests for line, tests in found.items() if tests}
        lines[Path(file).relative_to(SOURCE).as_posix()] = {"sha256": hashed, "tests": tests}
    folder = Path(os.environ["POLYCLINIC_COVERED"])
    folder.mkdir(parents=True, exist_ok=True)
    kept = {"tests": list(_SECONDS.items()), "lines": lines}
    (folder / f"covered.{os.getpid()}.json").write_text(json.dumps(kept, separators=(",", ":")))
