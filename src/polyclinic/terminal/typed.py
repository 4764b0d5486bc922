"""What a person types, line by line."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from typing import TextIO


class TypedLines:
    """Standard input, read without holding up what else goes on."""

    def __init__(self) -> None:
        self._pipe: asyncio.StreamReader | None = None
        self._is_open = False

    async def read(self) -> str:
        """Returns the next line; "" at the end."""
        if not self._is_open:
            self._is_open = True
            if _can_be_waited_for(sys.stdin):
                pipe = asyncio.StreamReader()
                loop = asyncio.get_running_loop()
                await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(pipe), sys.stdin)
                self._pipe = pipe
        if self._pipe is None:
            return sys.stdin.readline()
        return (await self._pipe.readline()).decode(errors="replace")


def _can_be_waited_for(file: TextIO) -> bool:
    """Whether its next line is still to come; a file, or nothing at all, answers at once."""
    try:
        kind = os.fstat(file.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return file.isatty() or stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)
