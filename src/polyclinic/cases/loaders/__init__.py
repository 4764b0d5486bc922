"""The layouts that case files come in, ours and those of published data sets.

`read_cases` reads any of them; `write_cases` writes ours; `find_case` picks one case by its id. A layout of your own is
a function like `Loader`, named as `path/to/file.py:function` or by an entry point (see `plugins`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container, Iterable, Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple

import msgspec
from rapidfuzz import fuzz, process

from polyclinic import plugins
from polyclinic.cases.case import Case
from polyclinic.cases.case_share import CaseShare, UnusedRecord
from polyclinic.cases.loaders.layout import Layout
from polyclinic.cases.loaders.reader import Element, read_elements
from polyclinic.cases.loaders.records import unrecognised
from polyclinic.cases.shipped import named_path, shipped_path
from polyclinic.errors import BadInput, in_short, meant
from polyclinic.files import json_lines, key_twice, record_as, write_text

Loader = Callable[[dict[str, Any], int], Case]
"""Makes a case of one record; gets the record and its number in the file, from 1.

Where a part is missing or of the wrong type, it raises `BadInput` with the field and without a place.
"""

OWN = Layout(
    "polyclinic", frozenset({"record", "truth"}), lambda record, _: record_as(record, Case), msgspec.to_builtins
)
OLDEST = 130
"""Years."""

_SHOWN = 8


@functools.cache
def layouts() -> dict[str, Layout]:
    """Returns our layouts by name: those that the modules of this folder declare."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    return {one.name: one for one in (OWN, *(one for module in modules for one in getattr(module, "LAYOUTS", ())))}


LeaveOut = Callable[[Element, BadInput], None]
"""Is told of a record that is no case, and why; the reading goes on behind it."""


def read_cases(
    path: str | Path, *, layout: str | Loader | None = None, leave_out: LeaveOut | None = None
) -> Iterator[Case]:
    """Yields the cases of a file: JSON lines, a JSON array, a JSON object or CSV; or of the .json files of a folder.

    The layout is a name in `layouts()`, a field map (`FILE.toml`, `FILE.yaml`), or somebody else's, or a function; by
    default the first record tells. Of several cases with one id each but the first has another, `7-2`, as two visits of
    a patient may be. A record that is no case goes to `leave_out`, and ends the reading without it;
    `read_usable` counts them.

    Raises:
        BadInput: the file, a record, or the layout cannot be used; says where, what came and what was allowed.
    """
    path = shipped_path(path)
    check_layout(layout)
    return (placed.case for placed in _read(path, layout, leave_out))


class _PlacedCase(NamedTuple):
    """A case, the element of its file, and the id that stands there where an earlier case bears it already."""

    case: Case
    element: Element
    shared_id: str = ""


def check_layout(layout: str | Loader | None) -> None:
    """Refuses what is the name of no layout, and lists those there are; None means that the file decides."""
    if layout is not None:
        find_layout(layout)


def find_layout(layout: str | Loader) -> Layout:
    """Returns a layout by its name, or that of a field map or of a function."""
    if layout == OWN.name:
        return OWN
    from polyclinic.cases.loaders import field_map  # noqa: PLC0415 - only of a file in another layout

    if isinstance(layout, str) and layout in layouts():
        return layouts()[layout]
    name = layout if isinstance(layout, str) else getattr(layout, "__name__", repr(layout))
    if isinstance(layout, str) and field_map.names_map(layout):
        return Layout(name, frozenset(), field_map.loader_of(Path(layout).expanduser()))
    found = plugins.find(layout, "layouts") if isinstance(layout, str) else layout
    if found is None:
        problem = f"no layout is called {layout!r}{meant(name, [*layouts(), *plugins.offered('layouts')])}"
        raise BadInput(f"{problem}; there are {_all_layouts()}")
    needed = "a layout is a function (record: dict, order: int) -> Case"
    if not callable(found):
        raise BadInput(f"layout {name} is a {type(found).__name__}; {needed}")
    try:
        inspect.signature(found).bind({}, 1)
    except TypeError as error:
        raise BadInput(f"layout {name} does not take a record and its order ({error}); {needed}") from None
    return Layout(name, frozenset(), found)


def _all_layouts() -> str:
    return ", ".join((*layouts(), *plugins.offered("layouts"), "a field map FILE.toml", "FILE.py:NAME"))


def another_id(id: str, taken: Container[str]) -> str:
    """Returns the id under which a further case is read whose own an earlier one bears: `7-2`."""
    return next(other for n in count(2) if (other := f"{id}-{n}") not in taken)


def _read(path: Path, layout: str | Loader | None, leave_out: LeaveOut | None) -> Iterator[_PlacedCase]:
    taken: set[str] = set()
    for element in read_elements(path):
        try:
            record = element.fields()
            layout = layout or recognise(element, record)
            case = load_element(element, layout, record)
        except BadInput as error:
            if leave_out is None:
                raise
            leave_out(element, error)
            continue
        shared = case.id if case.id in taken else ""
        if shared:
            case = msgspec.structs.replace(case, id=another_id(shared, taken))
        taken.add(case.id)
        yield _PlacedCase(case, element, shared)


def recognise(element: Element, record: dict[str, Any]) -> str:
    """Returns the layout of an element that has been decoded, and refuses what is in none."""
    name = _looks_like(record)
    if name is None:
        how = f"name one with --layout (--set cases.layout=NAME of commands that ask models): {_all_layouts()}"
        raise element.bad(unrecognised(record, how).problem)
    return name


def _looks_like(record: dict[str, Any]) -> str | None:
    known = (OWN,) if OWN.signs & record.keys() else layouts().values()
    return next((one.name for one in known if one.signs & record.keys()), None)


def load_element(element: Element, layout: str | Loader, record: dict[str, Any]) -> Case:
    """Makes the case of one element of a file that has been decoded."""
    name, _, load, _, keys_once, needs_folder = find_layout(layout)
    is_ours = name == OWN.name or name in layouts()
    if keys_once and (twice := key_twice(element.text)):
        raise element.bad(f"the key {twice!r} stands twice in an object; a key stands once")
    try:
        case = load(record, element.order, **({"beside": element.path.parent} if needs_folder else {}))
        if not is_ours and isinstance(case, Case):
            case = record_as(msgspec.to_builtins(case), Case)
            msgspec.json.encode(case)
    except BadInput as error:
        problem = error.problem if is_ours else f"layout {name}: {error.problem}"
        looks_like = _looks_like(record)
        if looks_like not in {None, layout}:
            problem += f"; this is read as layout {name}, and looks like {looks_like} (cases.layout={looks_like})"
        raise element.bad(problem, error.field) from None
    except (Exception, SystemExit) as error:
        if is_ours:
            raise
        raise element.bad(f"layout {name} raised {in_short(error)}") from error
    if not isinstance(case, Case):
        raise element.bad(f"layout {name} made a {type(case).__name__} of it, and no Case")
    if not case.id.strip():
        raise element.bad("a case needs an id", "$.id")
    age = case.presentation.age
    if age is not None and not 0 <= age <= OLDEST:
        raise element.bad(f"nobody is {age:g} years old; allowed: 0 to {OLDEST}", "$.record.presentation.age")
    if not case.presentation.complaint.strip():
        raise element.bad("a case needs a complaint", "$.record.presentation.complaint")
    return case


def write_cases(path: str | Path, cases: Iterable[Case]) -> None:
    """Writes cases in our own layout as JSON lines, all of them or none.

    Raises:
        BadInput: the path cannot be written.
    """
    write_text(Path(path), json_lines(cases))


def find_case(path: str | Path, id: str, *, layout: str | Loader | None = None) -> Case:
    """Returns the first case with this id.

    Raises:
        BadInput: no case has it; lists ids there are, the nearest first.
    """
    path = shipped_path(path)
    ids: list[str] = []
    # What is wrong with another record is no matter here; where none is a case, it is all there is to say.
    wrong: list[BadInput] = []
    for case in read_cases(path, layout=layout, leave_out=lambda _, error: wrong.append(error)):
        if case.id == id:
            return case
        ids.append(case.id)
    if wrong and not ids:
        raise wrong[0]
    found = process.extract(id, list(dict.fromkeys(ids)), scorer=fuzz.ratio, processor=str.casefold, limit=_SHOWN)
    near = [match[0] for match in found]
    more = ", ..." if len(set(ids)) > len(near) else ""
    raise BadInput(
        f"no case has the id {id!r}; of {len(ids)} cases the nearest are {', '.join(near)}{more}", path=named_path(path)
    )


_IDS = ("id", "case_id")

_FIRST_LEFT_OUT = 10_000  # records of which none is a case; what begins so is no file of cases
_MOST_LEFT_OUT = 1_000_000  # records beside others that can; each is named, and kept for that


class UsableCases:
    """The cases of a file that can be used, one after the other; the `share` is known when all are read."""

    def __init__(
        self,
        path: str | Path,
        *,
        layout: str | Loader | None = None,
        strict: bool = False,
        needs: Callable[[Case], str] | None = None,
    ) -> None:
        """Opens a case file; `needs` says what a case lacks for its use, "" for nothing."""
        self._path, self._strict, self._needs = shipped_path(path), strict, needs
        check_layout(layout)
        self._placed = _read(self._path, layout, self._leave_out)
        self._errors: list[BadInput] = []
        self._left_out: list[UnusedRecord] = []
        self._used = 0
        self.renamed: dict[str, str] = {}
        """Of cases whose id an earlier one bears: that, by the one under which they are read."""

    def __iter__(self) -> Iterator[Case]:
        """Yields the cases, once."""
        for case, element, shared_id in self._placed:
            if problem := self._needs(case) if self._needs is not None else "":
                self._leave_out(element, element.bad(f"case {case.id!r}: {problem}"), most=_MOST_LEFT_OUT)
                continue
            self._used += 1
            if shared_id:
                self.renamed[case.id] = shared_id
            yield case
        if self._errors and not self._used:
            raise self._errors[0]

    @property
    def share(self) -> CaseShare:
        """How many of the records that were read are used, and which are not."""
        file, left_out = named_path(self._path).name, tuple(self._left_out)
        return CaseShare(file=file, records=self._used + len(left_out), used=self._used, left_out=left_out)

    def _leave_out(self, element: Element, error: BadInput, *, most: int = _FIRST_LEFT_OUT) -> None:
        if self._strict:
            raise error
        # The first says it all where there is no case; of the others a line each is enough.
        self._errors = self._errors or [error]
        if len(self._left_out) >= (_MOST_LEFT_OUT if self._used else most):
            raise self._errors[0]
        place = (
            f"{element.path.name}, {'element' if element.part == 'element' else 'line'} {error.line or element.number}"
        )
        try:
            record: dict[str, Any] = element.fields()
        except BadInput:
            record = {}
        named = next((str(record[key]) for key in _IDS if isinstance(record.get(key), str | int)), "")
        self._left_out.append(UnusedRecord(place=place, id=named, field=error.field, problem=error.problem))


class ReadCases(NamedTuple):
    """The cases of a file that can be used, and how many those are of all."""

    cases: list[Case]
    share: CaseShare


def read_usable(
    path: str | Path,
    *,
    layout: str | Loader | None = None,
    strict: bool = False,
    needs: Callable[[Case], str] | None = None,
) -> ReadCases:
    """Reads a case file, and leaves out what is no case; with `strict` that is an error. As `UsableCases`."""
    usable = UsableCases(path, layout=layout, strict=strict, needs=needs)
    return ReadCases(list(usable), usable.share)


def some_of(named: list[str], most: int = 5) -> list[str]:
    """Returns the first of what is named, and how many more there are."""
    more = [f"and {len(named) - most} more"] if len(named) > most else []
    return named[:most] + more
