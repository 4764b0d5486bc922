"""One case of a file, as `FILE#ID` names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import find_case, read_cases
from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import BadInput
from polyclinic.run.case_files import read_case_file


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
    path, case_id = split_case(text)
    if case_id is not None:
        return find_case(path, case_id, layout=layout)
    cases = list(read_cases(path, layout=layout))
    if len(cases) != 1:
        such = f", such as {text}#{cases[0].id}" if cases else ""
        raise BadInput(f"{text} holds {len(cases)} cases; name one, FILE#ID{such}")
    return cases[0]
