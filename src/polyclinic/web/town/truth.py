"""What of a log nobody on the map is told before the truth is asked for: diseases, what would be right, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

_HIDDEN = frozenset({"case", "disease", "severity", "cause", "right", "recognised"})
_ALSO = {"fell ill": frozenset({"department"}), "got worse waiting": frozenset({"level"})}

T = TypeVar("T")


def without_truth(fields: Mapping[str, T], what: str = "") -> dict[str, T]:
    """Returns the fields of something that happened, without those that tell what is so.

    Args:
        fields: by name.
        what: its tag, as the log has it; "" for a visit in one line.
    """
    also = _ALSO.get(what, frozenset())
    return {
        name: value
        for name, value in fields.items()
        if name not in _HIDDEN and name not in also and not name.startswith("right_")
    }
