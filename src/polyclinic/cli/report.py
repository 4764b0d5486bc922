"""`polyclinic report`: what came of a run of the hospital, as a page with pictures, or its log for other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.cli.options import FILE, Json
from polyclinic.files import check_writable, write_text
from polyclinic.hospital.record.export import LogLayout
from polyclinic.hospital.record.export import export as write
from polyclinic.hospital.record.recorded import RecordedRun
from polyclinic.hospital.record.report import figures, page
from polyclinic.terminal.screen import console, print_json


def report(
    run: Annotated[Path, Parameter(help="The folder of a run, as 'polyclinic run --out' makes it.")],
    /,
    *,
    out: Annotated[
        Path | None, FILE, Parameter(help="Where to write; by default report.html, or the log, in the run's folder.")
    ] = None,
    export: Annotated[
        LogLayout | None,
        Parameter(
            metavar="LAYOUT", help="Write the log in this layout, in place of the report; vidigi: as vidigi 2 reads it."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Writes the report, or the log, and prints what stands in it."""
    with RecordedRun(run) as recorded:
        if export is not None:
            path = out or run / export.file
            n = write(recorded, path, export)
            if json:
                print_json({"file": str(path), "happenings": n})
            else:
                console().print(f"{n} {'rows' if export is LogLayout.VIDIGI else 'happenings'}: {path}")
            return
        path = out or run / "report.html"
        wanted = out is not None or not json
        if wanted:
            check_writable(path)
        found = figures(recorded)
        if wanted:
            write_text(path, page(found, configuration=recorded.configuration))
    if json:
        print_json(found)
        if wanted:
            console(sys.stderr).print(f"report: {path}")
    else:
        console().print(f"{found.summary.arrived} visits over {len(found.series.days)} days: {path}")
