"""Reads the cases of a file that can be used, and says of the others where they stand and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from polyclinic.cases.case import Case
from polyclinic.cases.case_share import CaseShare, UnusedRecord
from polyclinic.cases.loaders import Loader, read_placed
from polyclinic.cases.loaders.reader import Element
from polyclinic.cases.shipped import named_path, shipped_path
from polyclinic.errors import BadInput

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
        """Opens a case file, and checks the layout.

        Args:
            path: the file, or a folder of .json files.
            layout: as for `read_cases`.
            strict: whether a record that cannot be used is an error.
            needs: says what a case lacks for what it is read for, "" where it lacks nothing; it is left out, too.
        """
        self._path, self._strict, self._needs = shipped_path(path), strict, needs
        self._placed = read_placed(self._path, layout=layout, leave_out=self._leave_out)
        self._errors: list[BadInput] = []
        self._left_out: list[UnusedRecord] = []
        self._used = 0
        self.renamed: dict[str, str] = {}
        """Of cases whose id an earlier one bears: that, by the one under which they are read."""

    def __iter__(self) -> Iterator[Case]:
        """Yields the cases, once.

        Raises:
            BadInput: the file cannot be used, or a record, where that is an error, or no record is a case, or none of
                the first thousands; then it says what is wrong with the first.
        """
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
        self._left_out.append(_left_out(element, error))


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


def left_out_lines(left_out: Iterable[UnusedRecord], most: int = 5) -> list[str]:
    """Returns the lines that name what was left out, the first of them."""
    return some_of(list(map(str, left_out)), most)


def some_of(named: list[str], most: int = 5) -> list[str]:
    """Returns the first of what is named, and how many more there are."""
    more = [f"and {len(named) - most} more"] if len(named) > most else []
    return named[:most] + more


def _left_out(element: Element, error: BadInput) -> UnusedRecord:
    part = "element" if element.part == "element" else "line"
    place = f"{element.path.name}, {part} {error.line or element.number}"
    return UnusedRecord(place=place, id=_id_of(element), field=error.field, problem=error.problem)


def _id_of(element: Element) -> str:
    try:
        record: dict[str, Any] = element.fields()
    except BadInput:
        return ""
    return next((str(record[key]) for key in _IDS if isinstance(record.get(key), str | int)), "")
