"""`polyclinic serve`: the pages."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from polyclinic.cli import options
from polyclinic.cli.chair_options import CHAIR, ChairOptions
from polyclinic.cli.live import PORT, need_pages
from polyclinic.cli.options import between
from polyclinic.errors import BadInput
from polyclinic.files import no_folder
from polyclinic.terminal.screen import note

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def serve(
    folders: Annotated[
        list[Path] | None,
        Parameter(name="DIR", help="Runs, evaluations, recordings, or folders of them; the current folder by default."),
    ] = None,
    /,
    *,
    port: Annotated[int, between(0, 65_535), Parameter(help="0 takes any that is free.")] = PORT,
    host: Annotated[
        str, Parameter(help="This machine alone by default; 0.0.0.0 for others too, who then need the printed token.")
    ] = "127.0.0.1",
    chair: ChairOptions = CHAIR,
    models: options.Models = options.MODELS,
) -> None:
    """Serves the pages until Ctrl-C."""
    need_pages()
    from polyclinic.web.browse.holdings import Holdings  # noqa: PLC0415
    from polyclinic.web.practice import PracticeTaken  # noqa: PLC0415
    from polyclinic.web.server import address, bound  # noqa: PLC0415
    from polyclinic.web.server import serve as serve_pages  # noqa: PLC0415
    from polyclinic.web.serving import Serving  # noqa: PLC0415

    shown = folders or [Path()]
    for folder in shown:
        if not folder.is_dir():
            raise BadInput(f"{no_folder(folder)}; name a run, or a folder of runs", path=folder)
    token = "" if host in _LOOPBACK else secrets.token_urlsafe(18)
    serving = Serving(
        shown,
        host=host,
        token=token,
        practice=chair.practice_folder(),
        cases=chair.case_files(),
        exams=chair.exam_files(),
        players=chair.players(models),
    )
    if serving.practice.is_dir():
        try:
            serving.hold_practice()
        except PracticeTaken as taken_already:
            note(f"{serving.practice}: {taken_already}. Until then the pages show, and keep nothing.")
    with bound(host, port) as taken:
        if not serving.shelf.look():
            there = Holdings(shown, without=[serving.practice]).look()
            note(
                "There is no run of the hospital here; what else there is stands on the page Results."
                if there
                else "There is no run here yet; polyclinic run --out DIR makes one."
            )
        note(f"The pages are at {address(taken, host, token=token)}  (Ctrl-C ends)")
        serve_pages(serving, taken)
        note("The pages are closed.")
