"""A command that has one part of what is asked, as one of several processes: where it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyclinic.errors import PolyclinicError

if TYPE_CHECKING:
    from polyclinic.run.options import RunOptions


class PartDone(PolyclinicError):
    """A command that had one part of the items is done; what its models answered is what is wanted of it."""


def end_of_part(run: RunOptions, stopped: PolyclinicError | None = None) -> None:
    """Ends a command that had one part of the items.

    Raises:
        PartDone: it had; or what stopped it before its end.
    """
    if run.share is not None:
        raise stopped or PartDone
