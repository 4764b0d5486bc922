"""Shortest ways through a hospital's areas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from polyclinic.hospital.plan.plan import Area


class Way(NamedTuple):
    """A way from one area to another."""

    path: tuple[str, ...]  # the areas, first and last among them
    reached: tuple[int, ...]  # seconds from setting out until each of them is reached

    @property
    def seconds(self) -> int:
        """How long the whole way takes."""
        return self.reached[-1]


class Ways:
    """Finds ways and areas; each is looked for once."""

    def __init__(self, areas: Mapping[str, Area]) -> None:
        self._areas = areas
        self._found: dict[str, dict[str, Way]] = {}

    def find(self, start: str, end: str) -> Way:
        """Returns the shortest way; of equally short ones, the first by the areas' ids."""
        if start not in self._found:
            self._found[start] = self._from(start)
        try:
            return self._found[start][end]
        except KeyError:
            raise ValueError(f"no way leads from {start} to {end}") from None

    def nearest(self, start: str, areas: Iterable[str]) -> str | None:
        """Returns the nearest of some areas, the first of those that are equally near; None of none."""
        return min(areas, key=lambda id: self.find(start, id).seconds, default=None)

    def _from(self, start: str) -> dict[str, Way]:
        found: dict[str, Way] = {}
        heap: list[tuple[int, tuple[str, ...], tuple[int, ...]]] = [(0, (start,), (0,))]
        while heap:
            seconds, path, reached = heappop(heap)
            if path[-1] in found:
                continue
            found[path[-1]] = Way(path, reached)
            for other, more in self._areas[path[-1]].ways.items():
                if other not in found:
                    heappush(heap, (seconds + more, (*path, other), (*reached, seconds + more)))
        return found
