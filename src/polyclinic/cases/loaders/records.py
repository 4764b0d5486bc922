"""What layouts of cases, questions and passages have in common: which field of a record is what."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from polyclinic.cases.loaders.fields import as_text, literal
from polyclinic.errors import BadInput

_SHOWN = 8


def keys_of(record: Mapping[str, Any]) -> str:
    """Returns the first keys of a record for an error message."""
    more = ", ..." if len(record) > _SHOWN else ""
    return (", ".join(map(repr, list(record)[:_SHOWN])) or "none") + more


def unrecognised(record: Mapping[str, Any], otherwise: str) -> BadInput:
    """Returns the error for a record in no known layout; `otherwise` says how to name one."""
    return BadInput(f"the layout is not recognised by the keys that came: {keys_of(record)}; {otherwise}")


def place_of(field: str) -> str:
    """Returns the JSON path of a field for an error message."""
    return f"$.{field.split('|', maxsplit=1)[0]}"


def value_at(record: Mapping[str, Any], field: str) -> Any:
    """Returns the value of a field, None if it is missing.

    A dot goes into an object or those of a list, a `+` joins several fields, and of fields with `|` between them the
    first with a value is taken.
    """
    if not field:
        return None
    if field not in record and "|" in field:
        values = (value_at(record, part.strip()) for part in field.split("|"))
        return next((value for value in values if as_text(value)), None)
    if field not in record and "+" in field:
        return " ".join(filter(None, (as_text(value_at(record, part.strip())) for part in field.split("+"))))
    found: Any = record
    for name in [field] if field in record else field.split("."):
        found = literal(found)
        if isinstance(found, list):
            found = [one.get(name) if isinstance(one, dict) else None for one in found]
        else:
            found = found.get(name) if isinstance(found, Mapping) else None
    return found


def needed_at(record: Mapping[str, Any], field: str, problem: str = "nothing is here") -> Any:
    """Returns the value of a field, and refuses one that is missing or empty."""
    value = value_at(record, field)
    if not as_text(value):
        raise BadInput(f"{problem}; the fields that came are {keys_of(record)}", field=place_of(field))
    return value


def parse_map(text: str, what: str, names: Collection[str], needed: Collection[str]) -> dict[str, str]:
    """Reads a field map from the command line: `id=KEY,text=KEY`."""
    fields: dict[str, str] = {}
    for part in filter(str.strip, text.split(",")):
        ours, _, theirs = (word.strip() for word in part.partition("="))
        if not theirs or ours in fields:
            raise BadInput(f"{what} {text}; allowed: {', '.join(f'{name}=KEY' for name in names)}, each once")
        fields[ours] = theirs
    check_map(fields, what, names, needed)
    return fields


def check_map(fields: Mapping[str, str], what: str, names: Collection[str], needed: Collection[str]) -> None:
    """Refuses a field map with unknown names or without those that are needed."""
    if unknown := [name for name in fields if name not in names]:
        raise BadInput(f"{what} names {unknown[0]!r}; there are {', '.join(names)}")
    if missing := [name for name in needed if not fields.get(name)]:
        raise BadInput(f"{what} lacks {', '.join(missing)}")
