"""`polyclinic eval`: published evaluations, run."""

from __future__ import annotations

import typer

from polyclinic.cli.exams import EXAMS, exam_command

app = typer.Typer(help="Run an evaluation.", no_args_is_help=True)
for name in EXAMS:
    app.command(name)(exam_command(name))
