"""A protocol as rows of a table: each setting, the paper's and ours, and where the paper says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from polyclinic.protocols.protocol import PaperProtocol, PaperSetting


class SettingRow(NamedTuple):
    """One setting; `ours` is empty where it is as the paper's."""

    name: str
    paper: str
    ours: str
    section: str
    why: str


def setting_rows(protocol: PaperProtocol[Any]) -> list[SettingRow]:
    """Returns all settings of a protocol, those of its roles first."""
    return [
        *(row for name, role in protocol.roles.items() for row in _rows(name, role)),
        *_rows("", protocol.settings),
    ]


def changes(own: PaperProtocol[Any], paper: PaperProtocol[Any]) -> list[str]:
    """Returns what a protocol of one's own sets in place of the paper's, each with both, and the paper's section."""
    rows, theirs = ({row.name: row for row in setting_rows(one)} for one in (own, paper))
    found = [
        f"{name} ({told_paper.paper}, {told_paper.section}; here {rows[name].paper if name in rows else 'left out'})"
        for name, told_paper in theirs.items()
        if name not in rows or rows[name].paper != told_paper.paper
    ]
    return found + [f"{name} (not set; here {row.paper})" for name, row in rows.items() if name not in theirs]


def _rows(name: str, value: object) -> Iterator[SettingRow]:
    """Yields the settings that stand in something, named by their way there."""
    if isinstance(value, PaperSetting):
        ours = told(value.of("ours")) if value.differs else ""
        yield SettingRow(name, told(value.paper), ours, value.section, value.why)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _rows(f"{name}.{key}", one)
    elif isinstance(value, msgspec.Struct):
        for key in value.__struct_fields__:
            yield from _rows(f"{name}.{key}".lstrip("."), getattr(value, key))


def told(value: object) -> str:
    """Returns a value as a line says it: `zh 10, en 15`."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {told(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(told, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else "not set" if value is None else str(value)
