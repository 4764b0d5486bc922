"""How many more can be served in each area, and which areas are out of order."""

from __future__ import annotations

from collections.abc import Mapping


class Places(dict[str, int]):
    """Free places by area; one that is out of order has none, though nobody in it is sent away."""

    def __init__(self, places: Mapping[str, int]) -> None:
        super().__init__(places)
        self._shut: dict[str, int] = {}  # until when, by area

    def has(self, area: str) -> bool:
        """Whether somebody more can be served in an area."""
        return self.get(area, 0) > 0 and self.is_open(area)

    def is_open(self, area: str) -> bool:
        """Whether an area is in order."""
        return area not in self._shut

    def shut(self, area: str, until: int) -> None:
        """Nobody is called in an area until a time, at which it is to be opened again."""
        self._shut[area] = max(until, self._shut.get(area, 0))

    def reopen(self, area: str, now: int) -> bool:
        """Opens an area again, where nothing else keeps it shut; returns whether it is open."""
        if self._shut.get(area, now) > now:
            return False
        self._shut.pop(area, None)
        return True

    def open_from(self, area: str, t: int) -> int:
        """Returns when what would be done in an area at a time is done."""
        return max(t, self._shut.get(area, t))
