"""What tells whether a thing is what was stored: it finds damage, not forgery.

Rows and documents have a seal of eight bytes beside them. Text files have a line in the file `SHA256SUMS` of their
folder, which `sha256sum -c SHA256SUMS` checks too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from polyclinic.errors import BadInput

SUMS = "SHA256SUMS"

SEAL_BYTES = 8
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def seal(value: bytes) -> bytes:
    """Returns what tells a document from one that was changed."""
    return hashlib.blake2b(value, digest_size=SEAL_BYTES).digest()


def row_seal(*row: object) -> int:
    """Returns what tells a row of a table from one that was changed; of rows in any order the sum is taken."""
    return int.from_bytes(seal(repr(row).encode()))


def sums_of(folder: Path, names: Iterable[str]) -> str:
    """Returns a line for each of these files of a folder that is there, by which `check_sum` knows it again.

    Lines that the folder has of other files stay.
    """
    kept = (folder / SUMS).read_bytes().decode(errors="replace") if (folder / SUMS).is_file() else ""
    sums = {said[2]: said[1] for line in kept.splitlines() if (said := _LINE.fullmatch(line))}
    sums |= {name: _sha256(folder / name) for name in names if (folder / name).is_file()}
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums) if (folder / name).is_file())


def has_sum(path: Path) -> bool:
    """Whether a file is one of those whose sums its folder has, or holds these sums."""
    sums = path.parent / SUMS
    try:
        lines = sums.read_bytes().decode(errors="replace").splitlines() if sums.is_file() else []
    except OSError:
        return False
    named = {said[2] for line in lines if (said := _LINE.fullmatch(line))}
    return path.name in named or (path.name == SUMS and bool(named))


def check_sum(path: Path) -> None:
    """Checks that a file is what was written, where the sums of its folder name it.

    Raises:
        BadInput: it is not, or the sums are none.
    """
    sums = path.parent / SUMS
    if not sums.is_file():
        return
    try:
        lines = sums.read_bytes().decode(errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            if not (said := _LINE.fullmatch(line)):
                raise BadInput("not a sum and the name of a file", path=sums, line=number)
            if said[2] == path.name and said[1] != _sha256(path):
                problem = f"is not what was written: its sha256 is not that in {SUMS}"
                raise BadInput(f"{problem}; take {SUMS} away to read it as it is", path=path)
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
