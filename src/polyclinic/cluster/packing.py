"""The folder that a job brings home, as one compressed file on its way."""

from __future__ import annotations

import io
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path

from polyclinic.cluster.jobs import WorkerLost
from polyclinic.errors import BadInput


def pack(folder: Path) -> bytes:
    """Returns a folder with all that is in it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=3) as tar:
        tar.add(folder, arcname=".")
    return packed.getvalue()


def unpack(packed: bytes, folder: Path) -> None:
    """Puts a folder that came from a worker in the place of what was heard of it before.

    Raises:
        WorkerLost: it holds something else than folders and files of its own.
        BadInput: the folder cannot be written.
    """
    if not packed:
        return
    beside = folder.with_name(f".{folder.name}.coming")
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        members = tar.getmembers()
        for member in members:
            inside = (beside / member.name).resolve().is_relative_to(beside.resolve())
            if not inside or not (member.isfile() or member.isdir()):
                raise WorkerLost(f"what a worker brings holds {member.name!r}, which is no file of its folder")
        shutil.rmtree(beside, ignore_errors=True)
        try:
            _write_members(tar, members, beside)
            shutil.rmtree(folder, ignore_errors=True)
            beside.rename(folder)
        except OSError as error:
            raise BadInput(f"cannot be written ({error.strerror or error})", path=folder) from None
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def _write_members(tar: tarfile.TarFile, members: Sequence[tarfile.TarInfo], to: Path) -> None:
    # The filters of tarfile came with 3.11.4.
    for member in members:
        if member.isdir():
            (to / member.name).mkdir(parents=True, exist_ok=True)
        elif (content := tar.extractfile(member)) is not None:
            path = to / member.name
            path.parent.mkdir(parents=True, exist_ok=True)
            with content, path.open("wb") as file:
                shutil.copyfileobj(content, file)
