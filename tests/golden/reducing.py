"""What a row of commands printed and wrote, reduced to its results: figures, rows and hashes."""

import contextlib
import csv
import hashlib
import io
import json
import re
import sqlite3
from pathlib import Path

_UNSTABLE = re.compile(
    r"(.*_)?(seconds|wall|time|began|begun|ended|finished|started|made|date|version|versions|path|paths|url|host|pid|python|"
    r"system|store|journal|library|command|configuration|prompts|file|folder|took|per_second|sha256|commit|index|seal)"
    r"|made_of|data"
)
"""Keys whose values are times, paths, versions, addresses, files that were read, or the command line itself."""

_PRIVATE = "private"  # of a folder, or "FILE.private": answers of models, and the configuration
_SKIPPED = ("SHA256SUMS", "run.lock", "calls.jsonl", "references.bib")
_TEXTS = {".json", ".jsonl", ".csv"}
_LONG = 48  # characters of a text that is kept as it is; of a longer one its hash
_ROWS = 24  # rows of a file or list that are kept field by field; of more, one hash a row


def reduced(folder: Path, before: set[Path], printed: list[object], fields: dict[str, str]) -> dict[str, object]:
    """Returns the results of commands, by what printed or holds them.

    Args:
        folder: where they ran.
        before: the files that lay there.
        printed: the document that each wrote on standard output; None for a sentence, which may change.
        fields: new names of fields, with the recorded ones.
    """
    clean = _Clean(folder, fields)
    found: dict[str, object] = {}
    found |= {f"stdout {n}": clean.value(document) for n, document in enumerate(printed) if document is not None}
    for file in sorted(set(folder.rglob("*")) - before):
        name = file.relative_to(folder).as_posix()
        if file.name == "run.sqlite":
            found[f"{name} log"] = _log_of(file)
        elif (
            file.is_file()
            and file.suffix in _TEXTS
            and file.name not in _SKIPPED
            and not file.parent.name.endswith(_PRIVATE)
            and not _hidden(name)
        ):
            value = clean.read(file.read_text("utf-8"), file.suffix)
            same = next((place for place, other in found.items() if value and other == value), None)
            found[name] = value if same is None else f"the same as {same}"
    return found


def _hidden(name: str) -> bool:
    return name.startswith((".", "lib/"))


class _Clean:
    """Values without what differs from one place or moment to another."""

    def __init__(self, folder: Path, fields: dict[str, str]) -> None:
        self._folder, self._fields = str(folder), fields

    def read(self, text: str, kind: str) -> object:
        """Returns the value of a file or of what was printed."""
        match kind:
            case ".json":
                return self.value(json.loads(text)) if _is_one(text) else self.read(text, ".jsonl")
            case ".jsonl":
                return self.value([json.loads(line) for line in text.splitlines()])
            case _:
                return self.value(list(csv.DictReader(io.StringIO(text))))

    def value(self, value: object) -> object:
        """Returns a value with stable fields, under their recorded names; what is long as hashes."""
        if isinstance(value, dict):
            named = {self._fields.get(key, key): each for key, each in value.items() if not _UNSTABLE.fullmatch(key)}
            return {key: self.value(named[key]) for key in sorted(named) if named[key] is not None}
        if isinstance(value, list):
            parts = [self.value(each) for each in value]
            return [_row(part) for part in parts] if len(parts) > _ROWS else parts
        if isinstance(value, str):
            text = re.sub(r"http://127\.0\.0\.1:\d+", "URL", value.replace(self._folder, "HERE"))
            return text if len(text) <= _LONG else f"#{_hash(text)}"
        return float(f"{value:.12g}") if isinstance(value, float) else value


def _row(part: object) -> object:
    return _hash(json.dumps(_coarse(part), ensure_ascii=False)) if isinstance(part, dict | list) else part


def _is_one(text: str) -> bool:
    _, end = json.JSONDecoder().raw_decode(text)
    return not text[end:].strip()


def _coarse(value: object) -> object:
    """Numbers of a hashed row, to six digits, so that a last digit changes nothing."""
    if isinstance(value, dict):
        return {key: _coarse(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_coarse(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def _log_of(file: Path) -> str:
    """Returns the hash of the log of a hospital, byte by byte."""
    digest = hashlib.sha256()
    with contextlib.closing(sqlite3.connect(file)) as connection:
        for seq, t, who, what in connection.execute("select seq, t, who, what from happenings order by seq"):
            digest.update(f"{seq} {t} {who} ".encode() + what)
    return digest.hexdigest()


def differences(was: object, now: object, place: str = "") -> list[str]:
    """Returns what differs, a line for each place; numbers that agree to 1e-9 are equal.

    The kind of a run is the name of its command, which may change.
    """
    if place.endswith("results.json/kind"):
        return []
    if isinstance(was, dict) and isinstance(now, dict):
        keys = sorted(was.keys() | now.keys())
        return [line for key in keys for line in differences(was.get(key), now.get(key), f"{place}/{key}")]
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        pairs = enumerate(zip(was, now, strict=True))
        return [line for n, (a, b) in pairs for line in differences(a, b, f"{place}/{n}")]
    return [] if _same(was, now) else [f"{place}: was {_shown(was)}, is {_shown(now)}"]


def _same(a: object, b: object) -> bool:
    if (
        isinstance(a, float | int)
        and isinstance(b, float | int)
        and not isinstance(a, bool)
        and not isinstance(b, bool)
    ):
        return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))
    return a == b


def _shown(value: object) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."
