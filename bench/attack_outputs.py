"""Keys wherever one can be given, and outputs that take nothing: every command that the command line has."""

import contextlib
import io
import os
import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.attack import Tried
from bench.attack_files import call
from bench.attack_leaks import served
from bench.attack_words import ASKS_NOBODY, GIVEN
from polyclinic.cli import main
from polyclinic.cli.commands import APP
from polyclinic.cli.config import keys_of
from polyclinic.testing.endpoint import Endpoint

KEY = "sk-canary-5up3r53cr3t0123456789"
"""Stands where a key is looked for, and where none belongs; it must stand nowhere else."""

_SECONDS = 5  # that a command may take, as one that serves takes for ever
_VALUES = {
    "--cases": "shipped",
    "--questions": "shipped",
    "--model": "direct/m",
    "--doctor": "direct/m",
    "--embedder": "direct/m",
    "--judge": "direct/m",
    "--to": "polyclinic",
    "--limit": "1",
    "--set": "run.max-failures=100",
    "--residents": "60",
    "--days": "1",
    "--visits": "1",
    "--port": "0",
    "CASE": "shipped#p1-00001",
    "FORM": "aie",
    "DISEASE": "gout",
}
"""What options and arguments are given; others "nothing", which is no file and no name."""
_USED = ("--cases", "--doctor", "--model", "--judge", "--limit", "--set", "--residents", "--days", "--port")
"""Options that are given where a command has them, though it does without."""

Words = tuple[str, ...]


def commands() -> dict[Words, Any]:
    """Returns every command with its words, by walking the command line."""
    found: dict[Words, Any] = {}

    def walk(app: Any, words: Words) -> None:
        for name in app:
            if not name.startswith("-"):
                if app[name].default_command is not None:
                    found[(*words, name)] = app[name]
                walk(app[name], (*words, name))

    walk(APP, ())
    return found


def _counts_failures(words: Words) -> bool:
    return any(one.key == "run.max-failures" for one in keys_of(" ".join(words)))


def _filled(words: Words, app: Any, folder: Path) -> tuple[list[str], set[str]]:
    """Returns a command with what it needs, and the names of its options."""
    given, names = list(words), set()
    if (special := GIVEN.get(" ".join(words))) is not None:
        for argument in app.assemble_argument_collection():
            names |= set(argument.names)
        return [*words, *map(str, special(folder))], names
    values = _VALUES | {"--out": str(folder / "out")}
    for argument in app.assemble_argument_collection():
        names |= set(argument.names)
        name = argument.name
        if name.startswith("-"):
            if name == "--set" and not _counts_failures(words):
                continue
            if argument.required or name in (*_USED, "--out"):
                given += [name, values.get(name, "nothing")]
        elif argument.required and name != "*":
            given.insert(len(words), values.get(name, "nothing"))
    return given, names


def secrets(seed: int, n: int) -> list[Tried]:
    """Gives every command that asks a model a key in each place; it stands in no output and in no file."""
    del seed
    failed, tried = [], 0
    before = os.environ.get("OPENAI_API_KEY"), Path.cwd()
    try:
        os.environ["OPENAI_API_KEY"] = KEY
        for words, app in list(commands().items())[:n]:
            for where in ("variable", "user", "query", "path", "name", "file"):
                with tempfile.TemporaryDirectory() as held, served(Endpoint(key=KEY)) as endpoint:
                    folder = Path(held)
                    given, names = _filled(words, app, folder)
                    if "--base-url" not in names:
                        break
                    os.chdir(folder)
                    given += _keyed(where, endpoint.url, folder)
                    tried += 1
                    with _limited():
                        _, out, err = call(*given)
                    named = f"{' '.join(words)}, key in {where}"
                    if where == "variable" and not endpoint.bodies and " ".join(words) not in ASKS_NOBODY:
                        failed.append(f"{named}: asked nobody, so that nothing was tried: {err[-200:]!r}")
                    if KEY in out + err:
                        failed.append(f"{named}: printed")
                    kept = [path for path in folder.rglob("*") if path.is_file() and path.name != "given.toml"]
                    failed += [f"{named}: in {path.name}" for path in kept if KEY.encode() in path.read_bytes()]
                    if "Traceback" in err:
                        failed.append(f"{named}: {err[-300:]!r}")
                    os.chdir(before[1])
    finally:
        os.chdir(before[1])
        os.environ.pop("OPENAI_API_KEY") if before[0] is None else os.environ.update(OPENAI_API_KEY=before[0])
    return [Tried("keys given to every command that asks a model", tried, tuple(failed[:tried]))]


def _keyed(where: str, url: str, folder: Path) -> list[str]:
    file = folder / "given.toml"
    if where == "variable":
        return ["--base-url", url]
    if where == "name":
        return ["--base-url", url, "--set", f"models.api-key-env={KEY}"]
    if where == "file":
        file.write_text(f'[models."direct/m"]\nbase_url = "{url}"\nextra_body = {{a = "{KEY}"}}\n')
        return ["--set", f"models.model-file={file!s}"]
    put = {"user": url.replace("//", f"//me:{KEY}@"), "query": f"{url}?key={KEY}", "path": f"{url}/{KEY}"}
    return ["--base-url", put[where]]


@contextmanager
def _limited() -> Iterator[None]:
    """Interrupts what is within, as Ctrl-C does, where it takes too long."""
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, _SECONDS, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def pipes(seed: int, n: int) -> list[Tried]:
    """Has every command write where nobody reads, nothing fits, and nothing is open: no traceback, the right code."""
    rng, failed, tried = random.Random(seed), [], 0
    for words, app in list(commands().items())[:n]:
        ways = ("pipe", "full", "closed")
        for way, shown in [*((way, True) for way in ways), (rng.choice(ways), False)]:
            with tempfile.TemporaryDirectory() as held:
                given, names = _filled(words, app, Path(held))
                if "--base-url" in names:
                    given += ["--base-url", "http://127.0.0.1:9/v1"]
                tried += 1
                code, errors = _written([*words, "--help"] if shown else given, way)
                allowed = {"pipe": (0,), "full": (1,), "closed": (0,)}[way] if shown else (0, 1, 2, 130)
                if code not in allowed or "Traceback" in errors:
                    failed.append(f"{' '.join(words)}{' --help' * shown}, {way}: {code}, {errors[-200:]!r}")
    return [Tried("outputs that take nothing, of every command", tried, tuple(failed))]


def _written(words: list[str], way: str) -> tuple[object, str]:
    errors, before = io.StringIO(), sys.stdout
    if way == "pipe":
        read, write = os.pipe()
        os.close(read)
        sys.stdout = os.fdopen(write, "w")
    elif way == "full":
        sys.stdout = Path("/dev/full").open("w")  # noqa: SIM115
    else:
        sys.stdout = None
    try:
        with contextlib.redirect_stderr(errors), _limited():
            try:
                main(words)
            except SystemExit as ended:
                return ended.code, errors.getvalue()
            except BaseException as error:
                return f"{type(error).__name__}: {error}", errors.getvalue()
        return "no exit", errors.getvalue()
    finally:
        with contextlib.suppress(OSError):
            if sys.stdout not in (None, before):
                sys.stdout.close()
        sys.stdout = before
