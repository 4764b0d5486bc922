"""What a person types, line by line."""

from __future__ import annotations

import asyncio
import contextlib
import sys


class TypedLines:
    """Standard input, read without holding up what else goes on."""

    def __init__(self) -> None:
        self._pipe: asyncio.StreamReader | None = None
        self._is_open = False

    async def read(self) -> str:
        """Returns the next line; "" at the end."""
        if not self._is_open:
            self._is_open = True
            pipe = asyncio.StreamReader()
            # A file answers at once, and cannot be waited for.
            with contextlib.suppress(ValueError):
                loop = asyncio.get_running_loop()
                await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(pipe), sys.stdin)
                self._pipe = pipe
        if self._pipe is None:
            return sys.stdin.readline()
        return (await self._pipe.readline()).decode(errors="replace")
