"""How a file that somebody names is opened: whatever it is, reading it takes bounded time and memory.

A pipe is read, as whoever names one wants that (`<(...)`, `/dev/stdin`); but not where nobody writes to it, nor for
ever; a device is read like a pipe. A socket, a disk and a folder are refused.
"""

from __future__ import annotations

import gzip
import io
import os
import select
import stat
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from polyclinic.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import WriteableBuffer

MAX_FILE_BYTES = 2 * 2**30  # what is read line by line holds no more, nor does what it unpacks to
MAX_PIPE_BYTES = 64 * 2**20  # nobody can say beforehand how much comes through a pipe
MAX_WHOLE_BYTES = 256 * 2**20  # what is read at once holds no more
MAX_WRITTEN_BYTES = 4 * 2**20  # what people write by hand, as TOML or YAML, holds no more: its readers are slow
_WRITER = 10.0  # seconds in which somebody must begin to write to a pipe
_CHUNK = 64 * 2**10
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOCTTY", "O_NONBLOCK"))


def opened(path: Path, *, most: int = MAX_FILE_BYTES) -> io.BufferedReader:
    """Opens a file, or a pipe, to be read; use it with `with`."""
    with ExitStack() as stack:
        try:
            there = path.stat()
            check_kind(path, there)
            is_file = stat.S_ISREG(there.st_mode)
            if is_file and there.st_size > most:
                size = f"the file is {there.st_size / 2**20:,.0f} MiB"
                raise BadInput(f"{size}; at most {most >> 20:,} MiB are read", path=path)
            file = stack.enter_context(open(path, "rb", buffering=0, opener=lambda name, _: os.open(name, _FLAGS)))
            if stat.S_ISFIFO(there.st_mode):
                _wait_for_writer(file.fileno(), path)
            if hasattr(os, "O_NONBLOCK"):
                os.set_blocking(file.fileno(), True)
        except OSError as error:
            raise BadInput(f"cannot be read ({error.strerror})", path=path) from None
        most = most if is_file else min(most, MAX_PIPE_BYTES)
        return io.BufferedReader(_BoundedRead(file.read, stack.pop_all().close, path, most), _CHUNK)


def unpacked(path: Path) -> io.BufferedReader:
    """Opens a file as `opened`; one whose name ends in .gz is unpacked, and bounded by what comes out of it."""
    file = opened(path)
    if path.suffix != ".gz":
        return file
    with ExitStack() as stack:
        stack.enter_context(file)
        unpacking = stack.enter_context(gzip.GzipFile(fileobj=file))
        return io.BufferedReader(_BoundedRead(unpacking.read1, stack.pop_all().close, path, MAX_FILE_BYTES), _CHUNK)


def read_at_once(path: Path, *, most: int = MAX_WHOLE_BYTES) -> bytes:
    """Returns what a file holds."""
    with opened(path, most=most) as file:
        return file.read()


def check_kind(path: Path, found: os.stat_result | None = None) -> None:
    """Checks that a path is a file, a pipe or a device of characters."""
    kind = (found or path.stat()).st_mode
    for is_kind, what in (
        (stat.S_ISDIR, "this is a directory; name a file in it"),
        (stat.S_ISSOCK, "this is a socket, and no file"),
        (stat.S_ISBLK, "this is a disk, and no file"),
    ):
        if is_kind(kind):
            raise BadInput(what, path=path)


def check_regular(path: Path, *, most: int = MAX_FILE_BYTES) -> None:
    """Checks that a path is a regular file of at most so many bytes, for what is read without being named."""
    try:
        found = path.stat()
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None
    if not stat.S_ISREG(found.st_mode):
        raise BadInput("this is no regular file; move it away", path=path)
    if found.st_size > most:
        raise BadInput(f"the file is larger than {most >> 20} MiB, the most that is read of it", path=path)


def _wait_for_writer(pipe: int, path: Path) -> None:
    """Waits until somebody writes to a pipe, or has it open."""
    if not select.select([pipe], [], [], _WRITER)[0]:
        with suppress(BlockingIOError):  # raised if somebody has it open
            os.read(pipe, 1)
            problem = f"nobody has written to this pipe for {_WRITER:g} seconds"
            raise BadInput(f"{problem}; begin to write to it first, or name a file", path=path)


class _BoundedRead(io.RawIOBase):
    """What is read, until so many bytes came."""

    def __init__(self, read: Callable[[int], bytes], close: Callable[[], object], path: Path, most: int) -> None:
        super().__init__()
        self._read, self._close, self._path, self._left, self._most = read, close, path, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        came = self._read(len(view))
        self._left -= len(came)
        if self._left < 0:
            more = f"more than {self._most >> 20} MiB came, the most that is read"
            raise BadInput(f"{more}{'' if self._path.is_file() else ' of a pipe; save it as a file'}", path=self._path)
        view[: len(came)] = came
        return len(came)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._close()
