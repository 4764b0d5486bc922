"""The case files that a command reads: a record that is not a usable case is named and left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from polyclinic.cases.case import Case
from polyclinic.cases.case_share import CaseShare
from polyclinic.cases.loaders import UsableCases, find_case, some_of
from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import BadInput
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
    """Returns the usable cases and names the others on stderr; appends their number to `shares`."""
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
    for line in some_of(list(map(str, share.left_out))):
        note(f"left out: {line}")
    left = f"{counted(len(share.left_out), 'case')} of {share.records} left out of {share.file}"
    note(f"{left}; cases.strict stops instead")


def split_case(text: str) -> tuple[Path, str | None]:
    """Splits `FILE#ID`, where either may hold a # itself; a file of that whole name is taken as it is."""
    if "#" not in text or Path(text).exists():
        return shipped_path(text), None
    marks = [at for at, letter in enumerate(text) if letter == "#"]
    behind = next((at for at in marks if at and shipped_path(text[:at]).exists()), marks[-1])
    file, case_id = text[:behind], text[behind + 1 :]
    if not file or not case_id:
        raise BadInput(
            f"the case {text!r} lacks {'an id behind' if file else 'a file before'} the '#'; give FILE#ID or FILE"
        )
    return shipped_path(file), case_id


def cases_named(
    text: str, layout: str | None, *, strict: bool = False, needs: Callable[[Case], str] | None = None
) -> list[Case]:
    """Returns the case of `FILE#ID`, or all cases of `FILE` that can be used; `needs` says what one lacks."""
    path, case_id = split_case(text)
    if case_id is None:
        return read_case_file(path, layout=layout, strict=strict, needs=needs)
    case = find_case(path, case_id, layout=layout)
    if needs is not None and (problem := needs(case)):
        raise BadInput(f"case {case.id!r}: {problem}", path=path)
    return [case]


def case_named(text: str, layout: str | None) -> Case:
    """Returns the case of `FILE#ID`; an id may be left out where the file holds one case."""
    cases = cases_named(text, layout)
    if len(cases) != 1:
        such = f", such as {text}#{cases[0].id}" if cases else ""
        raise BadInput(f"{text} holds {len(cases)} cases; name one, FILE#ID{such}")
    return cases[0]
