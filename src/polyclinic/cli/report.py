"""`polyclinic report`: what came of a run of the hospital, as a page with pictures, or its log for other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from polyclinic.cli.minds import JsonOption


def report(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a run, as 'polyclinic run --out' makes it.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Where to write; by default report.html, or the log, in the run's folder."
        ),
    ] = None,
    export: Annotated[
        Literal["jsonl", "parquet", "csv"] | None,
        typer.Option("--export", help="Write the log in this layout, in place of the report."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Report on a run of the hospital: one HTML file with pictures and tables, also while the run goes on."""
    from polyclinic.files import check_writable, write_text
    from polyclinic.hospital.record.export import Layout
    from polyclinic.hospital.record.export import export as write
    from polyclinic.hospital.record.recorded import RecordedRun
    from polyclinic.hospital.record.report import figures, page
    from polyclinic.terminal.screen import console, print_json

    with RecordedRun(run) as recorded:
        if export is not None:
            path = out or run / f"happenings.{export}"
            n = write(recorded, path, Layout(export))
            if json:
                print_json({"file": str(path), "happenings": n})
            else:
                console().print(f"{n} happenings: {path}")
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
