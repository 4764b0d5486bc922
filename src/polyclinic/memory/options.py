"""What the command line takes of a memory; light, as every command that might take one imports it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from polyclinic.errors import UserError
from polyclinic.settings import setting

NEAREST = 3  # So many records, and so many principles, come to mind in the paper's hospital (§5.1.3)
_MOST = 10  # The paper tunes both numbers from 0 to 10 (§6.2)


@dataclass(frozen=True, kw_only=True)
class MemoryOptions:
    """What doctors remember; a value that cannot be used is a `UserError`."""

    # The command line makes its options from these, and says what stands below each.

    memory: Path | None = None
    """Memory of the doctors: the folder of 'polyclinic evolve --out', or DIR@2000 after 2,000 patients."""
    k_records: Annotated[int | None, setting("memory")] = None
    """Number of records to recall, 0 to 10."""
    k_experience: Annotated[int | None, setting("memory")] = None
    """Number of principles to recall, 0 to 10."""

    def __post_init__(self) -> None:
        for option, value in (("memory.k-records", self.k_records), ("memory.k-experience", self.k_experience)):
            if value is not None and self.memory is None:
                raise UserError(f"{option} has no effect without a memory; it needs --memory DIR, or leave it out")
            if value is not None and not 0 <= value <= _MOST:
                raise UserError(f"{option} {value}; allowed: 0 to {_MOST}")
        if self.wanted() == (0, 0):
            raise UserError(
                "memory.k-records 0 and memory.k-experience 0 leave nothing of the memory; at most one of them"
            )

    def wanted(self) -> tuple[int, int]:
        """Returns how many records and principles come to mind."""
        return (
            NEAREST if self.k_records is None else self.k_records,
            NEAREST if self.k_experience is None else self.k_experience,
        )


FORGETFUL = MemoryOptions()
