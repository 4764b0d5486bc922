"""How many modules handle a cell of an evaluation between "played" and "printed".

    python -m bench journey

One doctor sees one case in `eval aie`. From the moment at which the last visit is over until the results are printed, a
module handles the cell if one of its functions is given, or returns, a value that holds the visit or names its case.
"""

import contextlib
import dataclasses
import io
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

import polyclinic
from polyclinic.cli import main
from polyclinic.visits.visit import Visit

SOURCE = f"{Path(polyclinic.__file__).parent}/"
APART = ("metrics/", "statistics/", "language/", "judging/", "cases/", "protocols/")
CASE = "p1-00001"
BAR = 6
READ = ("polyclinic.cases", "polyclinic.knowledge")
FEW = 50  # elements of a list that are looked at
MANY = 1000  # values that are looked at for a call


def run() -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        journey = Journey()
        words = ["eval", "aie", "--cases", "shipped", "--limit", "1", "--doctor", "rules", "--out", "out", "--json"]
        sys.setprofile(journey.note)
        try:
            main(words)
        except SystemExit as end:
            assert not end.code, f"the evaluation ended with {end.code}"
        finally:
            sys.setprofile(None)
    for module, functions in sorted(journey.handled.items()):
        print(f"  {module}: {', '.join(sorted(functions))}")
    held = "met" if len(journey.handled) <= BAR else "MISSED"
    print(f"a cell of `eval aie` passes {len(journey.handled)} modules from played to printed  bar {BAR}: {held}")


class Journey:
    """The functions that handle the cell, by module."""

    def __init__(self) -> None:
        self.handled: dict[str, set[str]] = {}
        self._played = self._busy = False

    def note(self, frame: FrameType, event: str, value: Any) -> None:
        """Takes note of a call or a return; what `sys.setprofile` calls."""
        file = frame.f_code.co_filename
        if value.__class__ is Visit and event == "return" and file.startswith(f"{SOURCE}visits/"):
            self._played = True
            self.handled.clear()  # the last visit counts
        if not self._played or self._busy or event not in ("call", "return"):
            return
        if not file.startswith(SOURCE):
            return
        module, name = file.removeprefix(SOURCE), frame.f_code.co_name
        if module.startswith(APART) or name in self.handled.get(module, ()):
            return
        self._busy = True
        try:
            given = list(frame.f_locals.values()) if event == "call" else [value]
            if names_case(given):
                self.handled.setdefault(module, set()).add(name)
        finally:
            self._busy = False


def names_case(given: list[Any]) -> bool:
    """Returns whether one of some values is the visit of the case, or holds or names it."""
    seen: set[int] = set()
    values = [given]
    while values and len(seen) < MANY:
        value = values.pop(0)
        if isinstance(value, str | bytes):
            if (CASE if isinstance(value, str) else CASE.encode()) in value:
                return True
        elif id(value) not in seen:
            seen.add(id(value))
            values += parts_of(value)
    return False


def parts_of(value: Any) -> list[Any]:
    """Returns what a value holds; nothing of a case as it was read."""
    if type(value).__module__.startswith(READ):
        return []
    if isinstance(value, dict):
        return [*list(value)[:FEW], *list(value.values())[:FEW]]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)[:FEW]
    if isinstance(value, type):
        return []
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    if isinstance(value, msgspec.Struct):
        return [getattr(value, name, None) for name in value.__struct_fields__]
    return []
