"""`polyclinic cases convert`: case files of any layout in another one."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import write_cases
from polyclinic.cases.writers import WRITERS, losses
from polyclinic.cases.writers.fhir import check_valid
from polyclinic.errors import MissingExtra
from polyclinic.files import json_lines, write_text
from polyclinic.run.case_files import read_case_file
from polyclinic.run.options import CASE_FILE, Force, Json, Layout, NewFile, Strict, check_new
from polyclinic.terminal.screen import note, print_json
from polyclinic.terminal.tables import counted


def convert(
    file: Annotated[str, CASE_FILE],
    /,
    *,
    to: Annotated[
        Literal["agentclinic", "fhir", "polyclinic"],
        Parameter(help="The layout to write: AgentClinic's examinations, FHIR R4 bundles, or polyclinic's own."),
    ],
    out: Annotated[NewFile, Parameter(help="Where to write the cases, one a line.")],
    layout: Layout = None,
    strict: Strict = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Writes the cases in another layout, and says what that layout has no place for."""
    check_new(out, force=force)
    cases = read_case_file(file, layout=layout, strict=strict)
    lost = losses(cases, to)
    checked = _write(cases, to, out)
    if json:
        print_json({"cases": len(cases), "to": to, "file": str(out), "lost": lost, "valid": checked})
        return
    kept = "; what was read is what was written" if not lost else ""
    valid = ", all valid FHIR R4" if checked else ""
    note(f"{counted(len(cases), 'case')} in layout {to}{valid}: {out}{kept}")
    if lost:
        parts = ", ".join(f"{place} ({n})" for place, n in sorted(lost.items(), key=lambda one: (-one[1], one[0])))
        note(f"Lost, or not the same when read again, with the number of cases: {parts}")


def _write(cases: list[Case], to: str, out: NewFile) -> bool | None:
    """Writes the cases, and returns whether they were found valid; None where nothing says what is."""
    if to == "polyclinic":
        write_cases(out, cases)
        return None
    records = [WRITERS[to](case) for case in cases]
    checked = None
    if to == "fhir":
        try:
            for record in records:
                check_valid(record)
            checked = True
        except MissingExtra as missing:
            note(f"The bundles are not checked: {missing}")
    write_text(out, json_lines(records))
    return checked
