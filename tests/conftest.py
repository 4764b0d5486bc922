"""What every test has: no way off the machine, and the real data where it lies beside the checkout."""

import asyncio
import contextlib
import copy
import csv
import gc
import io
import ipaddress
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from cyclopts import App, ArgumentCollection
from hypothesis import settings
from rich.table import Table
from tests.batch_endpoint import BatchEndpoint
from tests.plain_cells import unreadable

from polyclinic.cli import main
from polyclinic.events import State
from polyclinic.metrics.dialogue import Dialogue, Turn
from polyclinic.terminal.screen import Screen, one_csv, plain_table
from polyclinic.testing.endpoint import Endpoint

# A shell starts what runs in the background with SIGINT ignored, and its children inherit that: a test that interrupts
# a program would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: a slow machine is not a fault. The same examples every time; `make fuzz` searches at random.
settings.register_profile("polyclinic", deadline=None, max_examples=60, derandomize=True)
settings.register_profile("fuzz", deadline=None, max_examples=300, derandomize=False)
settings.register_profile("quick", settings.get_profile("polyclinic"), max_examples=10)
settings.load_profile("polyclinic")


def pytest_xdist_auto_num_workers(config):
    """One more than there are cores where slow tests are among them, which wait for endpoints and other processes."""
    return (os.cpu_count() or 1) + (config.option.markexpr != "not slow")


class _FromElsewhere(pytest.Dir):
    """The tests, begun at another place by each worker: what one has rewritten and compiled, the others only load."""

    def collect(self):
        found, worker = list(super().collect()), self.config.workerinput
        begin = len(found) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        return found[begin:] + found[:begin]


def pytest_collect_directory(path, parent):
    if path == Path(__file__).parent and hasattr(parent.config, "workerinput"):
        return _FromElsewhere.from_parent(parent, path=path)
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.path)  # within a file the order stays


def pytest_collection():
    gc.disable()  # whatever is imported stays


def pytest_collection_finish():
    gc.enable()
    _set_aside()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    if nextitem is None or nextitem.path != item.path:
        _set_aside()


def _set_aside():
    """Looks for garbage among what the tests of a file made, and never again among what they left: a seventh of all."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _stay_on_this_machine(monkeypatch):
    """Any test that would leave the machine fails, and says where to it would have gone."""
    connect, resolve = socket.socket.connect, socket.getaddrinfo

    def is_here(host: str) -> bool:
        if host in ("localhost", ""):
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    def checked_connect(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and not is_here(address[0]):
            pytest.fail(f"this test would connect to {address[0]}:{address[1]}")
        return connect(self, address)

    def checked_resolve(host, *args, **kwargs):
        if host is not None and not is_here(host if isinstance(host, str) else host.decode()):
            pytest.fail(f"this test would look up {host}")
        return resolve(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", checked_connect)
    monkeypatch.setattr(socket, "getaddrinfo", checked_resolve)


@pytest.fixture(autouse=True, scope="session")
def _options_are_read_once():
    """A third of a short command is to read its options off its signature, which a process does once for each."""
    assemble, held = App.assemble_argument_collection, {}

    def assembled(self, *, default_parameter=None, parse_docstring=False):
        if default_parameter is not None:
            return assemble(self, default_parameter=default_parameter, parse_docstring=parse_docstring)
        key = id(self), id(self.default_command), parse_docstring
        if key not in held:  # with what the numbers are of, so that nothing else gets them
            held[key] = assemble(self, parse_docstring=parse_docstring), self, self.default_command
        return _unused(held[key][0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(App, "assemble_argument_collection", assembled)
        yield


def _unused(collection):
    """Returns the same options, without what was given for any."""
    copies = {}

    def copied(argument):
        if id(argument) not in copies:
            one = copies[id(argument)] = copy.copy(argument)
            one.tokens, one.children = [], ArgumentCollection(map(copied, argument.children))
        return copies[id(argument)]

    return ArgumentCollection(map(copied, collection))


@pytest.fixture(autouse=True)
def _loops_are_as_they_were():
    """Any test fails that has asyncio patched to nest loops: those of later tests would be slow and never closed."""
    yield
    assert not hasattr(asyncio, "_nest_patched"), "asyncio is patched for good; await what reads logs of Inspect"


@pytest.fixture(autouse=True)
def _tables_are_plain_in_files(request, monkeypatch):
    """Every table that a command prints in any test can be read by programs: its figures are whole there."""
    if "run" not in request.fixturenames:
        return
    printed = Screen.print

    def checked(self, *objects, **options):
        for one in objects:
            if isinstance(one, Table) and one.show_header:  # without one it is text that is laid out
                told = [f"{column.header}: {cell}" for column in one.columns for cell in unreadable(column)]
                assert not told, f"numbers that --csv would have as a text: {told[:5]}"
                lines = list(csv.DictReader(io.StringIO(one_csv([plain_table(one)])), strict=True))
                assert len(lines) == one.row_count
                assert not any(None in line or None in line.values() for line in lines)
        printed(self, *objects, **options)

    monkeypatch.setattr(Screen, "print", checked)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data that is not part of the project; tests on it skip where it is not there."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("POLYCLINIC_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set POLYCLINIC_DATA to its folder")
    return folder


_CACHE = Path(__file__).parents[1] / ".pytest_cache" / "kept"


def _environment(home: Path | None, more: dict[str, str] | None) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    cache = {"XDG_CACHE_HOME": str(_CACHE)}  # of words that take a second to read; no weights are there
    return {**kept, **cache, "HOME": str(home or "/nowhere"), "LANG": "C.UTF-8", **(more or {})}


def _checked(done: subprocess.CompletedProcess, code: int | None) -> subprocess.CompletedProcess:
    assert "Traceback" not in done.stderr, done.stderr
    assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


@contextlib.contextmanager
def _as_a_program(arguments: list[str], environment: dict[str, str], streams: dict[str, io.TextIOWrapper]):
    """Lets what the interpreter has one of be what a program of its own would find, and puts all back."""
    before, logger = dict(os.environ), logging.getLogger()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", arguments)
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        patch.setattr(logger, "handlers", [])  # a program's warnings go to stderr, and not to pytest
        os.environ.clear()
        os.environ.update(environment)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


@pytest.fixture(scope="session")
def run():
    """Runs the command line in this process; checks how it ends (None: either way), and that no error went by uncaught.

    What a process has one of (folder, environment, streams, log) is the command's own while it runs. Caches stay, so a
    test that depends on a fresh start, on signals or on the order of sets takes `process`.
    """

    def run(*arguments, code=0, cwd=None, env=None) -> subprocess.CompletedProcess:
        # New strings, as a process has them: msgspec tells a default by its identity.
        words = [str(argument).encode().decode() for argument in arguments]
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
        with Path(os.devnull).open(encoding="utf-8") as nothing, contextlib.chdir(cwd or "."):
            streams = {"stdin": nothing, "stdout": out, "stderr": err}
            with _as_a_program(["polyclinic", *words], _environment(cwd, env), streams):
                try:
                    main(words)
                    ended = 0
                except SystemExit as end:
                    assert isinstance(end.code, int | None)
                    ended = end.code or 0
        shown = (stream.buffer.getvalue().decode() for stream in (out, err))
        return _checked(subprocess.CompletedProcess(words, ended, *shown), code)

    return run


@pytest.fixture(scope="session")
def process():
    """Runs the command line in a process of its own, with the checks of `run`."""

    def process(*arguments, code=0, cwd=None, env=None, path=None) -> subprocess.CompletedProcess:
        environment = _environment(cwd, env)
        if path is not None:  # a folder of installed packages
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(path), environment.get("PYTHONPATH"))))
        done = subprocess.run(
            [sys.executable, "-m", "polyclinic", *map(str, arguments)],
            check=False,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=cwd,
            env=environment,
            timeout=120,
        )
        return _checked(done, code)

    return process


@pytest.fixture(scope="session")
def complaint(run):
    """Runs the command line on a wrong input: exit code 2, nothing on stdout, one line on stderr, which it returns."""

    def complaint(*arguments, cwd=None, env=None) -> str:
        done = run(*arguments, code=2, cwd=cwd, env=env)
        assert done.stdout == ""
        assert done.stderr.startswith("polyclinic: ")
        assert done.stderr.count("\n") == 1
        return done.stderr

    return complaint


@contextlib.contextmanager
def _serving(answers=None, **options):
    ready, endpoints, loops = threading.Event(), [], []

    async def serve():
        served = BatchEndpoint if "batches" in options else Endpoint
        async with served(answers=answers, **options) as endpoint:
            endpoints.append(endpoint)
            loops.append((asyncio.get_running_loop(), stop := asyncio.Event()))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield endpoints[0]
    finally:
        loop, stop = loops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)


@pytest.fixture(scope="session")
def serving():
    """Serves an endpoint, in a thread of its own: `with serving(answers, **options) as endpoint`."""
    return _serving


# An invented consultation, whole and in the layout that AIE published.
TURNS = (
    ("Hello, what brings you here?", "O", "I have a cough."),
    ("Do you have a fever?", "A-A-A", "Yes, a fever of 39 degrees."),
    ("Have you travelled?", "A-A-B", "No, I have not."),
    ("How are you?", "A-B", "Could you be more specific?"),
    ("Please have a chest X-ray.", "B-A-A", "The X-ray shows a shadow."),
    ("See a specialist.", "B-B", "Which one?"),
    ("Goodbye.", "E", ""),
)
INFORMATION = "A man has a cough and a fever of 39 degrees. The X-ray shows a shadow in the left lung."


@pytest.fixture(scope="session")
def words():
    for name in ("rjieba", "nltk"):
        pytest.importorskip(name, reason=f"{name} of the extra 'evals' is not installed")


@pytest.fixture
def dialogue():
    return Dialogue(
        id="a",
        language="en",
        turns=tuple(Turn(doctor, State(state), patient) for doctor, state, patient in TURNS),
        information=INFORMATION,
        options={"A": "influenza", "B": "pneumonia"},
        answers=("B",),
        chosen="B",
    )


@pytest.fixture
def record():
    """The same in the layout that AIE published; each call gives a record of its own."""

    def make(id=1, **changes):
        return {
            "id": id,
            "raw_data": {
                "question": INFORMATION,
                "options": {"A": "influenza", "B": "pneumonia"},
                "answer_idx": "B",
            },
            "history": [
                {"doctor": doctor, "state": state, **({"patient": patient} if patient else {})}
                for doctor, state, patient in TURNS
            ],
            "diagnosis": "B",
        } | changes

    return make
