"""What others write: `path/to/file.py:name`, and the entry points of installed packages.

| group                  | what stands there                                          |
|------------------------|------------------------------------------------------------|
| `polyclinic.methods`   | a method that answers questions                            |
| `polyclinic.minds`     | a mind that plays a role                                   |
| `polyclinic.metrics`   | a metric of a consultation                                 |
| `polyclinic.layouts`   | a reader of the cases of a file                            |
| `polyclinic.hooks`     | a hook around every call of a model                        |
| `polyclinic.evaluations` | a declaration of an evaluation                           |
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib.util
import inspect
import sys
import traceback
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Literal

from polyclinic.errors import BadInput, UserError, in_short, meant
from polyclinic.files import check_file

Group = Literal["methods", "minds", "metrics", "layouts", "hooks", "evaluations"]


def names_file(name: str) -> bool:
    """Whether a name says where something stands in a Python file: `path/to/file.py:name`, perhaps not in full."""
    return name.endswith(".py") or ".py:" in name


def find(name: str, group: Group) -> object | None:
    """Returns what stands behind a name, or None if there is no such plugin."""
    if name != name.strip():
        raise UserError(f"{name!r} begins or ends with a blank; leave it out")
    if names_file(name):
        path, _, attribute = name.rpartition(":")
        if not path.endswith(".py"):
            wrong = "names a file, and nothing in it" if name.endswith(".py") else "has more than one colon behind .py"
            raise UserError(f"{name!r} {wrong}; needed: FILE.py:NAME")
        return _in_file(Path(path).expanduser(), attribute)
    found = _installed(group).get(name, ())
    if len(found) > 1:
        packages = ", ".join(entry.dist.name if entry.dist else entry.value for entry in found)
        raise UserError(f"{name!r} is offered by several packages: {packages}; uninstall all but one, or name a file")
    if not found:
        return None
    try:
        loaded: object = found[0].load()
    except (Exception, SystemExit) as error:
        raise UserError(f"{name!r} ({found[0].value}) cannot be loaded: {in_short(error)}") from error
    return loaded


def full_name(name: str) -> str:
    """Returns the name by which a process in another folder finds the same."""
    path, colon, attribute = name.rpartition(":")
    return f"{Path(path).expanduser().resolve()}{colon}{attribute}" if names_file(name) else name


def offered(group: Group) -> tuple[str, ...]:
    """Returns the names of the entry points of a group."""
    return tuple(sorted(_installed(group)))


def code_of(name: str, group: Group) -> tuple[str, str] | None:
    """Returns the SHA-256 of a plugin's file as it was loaded, and its package; None for no plugin."""
    if names_file(name):
        return _hash(Path(name.rpartition(":")[0]).expanduser().resolve()), ""
    found = _installed(group).get(name, ())
    if len(found) != 1:
        return None
    (entry,) = found
    module = sys.modules.get(entry.module)
    file = getattr(module, "__file__", None)
    return _hash(Path(file)) if file else "", f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.module


def parameters(thing: object) -> dict[str, inspect.Parameter]:
    """Returns the parameters of a function by name; none where it does not say."""
    try:
        return dict(inspect.signature(thing).parameters) if callable(thing) else {}
    except ValueError:
        return {}


def stopped_from_outside() -> bool:
    """Whether the task that runs is being cancelled: a `CancelledError` is no mistake of a user's code then."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def raised_at(error: BaseException, called_from: str) -> str:
    """Returns the last line of the user's file that an error came through, as `file.py:12`, if any."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != called_from]
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""


@functools.cache
def _installed(group: Group) -> dict[str, tuple[EntryPoint, ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in entry_points(group=f"polyclinic.{group}"):
        found[entry.name] = (*found.get(entry.name, ()), entry)
    return found


def _in_file(path: Path, attribute: str) -> object:
    check_file(path)
    module = _run(path.resolve())
    if not hasattr(module, attribute):
        of_module = vars(module).items()
        own = [name for name, v in of_module if getattr(v, "__module__", "") == module.__name__ or name.isupper()]
        raise BadInput(
            f"holds no {attribute!r}{meant(attribute, own)}; it has: {', '.join(own) or 'nothing of its own'}",
            path=path,
        )
    return getattr(module, attribute)


@functools.cache
def _source(path: Path) -> bytes:
    """Returns a file as it was when it was first read: what runs is what has this hash."""
    return path.read_bytes()


@functools.cache
def _hash(path: Path) -> str:
    try:
        return hashlib.sha256(_source(path)).hexdigest()
    except OSError:
        return ""


@functools.cache
def _run(path: Path) -> ModuleType:
    """Runs a file, once however often it is named."""
    _hash(path)  # before it is edited again
    # The same name in every process: workers are sent objects of its classes.
    name = f"polyclinic_plugin_{path.stem}_{hashlib.sha256(bytes(path)).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadInput("is no Python file", path=path)
    # At the end, where a file of the folder cannot stand in for a library; and for good, as functions import too.
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    # Dataclasses and msgspec look their module up by name.
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        # From the source: a byte-code cache may be of a file that was rewritten within the same second.
        exec(compile(_source(path), str(path), "exec"), module.__dict__)  # noqa: S102 - it is the user's own file
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise BadInput(f"cannot be run: {in_short(error)}", path=path) from error
    return module
