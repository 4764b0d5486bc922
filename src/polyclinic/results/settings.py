"""What runs that bear the same names differ in: a temperature, a patient, an event. They are not one entrant."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from polyclinic.results.folder import RunRecord

_SAYS_NOTHING = frozenset(
    {
        # who is put to it, which every row has by name, and how much of it
        *("model", "method", "doctor", "doctors", "settings", "seed", "seeds", "replicas", "limit", "sample"),
        *("everything", "baseline", "id", "only"),
        # where things are read from and kept; what was read goes by its content
        *("questions", "cases", "out", "journal", "store", "session", "verdicts", "figures", "resume", "html"),
        *("model_file", "base_url", "api_key_env", "made_of", "pilot", "dry_run", "force", "strict", "json", "csv"),
        # how it is asked, and what stops it
        *("concurrency", "requests_per_minute", "tokens_per_minute", "max_tokens", "max_cost", "max_failures"),
        *("timeout", "wait_for_server", "price", "batch_api", "on", "share", "workers", "lookahead", "fork"),
        # what is measured and shown besides
        *("metric", "measures", "truncated", "thoughts", "group", "correlate"),
    }
)
"""Of a configuration, at any depth: what no single answer depends on, or what rows say themselves."""

_SHOWN = 3
_LONGEST = 32


def differences(records: Sequence[RunRecord], model: str, method: str, *, data: bool) -> list[str]:
    """Returns for each run what tells it from the others, "temperature=0"; "" of all where nothing does.

    Args:
        records: of one kind.
        model: whose parameters and code count.
        method: whose code counts.
        data: whether the content of the files that were read counts.
    """
    every = [dict(_settings(one, model, method, data=data)) for one in records]
    names = list(dict.fromkeys(name for one in every for name in one))
    apart = [name for name in names if len({one.get(name, "") for one in every}) > 1]
    more = f" and {len(apart) - _SHOWN} more" if len(apart) > _SHOWN else ""
    told = []
    for one in every:
        shown = ", ".join(f"{name}={one.get(name, '') or 'none'}" for name in apart[:_SHOWN])
        left = json.dumps([one.get(name, "") for name in apart[_SHOWN:]])
        told.append(f"{shown}{more} {_digest(left)}" if more else shown)
    return told


def _settings(record: RunRecord, model: str, method: str, *, data: bool) -> Iterator[tuple[str, str]]:
    yield from _leaves(record.configuration, "")
    for asked in record.models:
        if asked.name == model:
            yield from _leaves(asked.parameters, "")
    for code in record.code:
        if code.option not in _SAYS_NOTHING or code.name == model or method.startswith(code.name):
            version = ", ".join(filter(None, (code.package, code.sha256[:6])))
            yield f"code of {PurePath(code.name).name}", version
    if data:
        for file in record.data:
            yield file.option, f"{PurePath(file.file).name} {file.sha256[:6]}"


def _leaves(values: Mapping[str, Any], above: str) -> Iterator[tuple[str, str]]:
    """Yields what stands deepest, by its path; nothing of what is not set."""
    for name, value in values.items():
        if name in _SAYS_NOTHING:
            continue
        if isinstance(value, dict):
            yield from _leaves(value, f"{above}{name}.")
        elif value is not None and value is not False and value not in ("", [], {}):
            yield f"{above}{name}", _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, list) and all(isinstance(one, dict) and "said" in one for one in value):
        value = "; ".join(str(one["said"]) for one in value)  # events, in the words in which they were given
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 8]}… {_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=2).hexdigest()
