"""The figures of what was run: from `polyclinic.results`, each table made once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.errors import UserError
from polyclinic.results.comparing import compare_results
from polyclinic.results.folder import RECORD, decoded
from polyclinic.results.joining import join
from polyclinic.results.provenance import command_words, without_secrets
from polyclinic.results.reading import RunResults, read_results
from polyclinic.statistics.uncertainty import wilson
from polyclinic.web.browse.holdings import LEARNING, SUMMARY, Holding, NothingHere

_LONGEST = 500  # letters of a setting that is told; a whole hospital is none that anybody reads in a line
_TASKS = ("examination", "diagnosis", "treatment")


def has_results(one: Holding) -> bool:
    """Whether a holding has items and a table of them."""
    if one.holds == "learning" and not (one.path / SUMMARY).is_file():
        return False  # of an earlier version: the file that is called so is the curve
    return one.holds == "evaluation" or (one.holds in ("hospital", "learning") and (one.path / RECORD).is_file())


def is_readable(one: Holding) -> bool:
    """Whether it has items that can be read."""
    try:
        return bool(results(one).rows)
    except UserError:
        return False


def results(one: Holding) -> RunResults:
    """Returns what was run, and its items.

    Raises:
        NothingHere: it has none.
        BadInput: they cannot be read.
    """
    if not has_results(one):
        raise NothingHere("that has no items")
    return _read(one.path, one.changed)


@lru_cache(maxsize=256)
def _read(folder: Path, _: float) -> RunResults:
    return read_results(folder)[0]


def same_item(one: Holding) -> dict[tuple[str, str], list[int]]:
    """Returns the places of all rows of an item, by its set and itself."""
    return _same_item(one.path, one.changed)


@lru_cache(maxsize=16)
def _same_item(folder: Path, changed: float) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for place, row in enumerate(_read(folder, changed).rows):
        found.setdefault((row.set, row.item), []).append(place)
    return found


def record(found: RunResults) -> dict[str, Any]:
    """Returns what a run was, without anything secret."""
    told: dict[str, Any] = without_secrets(msgspec.to_builtins(found.record))
    settings = told.get("configuration", {})
    told["configuration"] = {name: value for name, value in settings.items() if len(str(value)) <= _LONGEST}
    told["command"] = command_words(found.record.command)
    return told


Held = tuple[tuple[Path, float], ...]
"""Folders of results, and when each was changed."""


def held(holdings: Iterable[Holding]) -> Held:
    """Returns what tables are made of."""
    return tuple((one.path, one.changed) for one in holdings)


def table(held: Held) -> dict[str, Any]:
    """Returns the table of some results, and what its measures are."""
    found = [_read(*one) for one in held]
    units = {one.name: msgspec.to_builtins(one) for each in found for one in each.record.measures}
    return {"table": _joined(held), "measures": units}


@lru_cache(maxsize=64)
def _joined(held: Held) -> Any:
    found = [one for one in (_read(*one) for one in held) if one.rows]
    return msgspec.to_builtins(join(found)) if found else {"rows": [], "measures": [], "notes": []}


@lru_cache(maxsize=64)
def compared(held: Held) -> dict[str, Any]:
    """Returns every two entrants held against each other, or why none are."""
    found = [one for one in (_read(*one) for one in held) if one.rows]
    try:
        return {"rows": msgspec.to_builtins(compare_results(found).rows) if found else [], "problem": ""}
    except UserError as error:
        return {"rows": [], "problem": str(error)}


def learning(folder: Path) -> dict[str, Any]:
    """Returns a learning curve, with an interval of 95 % at each test."""
    file = folder / SUMMARY if (folder / SUMMARY).is_file() else folder / RECORD
    told = decoded(file, dict[str, Any], "what came of a practice")
    n = sum(one.get("n", 0) for one in told.get("by_disease", {}).values())
    for point in told.get("curve", ()):
        point["intervals"] = {task: wilson(point[task] / 100 * n, n) for task in _TASKS if n and task in point}
    return {"learning": without_secrets(told), "tests": n,
            "settings": without_secrets(decoded(folder / LEARNING, dict[str, Any], "settings"))}  # fmt: skip
