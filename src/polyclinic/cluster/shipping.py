"""Files that a command names, for machines that may not have them."""

from __future__ import annotations

import re
from pathlib import Path

from polyclinic.cluster.jobs import Shipped
from polyclinic.errors import UserError

MOST = 256 << 20
"""Bytes of a file that travels with a job; a larger one has to be where the job runs."""

_AROUND = re.compile(r"(?P<before>--[\w-]+=)?(?P<kind>\w+:)?(?P<path>[^#]+?)(?P<after>(?::\w+|#.*)?)")
"""`--option=scripted:FILE`, `FILE.py:NAME`, `FILE#ID`."""


def shipped(word: str) -> str | Shipped:
    """Returns a word of a command with the file that it names, where it names one; else as it is.

    Raises:
        UserError: the file is too large to travel.
    """
    for before, path, after in _readings(word):
        try:
            if not path or not Path(path).is_file():
                continue
            if Path(path).stat().st_size > MOST:
                raise UserError(
                    f"{path} is larger than the {MOST >> 20} MiB that travel with a part; put it on "
                    "every machine under one path that begins with /, or take fewer cases"
                )
            return Shipped(str(Path(path).resolve()), Path(path).read_bytes(), before, after)
        except OSError:
            continue
    return word


def _readings(word: str) -> list[tuple[str, str, str]]:
    found = _AROUND.fullmatch(word)
    whole = [("", word, "")]
    if found is None:
        return whole
    before, kind = found["before"] or "", found["kind"] or ""
    return [*whole, (before + kind, found["path"], found["after"]), (before, kind + found["path"], found["after"])]
