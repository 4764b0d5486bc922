"""`polyclinic score`: scores of dialogues that were recorded, here or elsewhere."""

from __future__ import annotations

import typer

from polyclinic.cli.score_director import director
from polyclinic.cli.score_icd import icd

app = typer.Typer(help="Score dialogues and reports that were recorded.", no_args_is_help=True)

app.command("director")(director)

app.command()(icd)
