"""What a run was, in words: the terminal and the page print the same facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polyclinic.results.folder import OwnCode, RunRecord
from polyclinic.terminal.figures import money
from polyclinic.terminal.tables import counted

_LONGEST = 80  # letters of a value that is shown


def record_facts(record: RunRecord) -> dict[str, str]:
    """Returns the facts of a run by name: its command, versions, options, data and models."""
    asked: dict[str, list[str]] = {}
    for one in record.models:
        how = ", ".join(f"{name} {value}" for name, value in one.parameters.items())
        at = f" at {', '.join(one.base_url)}" if one.base_url else ""
        asked.setdefault(f"{one.name}{at}{f' ({how})' if how else ''}", []).append(one.role)
    facts = {
        "command": " ".join(["polyclinic", *record.command]) if record.command else record.kind,
        "stopped" if record.stopped else "finished": ", ".join(filter(None, (record.finished, record.stopped))),
        "seed": str(record.seed),
        "versions": ", ".join(f"{name} {version}" for name, version in record.versions.items()),
        "options": _options(record.configuration),
        "data": "; ".join(f"{one.file} (SHA-256 {one.sha256})" for one in record.data),
        "code": "; ".join(_code(one) for one in record.code),
        "cases": "; ".join(map(str, record.cases)),
        "models": "; ".join(f"{name} as {', '.join(roles)}" for name, roles in asked.items()),
        "calls": _calls(record),
        "other than in the paper": "; ".join(record.departures),
    }
    return {name: text for name, text in facts.items() if text}


def _code(own: OwnCode) -> str:
    said = (own.package, f"SHA-256 {own.sha256[:12]}…" if own.sha256 else "")
    return f"{own.name} ({', '.join(filter(None, said))})"


def _calls(record: RunRecord) -> str:
    """Returns what all calls of the run came to, each counted once."""
    calls, used = sum(one.calls for one in record.calls), sum(one.tokens_in + one.tokens_out for one in record.calls)
    costs, unpriced = costs_of(record)
    replayed = sum(one.replayed for one in record.calls)
    whose = "asked by the parts of --on, or earlier" if "--on" in record.command else "which cost nothing now"
    kept = f"{replayed:,} of them answered from a journal, {whose}" if replayed else ""
    cost = f"cost {money(costs, unpriced)}" if costs is not None else ""
    cost += f", without {counted(unpriced, 'call')} that took tokens without a price" if cost and unpriced else ""
    told = (f"{calls:,} in all", kept, f"{used:,} tokens" if used else "", cost)
    return ", ".join(filter(None, told)) if calls else ""


def costs_of(record: RunRecord) -> tuple[float | None, int]:
    """Returns what all calls of the run cost, and how many took tokens of which nobody knows what they cost."""
    costs = [one.cost for one in record.calls if one.cost is not None]
    return (sum(costs) if costs else None), sum(one.unpriced for one in record.calls)


_NO_OPTIONS = ("setup", "made_of", "api_key_env", "traces", "lookahead")
"""Keys of a configuration that hold options, or that no answer depends on."""


def _options(configuration: Mapping[str, Any]) -> str:
    """Returns options and values in one line; of long values the names alone."""
    short, long = list[str](), list[str]()
    for name, value in {**configuration.get("setup", {}), **configuration}.items():
        if name in _NO_OPTIONS or value is None or value is False or value in ("", [], {}):
            continue
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        if isinstance(value, Mapping) or len(text) > _LONGEST:
            long.append(name)
        else:
            short.append(f"{name} {text}")
    return ", ".join(short) + (f"; in the folder's results.json also {', '.join(long)}" if long else "")
