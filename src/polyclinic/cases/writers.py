"""Cases in layouts of others, for programs of others; and what a layout has no place for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import layouts
from polyclinic.errors import BadInput, MissingExtra, in_short


def writers() -> dict[str, Callable[[Case], dict[str, Any]]]:
    """Returns what makes a record of a case, by the layouts that cases can be written in."""
    return {layout.name: layout.write for layout in layouts().values() if layout.write is not None}


def check_valid(bundle: dict[str, Any]) -> None:
    """Refuses what is no valid bundle of FHIR R4 (R4B, which changes nothing in these resources)."""
    try:
        from fhir.resources.R4B import get_fhir_model_class  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("what checks FHIR is not installed: pip install 'polyclinic[fhir]'") from None
    try:
        get_fhir_model_class("Bundle").model_validate(bundle)
    except ValueError as error:
        raise BadInput(f"no valid bundle of FHIR R4: {in_short(error)}") from None


def losses(cases: Iterable[Case], layout: str) -> dict[str, int]:
    """Returns which parts of the cases are not the same after being written in a layout and read again.

    The values are how many of the cases that holds for, the keys places in a case such as `truth.severity`.
    """
    lost: Counter[str] = Counter()
    load, write = layouts()[layout].load, writers()[layout]
    for order, case in enumerate(cases, start=1):
        after = _parts(load(write(case), order))
        lost.update(place for place, part in _parts(case).items() if after.get(place) != part)
    return dict(lost)


def _parts(case: Case) -> dict[str, Any]:
    """Returns what stands in a case, by its place; nothing of what stands there empty."""
    whole: dict[str, Any] = msgspec.to_builtins(case)
    parts: dict[str, Any] = {}
    for name, value in whole.items():
        parts |= (
            {f"{name}.{key}": part for key, part in value.items()} if name in {"record", "truth"} else {name: value}
        )
    for name in ("record.presentation", "record.history"):
        parts |= {f"{name}.{key}": part for key, part in (parts.pop(name, None) or {}).items()}
    return {place: part for place, part in parts.items() if part not in (None, "", [], {}, ())}
