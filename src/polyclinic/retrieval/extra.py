"""Libraries of the extra `retrieval`, imported when they are first needed."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

from polyclinic.errors import MissingExtra


@lru_cache(maxsize=8)
def library(module: str, what: str, *, extra: str = "retrieval") -> Any:
    """Returns a module; `what` says what it is for, and `extra` with which of ours it comes.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise MissingExtra(f"{name}, which {what}, is not installed: pip install 'polyclinic[{extra}]'") from None
