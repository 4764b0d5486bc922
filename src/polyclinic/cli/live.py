"""A run that is watched in the browser while it goes on: the pages are served by a process of their own."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from socket import socket
from typing import Annotated

from cyclopts import Group, Parameter

from polyclinic.errors import MissingExtra, UserError
from polyclinic.run.options import between
from polyclinic.settings import setting
from polyclinic.stopping import Unheard
from polyclinic.terminal.screen import note

_WATCHING = Group("Watching", sort_key=9)

Live = Annotated[
    bool,
    Parameter(negative="", group=_WATCHING, help="Show the run in the browser until Ctrl-C."),
]
Port = Annotated[
    int,
    between(0, 65_535),
    Parameter(help="Port of the pages of --live; 0 takes any free one."),
    setting("run"),
]
_NAME = "polyclinic-pages"
PORT = 8765
"""Where the pages are, if nobody says otherwise."""


def need_pages() -> None:
    """Sees to it that the pages can be served."""
    if importlib.util.find_spec("starlette") is None or importlib.util.find_spec("uvicorn") is None:
        raise MissingExtra("the server of the pages is not installed: pip install 'polyclinic[web]'")


def where_kept(out: Path | None, *, live: bool, several: bool) -> Path | None:
    """Returns where a run is kept: as somebody said, or, where it is only watched, in a new folder."""
    if live and several:
        raise UserError("--live watches one run; leave out --replicas")
    return Path(tempfile.mkdtemp(prefix="polyclinic-")) / "run" if live and out is None else out


def watch(folder: Path | None, port: int) -> None:
    """Begins to serve a run that begins or goes on; None serves nothing."""
    if folder is None:
        return
    need_pages()
    from polyclinic.web.server import address, bound  # noqa: PLC0415

    host = "127.0.0.1"
    with bound(host, port) as taken:
        # A process of its own, so that watching takes no time from the run; it reads the run's file.
        context = multiprocessing.get_context("spawn")
        server = context.Process(target=_serve, args=(folder, host, taken), name=_NAME, daemon=True)
        with Unheard():
            server.start()
        note(f"Watch it at {address(taken, host, page='town')}")


def stay() -> None:
    """Waits for Ctrl-C after a watched run, so that its pages stay."""
    for server in multiprocessing.active_children():
        if server.name == _NAME:
            note("The run is over; its pages stay until Ctrl-C.")
            with suppress(KeyboardInterrupt):
                server.join()


def _serve(folder: Path, host: str, taken: socket) -> None:
    from polyclinic.web.server import serve  # noqa: PLC0415
    from polyclinic.web.serving import Serving  # noqa: PLC0415

    threading.Thread(target=_end_with_the_run, daemon=True).start()
    serve(Serving([folder], host=host), taken)


def _end_with_the_run() -> None:
    if (run := multiprocessing.parent_process()) is not None:
        run.join()
    os._exit(0)
