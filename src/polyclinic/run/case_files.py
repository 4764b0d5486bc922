"""The case files that a command reads: a record that is not a usable case is named and left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from polyclinic.cases.case import Case
from polyclinic.cases.case_share import CaseShare
from polyclinic.cases.loaders import UsableCases, left_out_lines, some_of
from polyclinic.terminal.screen import note
from polyclinic.terminal.tables import counted


def read_case_file(
    path: str | Path,
    *,
    layout: str | None = None,
    strict: bool = False,
    needs: Callable[[Case], str] | None = None,
    shares: list[CaseShare] | None = None,
) -> list[Case]:
    """Returns the cases that can be used, and names the others on stderr; see `UsableCases`.

    How many are used is appended to `shares`.
    """
    return list(each_case(path, layout=layout, strict=strict, needs=needs, shares=shares))


def each_case(
    path: str | Path,
    *,
    layout: str | None = None,
    strict: bool = False,
    needs: Callable[[Case], str] | None = None,
    shares: list[CaseShare] | None = None,
) -> Iterator[Case]:
    """Yields the cases that can be used, and in the end names the others on stderr."""
    usable = UsableCases(path, layout=layout, strict=strict, needs=needs)
    yield from usable
    if usable.renamed:
        ids = [f"{shared} is {here}" for here, shared in usable.renamed.items()]
        note(f"{counted(len(ids), 'case')} of {usable.share.file} with an id of another: {', '.join(some_of(ids))}")
    note_share(usable.share)
    if shares is not None:
        shares.append(usable.share)


def note_share(share: CaseShare) -> None:
    """Names what was left out of a case file on stderr."""
    if not share.left_out:
        return
    for line in left_out_lines(share.left_out):
        note(f"left out: {line}")
    left = f"{counted(len(share.left_out), 'case')} of {share.records} left out of {share.file}"
    note(f"{left}; cases.strict stops instead")
