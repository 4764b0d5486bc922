"""What links names to ICD-10, by language."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from pathlib import Path

from polyclinic.language.language import Language
from polyclinic.metrics.icd.linking import Linker, Titles
from polyclinic.metrics.icd.nearest import NearestTitles
from polyclinic.metrics.icd.tables import IcdEntry, english_entries, read_entries


def linkers_for(
    languages: Collection[Language], table: Path | None, *, nearest: bool = False
) -> dict[Language, Linker]:
    """Returns what links names to ICD-10, by language; nothing for Chinese where no table of its titles is given.

    With `nearest` names are compared by their ten nearest titles, as AI Hospital's authors do.

    Raises:
        BadInput: the table cannot be used.
        MissingExtra: what reads a table is not installed.
    """
    linkers: dict[Language, Linker] = {}
    if "en" in languages:
        linkers["en"] = _around(english_entries(), _english_titles(), nearest=nearest)
    if table is not None:
        entries = read_entries(table)
        linkers["zh"] = _around(entries, Titles(entries), nearest=nearest)
    return linkers


def _around(entries: Sequence[IcdEntry], titles: Titles, *, nearest: bool) -> Linker:
    return NearestTitles(entries, titles.link_all).link_all if nearest else titles.link_all


@functools.cache
def _english_titles() -> Titles:
    """Returns the English titles; they take a second to file."""
    return Titles(english_entries())
