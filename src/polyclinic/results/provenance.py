"""The provenance of results: versions, hashes of data, and how models were asked. Nothing in it is secret."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from polyclinic import __version__, plugins
from polyclinic.fingerprints import of_package
from polyclinic.models.ledger import Ledger, Line
from polyclinic.models.model_file import NOTHING_SAID, ModelFile
from polyclinic.results.folder import AskedModel, CallSum, DataFile, OwnCode, ServerSum
from polyclinic.storage.server import is_store
from polyclinic.storage.server import shown as store_shown

_PACKAGES = ("inspect-ai", "numpy", "nltk", "rjieba", "tantivy", "wordllama")
"""Packages that results may depend on, if they are installed."""

_ADDRESS = re.compile(r"\bhttps?://[^\s,'\"]+")
_SECRET = re.compile(r"(?:^|[_-])(?:api[_-]?)?(?:key|secret|password|passwd|credentials?|authorization|bearer|token)$")
_HIDDEN = "(not kept)"


def address(text: str) -> str:
    """Returns an address without user, password, query and fragment."""
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return _HIDDEN
    return urlunsplit((parts.scheme, f"[{host}]{port}" if ":" in host else host + port, parts.path, "", ""))


def open_text(text: str) -> str:
    """Returns a text with every address in it as `address` has it."""
    return _ADDRESS.sub(lambda found: address(found[0]), text)


def without_secrets(value: Any, name: str = "") -> Any:
    """Returns plain values without keys, passwords and the like, which their names give away, and bare addresses.

    The name of an environment variable is not a secret.
    """
    if isinstance(value, Mapping):
        return {str(key): without_secrets(one, str(key)) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(one, name) for one in value]
    if not isinstance(value, str):
        return value
    if _SECRET.search(name.lower()):
        return _HIDDEN
    return store_shown(value) if is_store(value) else open_text(value)


def command_words(words: Iterable[str]) -> list[str]:
    """Returns the words of a command without secrets."""
    kept: list[str] = []
    for word in words:
        option, sign, value = word.partition("=")
        before = kept[-1] if kept else ""
        if option.startswith("--") and sign:
            kept.append(f"{option}={without_secrets(value, option.strip('-'))}")
        else:
            kept.append(without_secrets(word, before.strip("-") if before.startswith("--") else ""))
    return kept


def versions() -> dict[str, str]:
    """Returns the versions of all that results depend on, and the hashes of our knowledge, prompts and words."""
    found = {**made_of(), "python": platform.python_version(), "system": platform.system()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def made_of() -> dict[str, str]:
    """Returns our version, and the hashes of our knowledge, prompts and words."""
    return {"polyclinic": __version__, **of_package()}


def now() -> str:
    """Returns the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


_ITSELF = "resume"
"""The option that names the folder of the run itself, which is not data."""


def data_files(paths: Mapping[str, Path]) -> list[DataFile]:
    """Returns files by the option that named them, with their hashes; of a folder, each file in it."""
    found = []
    for option, path in paths.items():
        if option == _ITSELF:
            continue
        files = sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]
        for one in files:
            digest = ""  # a pipe cannot be read twice
            if one.is_file():
                with one.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
            found.append(DataFile(option=option, file=str(one), sha256=digest))
    return found


_GROUPS: Mapping[str, plugins.Group] = {
    "method": "methods",
    "metric": "metrics",
    "layout": "layouts",
    "evaluation": "evaluations",
}
_MINDS = frozenset({"model", "doctor", "doctors", "patient", "examiner", "nurse", "pharmacist", "judge", "director"})


def own_code(options: Mapping[str, Any]) -> list[OwnCode]:
    """Returns the users' own code that options name, at any depth; only the named file is hashed."""
    found: list[OwnCode] = []
    for option, value in options.items():
        if isinstance(value, Mapping):
            found += own_code(value)
        elif option in _GROUPS or option in _MINDS:
            for name in value if isinstance(value, list | tuple) else [value]:
                if isinstance(name, str) and (of := plugins.code_of(name, _GROUPS.get(option, "minds"))) is not None:
                    found.append(OwnCode(option=option, name=name, sha256=of[0], package=of[1]))
    return found


def asked_models(
    ledger: Ledger, said: ModelFile = NOTHING_SAID, *, base_urls: Sequence[str] = (), **parameters: Any
) -> list[AskedModel]:
    """Returns the models of each role and how they were asked; `parameters` hold unless the file of models differs."""
    asked = []
    for role, name in sorted(ledger.asked_of):
        ours = msgspec.to_builtins(said.asking(name, role))
        urls = said.asking(name, role).base_urls or (base_urls if name.startswith("direct/") else [])
        how = {key: value for key, value in parameters.items() if value is not None} | ours
        for unkept in ("base_url", "api_key_env"):
            how.pop(unkept, None)
        asked.append(AskedModel(name=name, role=role, base_url=[*map(address, urls)], parameters=without_secrets(how)))
    return asked


def server_sums(ledger: Ledger) -> list[ServerSum]:
    """Returns the calls of each server, of models with several."""
    return [
        ServerSum(model=model, server=server, **_sums(one)) for (model, server), one in sorted(ledger.servers.items())
    ]


def call_sums(ledger: Ledger) -> list[CallSum]:
    """Returns the sums of the calls, by role and purpose."""
    lines: dict[tuple[str, str], Line] = {}
    for (role, purpose), line in sorted(ledger.lines.items()):
        lines.setdefault((role, purpose.partition(",")[0]), Line()).add(line)
    return [
        CallSum(
            role=role,
            purpose=purpose,
            failures=line.failures,
            replayed=line.replayed,
            requests=line.attempts,
            **_sums(line),
        )
        for (role, purpose), line in lines.items()
    ]


def _sums(line: Line) -> dict[str, Any]:
    usage = {name: getattr(line.usage, name) for name in ("tokens_in", "cached", "tokens_out", "cost")}
    return {"calls": line.calls, "unpriced": line.unpriced, **usage}
