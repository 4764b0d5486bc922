"""How many seeded faults in `src` the tests notice.

    python -m bench.faults record [PYTEST ARGUMENTS]     which test runs which line
    python -m bench.faults [--number 100] [--seed 1] [--workers 2] [--limit 150] [--minutes 60] [--only tests/cli]

The recording lies in `.venv/covered`, or in the folder `POLYCLINIC_COVERED`. A fault changes one operator, constant or
returned value on a line that a test runs. Only the tests that run the line are run, in a copy of the repository, the
quickest first; the first that fails ends it, and is run again without the fault. A test of over a minute counts as
failed. Faults that no test notices are listed: either a test is missing, or the fault changes nothing. Files that were
changed after the recording are left out, and counted.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
COVERED = Path(os.environ.get("POLYCLINIC_COVERED", ROOT / ".venv" / "covered"))
SOURCE = "src/polyclinic"
MOST_TESTS = 60  # of those that run a line
OTHERS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
"""What an operator is changed into."""


@dataclass(frozen=True)
class Fault:
    """A place of a file, and the text that it gets.

    Attributes:
        file: in `src/polyclinic`.
        line: from 1; `begin` and `end` are bytes of the file.
    """

    file: str
    line: int
    begin: int
    end: int
    text: str
    was: str


class Covered:
    """Which test runs which line, and how long each takes.

    Attributes:
        changed: files that are others than when they were recorded.
    """

    def __init__(self, folder: Path) -> None:
        self.changed: set[str] = set()
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, dict[int, set[str]]] = {}
        for part in sorted(folder.glob("covered.*.json")):
            read = json.loads(part.read_text("utf-8"))
            names = [name for name, _ in read["tests"]]
            self.seconds |= dict(read["tests"])
            for file, recorded in read["lines"].items():
                if not (ROOT / SOURCE / file).exists() or _sha256(ROOT / SOURCE / file) != recorded["sha256"]:
                    self.changed.add(file)
                    continue
                for line, tests in recorded["tests"].items():
                    found = self.lines.setdefault(file, {}).setdefault(int(line), set())
                    found.update(names[number] for number in tests)
        if not self.lines:
            sys.exit(f"nothing is recorded in {folder}; first: python -m bench.faults record")

    def tests_of(self, fault: Fault, only: str) -> list[str]:
        """Returns the tests that run the line of a fault, the quickest first."""
        named = self.lines.get(fault.file, {}).get(fault.line, set())
        return sorted((name for name in named if name.startswith(only)), key=lambda name: (self.seconds[name], name))


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def faults_of(file: str, text: str) -> Iterator[Fault]:
    """Yields the faults that a file can have."""
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(text)
    left_out = {id(node) for part in _not_run(tree) for node in ast.walk(part)}
    for node in ast.walk(tree):
        changed = None if id(node) in left_out else _changed(node)
        if changed is not None:
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            was = text.encode()[begin:end].decode()
            new = ast.unparse(changed)
            yield Fault(file, node.lineno, begin, end, new if isinstance(node, ast.Return) else f"({new})", was)


def _not_run(tree: ast.Module) -> Iterator[ast.AST]:
    """Yields what says nothing of behaviour: annotations, texts, f-strings, patterns and decorators."""
    for node in ast.walk(tree):
        match node:
            case ast.arg(annotation=ast.AST() as part) | ast.AnnAssign(annotation=part):
                yield part
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield from node.decorator_list
                yield from [node.returns] if getattr(node, "returns", None) else []
            case ast.JoinedStr() | ast.pattern():
                yield node


def _changed(node: ast.AST) -> ast.AST | None:
    """Returns a node with one thing changed; None for a node in which nothing is."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare() if type(new.ops[0]) in OTHERS:
            new.ops[0] = OTHERS[type(new.ops[0])]()
        case ast.BinOp() if type(new.op) in OTHERS and not _is_text(new):
            new.op = OTHERS[type(new.op)]()
        case ast.BoolOp():
            new.op = OTHERS[type(new.op)]()
        case ast.Constant(value=bool(value)):
            new.value = not value
        case ast.Constant(value=int(value) | float(value)):
            new.value = value + 1
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            new.value = ast.Constant(None)
        case _:
            return None
    return new


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(part, ast.JoinedStr | ast.List | ast.Tuple) for part in (node.left, node.right))


class Copies:
    """Copies of the repository, one for each worker."""

    def __init__(self, folder: Path, count: int) -> None:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
        self.free: SimpleQueue[Path] = SimpleQueue()
        for number in range(count):
            for name in filter(None, listed.split("\0")):
                if (ROOT / name).is_file():
                    (folder / str(number) / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, folder / str(number) / name)
            subprocess.run([sys.executable, "-m", "compileall", "-q", "src"], cwd=folder / str(number), check=True)
            self.free.put(folder / str(number))


def meet(fault: Fault, tests: list[str], copies: Copies, limit: float, over: float) -> tuple[str, float]:
    """Makes a fault in a copy, and runs tests; returns how it was met, and the seconds that this took.

    It is "noticed", "not noticed", "out of time" after `limit` seconds, "not begun" if it is later than `over`, or
    "failing without it" if the test that failed also fails in the unchanged copy.
    """
    there, begun = copies.free.get(), time.monotonic()
    file = there / SOURCE / fault.file
    text, stat = file.read_bytes(), file.stat()
    try:
        if begun > over:
            return "not begun", 0.0
        file.write_bytes(text[: fault.begin] + fault.text.encode() + text[fault.end :])
        # Another time than the compiled file has, so that Python does not take that.
        os.utime(file, (stat.st_atime, stat.st_mtime + 7))
        met, failed = _run(there, tests, limit)
        file.write_bytes(text)
        os.utime(file, (stat.st_atime, stat.st_mtime))
        if met == "noticed" and _run(there, [failed or tests[0]], limit)[0] != "not noticed":
            met = "failing without it"
        return met, time.monotonic() - begun
    finally:
        copies.free.put(there)


def _run(there: Path, tests: list[str], limit: float) -> tuple[str, str]:
    """Runs tests in a copy until one fails; returns how it ended, and the test that failed if it has a name."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "--timeout",
        "60",
        *tests,
    ]
    environment = {**os.environ, "PYTHONPATH": str(there / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        command, cwd=there, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "out of time", ""
    if process.returncode == 0:
        return "not noticed", ""
    named = re.search(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", output.decode(errors="replace"), re.MULTILINE)
    return "noticed", "" if named is None else named[1]


def record(arguments: list[str]) -> None:
    """Runs the tests, and records which line each runs."""
    shutil.rmtree(COVERED, ignore_errors=True)
    command = [sys.executable, "-m", "pytest", "-p", "bench.covering", "-p", "no:cacheprovider", *arguments]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "POLYCLINIC_COVERED": str(COVERED), "PYTHONPATH": path}
    sys.exit(subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode)


def main() -> None:
    """Reads the command line; records, or makes faults."""
    if sys.argv[1:2] == ["record"]:
        record(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=150, help="seconds for one fault")
    parser.add_argument("--minutes", type=float, default=60, help="when no more is begun")
    parser.add_argument("--only", default="tests", help="the beginning of the tests that are run")
    given = parser.parse_args()
    covered = Covered(COVERED)
    possible = [
        fault
        for file in sorted(covered.lines)
        for fault in faults_of(file, (ROOT / SOURCE / file).read_text("utf-8"))
        if covered.tests_of(fault, given.only)
    ]
    chosen = random.Random(given.seed).sample(possible, min(given.number, len(possible)))
    print(f"{len(chosen)} of {len(possible):,} faults on lines that tests run", flush=True)
    if covered.changed:
        print(
            f"{len(covered.changed)} files have changed since they were recorded; remove .venv/covered to record again"
        )
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.workers) as workers:
        copies = Copies(Path(folder), given.workers)
        tests = [covered.tests_of(fault, given.only)[:MOST_TESTS] for fault in chosen]
        over = time.monotonic() + given.minutes * 60
        met = list(workers.map(lambda fault, names: meet(fault, names, copies, given.limit, over), chosen, tests))
    for fault, names, (how, seconds) in zip(chosen, tests, met, strict=True):
        if how not in ("noticed", "not begun"):
            was, text = (" ".join(part.split()) for part in (fault.was, fault.text))
            print(
                f"{how} by {len(names)} tests in {seconds:.0f} s: {SOURCE}/{fault.file}:{fault.line}: {was} -> {text}"
            )
    noticed = sum(how == "noticed" for how, _ in met)
    tried = sum(how != "not begun" for how, _ in met)
    print(f"{noticed} of {tried} faults are noticed ({noticed / max(tried, 1):.0%})")


if __name__ == "__main__":
    main()
