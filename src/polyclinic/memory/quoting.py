"""Text of a memory in a prompt: it stands between rows of equals signs, which it cannot write itself."""

from __future__ import annotations

import re

_MARKS = re.compile(r"={3,}")


def quoted(text: str) -> str:
    """Returns a text on one line, without what could pass for a mark."""
    return unmarked(" ".join(text.split()))


def unmarked(text: str) -> str:
    """Returns a text without what could pass for a mark."""
    return _MARKS.sub("=", text)
