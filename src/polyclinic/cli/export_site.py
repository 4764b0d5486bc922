"""`polyclinic export-site`: a copy of results that opens from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.errors import BadInput, UserError
from polyclinic.run.options import Json
from polyclinic.terminal.screen import note, print_json

_TOLD = 5  # reasons that are printed


def export_site(
    *folders: Annotated[
        Path,
        Parameter(metavar="DIR...", help="Evaluations, runs, recordings and journals, or folders of them."),
    ],
    out: Annotated[Path, Parameter(metavar="DIR", help="A new folder for the copy.")],
    json: Json = False,
) -> None:
    """Writes the copy, and says what is in it."""
    from polyclinic.web.browse.documents import Documents  # noqa: PLC0415
    from polyclinic.web.browse.holdings import Holdings  # noqa: PLC0415
    from polyclinic.web.browse.site import export_site as write  # noqa: PLC0415

    if not folders:
        raise UserError("name a folder: polyclinic export-site DIR --out FOLDER")
    for folder in folders:
        if not folder.is_dir():
            raise BadInput("no such folder; name one that --out of a run made, or a folder of such", path=folder)
    came = write(Documents(Holdings(folders, without=[out, *(folder / "practice" for folder in folders)])), out)
    if json:
        print_json({"folder": str(out), "holdings": came.holdings, "documents": came.documents, "bytes": came.bytes,
                    "left_out": list(came.left_out)})  # fmt: skip
        return
    note(f"{came.holdings:,} results in {came.documents:,} files, {came.bytes / 1e6:,.1f} MB.")
    for problem in came.left_out[:_TOLD]:
        note(f"Left out: {problem}")
    if len(came.left_out) > _TOLD:
        note(f"Left out: {len(came.left_out) - _TOLD} more; --json names them")
    note("The truth of the cases is in it: keep it from whoever is still to be examined on them.")
    note(f"Open it: {out / 'index.html'}")
