"""A run that is watched in the browser while it goes on: the pages are served by a process of their own."""

from __future__ import annotations

import importlib.util
import multiprocessing
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import socket
from typing import Annotated

from cyclopts import Group, Parameter

from polyclinic.cli.options import between
from polyclinic.errors import MissingExtra, UserError
from polyclinic.terminal.screen import note

_WATCHING = Group("Watching", sort_key=9)

Live = Annotated[
    bool,
    Parameter(negative="", group=_WATCHING, help="Watch the run in the browser; the pages stay until Ctrl-C."),
]
Port = Annotated[
    int,
    between(0, 65_535),
    Parameter(group=_WATCHING, help="Of the pages of --live; 0 takes any that is free."),
]
PORT = 8765
"""Where the pages are, if nobody says otherwise."""


def need_pages() -> None:
    """Sees to it that the pages can be served.

    Raises:
        MissingExtra: what serves them is not installed.
    """
    if importlib.util.find_spec("starlette") is None or importlib.util.find_spec("uvicorn") is None:
        raise MissingExtra("the server of the pages is not installed: pip install 'polyclinic[web]'")


def where_kept(out: Path | None, *, live: bool, several: bool) -> Path | None:
    """Returns where a run is kept: as somebody said, or, where it is only watched, in a new folder.

    Raises:
        UserError: several runs are to be watched.
    """
    if live and several:
        raise UserError("--live watches one run; leave out --replicas")
    return Path(tempfile.mkdtemp(prefix="polyclinic-")) / "run" if live and out is None else out


@contextmanager
def watched(folder: Path | None, port: int) -> Iterator[None]:
    """Serves a run while it goes on, and afterwards until Ctrl-C; None serves nothing.

    Raises:
        UserError: the port is in use.
        MissingExtra: what serves the pages is not installed.
    """
    if folder is None:
        yield
        return
    need_pages()
    from polyclinic.web.server import address, bound  # noqa: PLC0415

    host = "127.0.0.1"
    with bound(host, port) as taken:
        # Of its own, so that whoever looks never takes time from the run; it reads the run from its file.
        server = multiprocessing.get_context("spawn").Process(target=_serve, args=(folder, host, taken), daemon=True)
        server.start()
        where = address(taken, host, page="town")
    note(f"Watch it at {where}")
    try:
        yield
        note(f"The run is over; its pages stay at {where} until Ctrl-C.")
        server.join()
    except KeyboardInterrupt:
        if server.is_alive():
            server.join(2)
        raise
    finally:
        server.terminate()


def _serve(folder: Path, host: str, taken: socket) -> None:
    from polyclinic.web.server import serve  # noqa: PLC0415
    from polyclinic.web.serving import Serving  # noqa: PLC0415

    with suppress(KeyboardInterrupt):
        serve(Serving([folder], host=host), taken)
