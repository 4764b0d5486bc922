"""What `--on` names: processes of this machine, or a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from polyclinic.cluster.jobs import Site
from polyclinic.cluster.processes import LocalProcesses
from polyclinic.cluster.ray_cluster import RayCluster
from polyclinic.cluster.ray_joining import LOCAL, SCHEME
from polyclinic.errors import UserError

PROCESSES = "processes"
ALLOWED = f"{PROCESSES}, {PROCESSES}:N, {LOCAL}, {LOCAL}:N (a cluster on this machine) or {SCHEME}HOST:PORT"


def check_site(name: str) -> None:
    """Refuses what names no place to run; a UserError."""
    kind, _, number = name.partition(":")
    if kind in (PROCESSES, LOCAL) and (not number or (number.isdecimal() and int(number))):
        return
    if not name.startswith(SCHEME):
        raise UserError(f"--on {name!r}; allowed: {ALLOWED}")


@asynccontextmanager
async def open_site(name: str) -> AsyncIterator[Site]:
    """Opens the place that is named, as long as it is needed.

    Raises:
        UserError: there is no such place, or nobody is there.
    """
    check_site(name)
    kind, _, number = name.partition(":")
    workers = int(number) if number.isdecimal() else None
    site: Site
    if kind == PROCESSES:
        site = LocalProcesses(workers or os.cpu_count() or 1)
    else:
        site = await RayCluster.connect(LOCAL if kind == LOCAL and workers else name, workers)
    try:
        yield site
    finally:
        await site.close()
