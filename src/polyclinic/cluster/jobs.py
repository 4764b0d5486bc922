"""A part of a command, what is heard of it, and the interface of whatever runs it.

A job is a command of polyclinic in a process of its own. It works in a folder of its own, which may be on another
machine: the answers that its models gave come as they are stored there, and what it wrote comes at its end. A worker
that dies loses the job, and not the answers: the next worker is given them. Nor does a command that dies: what its
workers answered lies where they are, until it is given again.
"""

from __future__ import annotations

import io
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from polyclinic.errors import BadInput
from polyclinic.models.journal_parts import JournalRow
from polyclinic.models.model import Usage
from polyclinic.parallel.shipping import Shipped, shipped
from polyclinic.parallel.sites import ClusterLost, WorkerLost

__all__ = ["ClusterLost", "Shipped", "WorkerLost", "shipped"]


@dataclass(frozen=True)
class Here:
    """A word of a command that names a file or a folder in the job's own folder."""

    path: str


@dataclass(frozen=True, kw_only=True)
class ClusterJob:
    """A command in a process of its own.

    Attributes:
        name: of the part, for people.
        words: of the command, without `polyclinic`.
        folder: the working directory that is meant by paths that are relative; taken where it is there.
        answers: the file in the job's folder to which what was answered before is given.
        tails: which files in the job's folder hold what its models answer, as a pattern.
        brings: the folder in the job's folder that comes back at the end; "" for none.
        environment: variables for the process, such as keys; they are never printed.
        kept: names the command that it is of, the same when that is given again; what was answered then lies where it
            was, should whoever gave the job be gone (`Site.left`). "" where nobody would want it.
    """

    name: str
    words: Sequence[str | Here | Shipped]
    folder: str
    answers: str
    tails: str
    brings: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    kept: str = ""


@dataclass(frozen=True)
class AnswersCame:
    """Answers that were stored since the last news."""

    rows: Sequence[JournalRow]


@dataclass(frozen=True)
class Advanced:
    """How much of the job is done, of how much."""

    done: int
    total: int


@dataclass(frozen=True)
class Warned:
    """A line that the command wrote for people while it went on."""

    line: str


@dataclass(frozen=True)
class JobEnded:
    """The command has ended.

    Attributes:
        code: its exit code.
        said: the last line that it wrote for people.
        brought: the folder that comes back, as a compressed tar file; empty for none.
        spent: what its models were asked for by it; what they had answered before is not in it.
    """

    code: int
    said: str = ""
    brought: bytes = b""
    spent: Usage = field(default_factory=Usage)


News = AnswersCame | Advanced | Warned | JobEnded


class Working(Protocol):
    """A job that is under way."""

    async def news(self) -> Sequence[News]:
        """Returns what happened since it was last asked for, and waits a moment where nothing did.

        Raises:
            WorkerLost: whoever had the job is gone.
            ClusterLost: all are.
        """

    async def divide(self, of: int) -> None:
        """Tells the job among how many what endpoints take a minute is divided from now on."""

    async def stop(self) -> Sequence[JournalRow]:
        """Ends the job, and returns the answers that were not heard of yet."""

    async def release(self) -> None:
        """Lets go of a job that has ended, been stopped or lost, when all that was heard of it is stored."""


class Site(Protocol):
    """Where jobs run."""

    name: str
    workers: int
    """How many jobs run at a time."""

    ships: bool
    """Whether the files that a job names may not be there."""

    async def begin(self, job: ClusterJob, answered: Sequence[JournalRow], *, of: int) -> Working:
        """Has a job begun by a worker that is free, with what was answered before, as one of so many at once.

        Raises:
            WorkerLost: there was one, and it is gone.
            ClusterLost: all are gone.
        """

    async def left(self, kept: str) -> Mapping[str, Sequence[JournalRow]]:
        """Returns what was answered for a command that was killed and is given again, by the name of the job.

        Raises:
            UserError: it is still under way.
        """

    async def forget(self, kept: str) -> None:
        """Lets go of what was answered for a command."""

    async def close(self) -> None:
        """Lets go of the workers."""


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
