"""Blind sheets: two doctors stand under codes, anew in each item, and a key of its own says who is who.

The key is a file beside the sheet: a row an item, with the codes where the sheet has the doctors, and the doctors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from polyclinic.errors import BadInput
from polyclinic.seeds import derive
from polyclinic.verdicts.forms import form_named
from polyclinic.verdicts.sheets import Sheet
from polyclinic.verdicts.verdict import BLIND, PAIR, Item, Key, rows_of

_DOCTORS = tuple(f"{key}_doctor" for key in PAIR)


def is_blind(form: str) -> bool:
    """Whether a form's sheets are blind: those of two doctors are."""
    return form_named(form).keys[1:] == PAIR


def blinded(sheet: Sheet, *, seed: int) -> tuple[Sheet, list[dict[str, Any]]]:
    """Returns a sheet with codes in the place of doctors, and the rows of its key."""
    items: dict[Item, Mapping[str, str]] = {}
    key: list[dict[str, Any]] = []
    for item, shown in sheet.items.items():
        drawn = derive(seed, "blind", sheet.form, *item)
        codes = tuple(f"{BLIND}{drawn.getrandbits(32):08x}" for _ in PAIR)
        items[item[0], *codes] = shown
        named = zip((*PAIR, *_DOCTORS), (*codes, *item[1:]), strict=True)
        key.append({"form": sheet.form, "case": item[0], **dict(named)})
    return Sheet(sheet.form, items.items()), key


def read_key(paths: Iterable[Path]) -> Key:
    """Reads the keys of blind sheets.

    Raises:
        BadInput: a file cannot be read, or is no key.
    """
    found: dict[str, dict[Item, Item]] = {}
    for path in paths:
        for line, row in rows_of(path):
            said = {field: str(value or "") for field, value in row.items()}
            if missing := [field for field in ("form", "case", *PAIR, *_DOCTORS) if not said.get(field)]:
                problem = f"no {missing[0]!r}; this is no key of a blind sheet, such as 'verdicts export' writes"
                raise BadInput(problem, path=path, line=line)
            case = said["case"]
            item, doctors = ((case, *(said[field] for field in fields)) for fields in (PAIR, _DOCTORS))
            found.setdefault(said["form"], {})[item] = doctors
    return found
