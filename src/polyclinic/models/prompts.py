"""What was asked, beside the answers of a journal: each message once, however many questions it stands in.

A dialogue asks with all that was said before, so that its questions grow with the square of its turns; its messages do
not. Two tables of the journal's file, which its answers need not:

    messages   id=<12 bytes>  message=<JSON, compressed where it is long>
    prompts    request=<16 bytes, as in `calls`>  model="direct/name"  role="doctor"  messages=<ids>  answer="a schema"
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from polyclinic.files import NO_JSON
from polyclinic.models.model import Image, Messages, Part

TABLES = (
    "CREATE TABLE IF NOT EXISTS messages (id BLOB PRIMARY KEY, message BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS prompts (request BLOB PRIMARY KEY, model TEXT NOT NULL, role TEXT NOT NULL,"
    " messages BLOB NOT NULL, answer TEXT NOT NULL)",
)
"""What makes the tables where they are not there."""

INSERTS = {
    "messages": "INSERT OR IGNORE INTO messages VALUES (?, ?)",
    "prompts": "INSERT OR IGNORE INTO prompts VALUES (?, ?, ?, ?, ?)",
}
"""What writes a row of each into a file."""

_ID = 12  # bytes
_KNOWN = 20_000  # messages that are known to be there already
_LONG = 300  # bytes; a shorter one is hardly any shorter when it is compressed
_AT_ONCE = 500  # that are looked up together
PromptRow = tuple[str, tuple[Any, ...]]  # a table and the values of a row


class AskedPrompt(NamedTuple):
    """A question as it was put to a model, its messages by their ids."""

    model: str
    role: str  # who asked; "" where nobody said
    messages: tuple[str, ...]
    answer: str  # the form that was wanted, as it was told; "" for any text


class KeptPrompts:
    """Says which rows keep a question; of a message that stands there already none."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def rows(self, request: bytes, messages: Messages, *, model: str, role: str, answer: Any) -> Iterator[PromptRow]:
        """Yields tables, each with the values of a row."""
        ids = []
        for who, content in [("user", messages)] if isinstance(messages, str) else messages:
            told = msgspec.json.encode((str(who), _text(content)))
            id = hashlib.blake2b(told, digest_size=_ID).digest()
            ids.append(id)
            if id in self._known:
                self._known.move_to_end(id)
                continue
            self._known[id] = None
            if len(self._known) > _KNOWN:
                self._known.popitem(last=False)
            yield "messages", (id, zlib.compress(told, 1) if len(told) > _LONG else told)
        form = "" if answer is None else answer if isinstance(answer, str) else " | ".join(map(str, answer))
        yield "prompts", (request, model, role, b"".join(ids), form)


def read_prompts(
    connection: sqlite3.Connection, requests: Iterable[bytes]
) -> tuple[dict[bytes, AskedPrompt], dict[str, tuple[str, str]]]:
    """Returns what is kept of some questions, by request, and each of their messages once: who, and what it says."""
    if connection.execute("SELECT count(*) FROM sqlite_master WHERE name IN ('messages', 'prompts')").fetchone()[0] < 2:
        return {}, {}
    prompts: dict[bytes, AskedPrompt] = {}
    wanted: dict[bytes, None] = {}
    fields = "request, model, role, messages, answer"
    for request, model, role, ids, answer in _looked_up(connection, fields, "prompts", "request", list(requests)):
        each = [ids[at : at + _ID] for at in range(0, len(ids), _ID)]
        wanted.update(dict.fromkeys(each))
        prompts[request] = AskedPrompt(model, role, tuple(id.hex() for id in each), answer)
    messages = {}
    for id, packed in _looked_up(connection, "id, message", "messages", "id", list(wanted)):
        try:
            said = packed if packed.startswith(b"[") else zlib.decompress(packed)
            messages[id.hex()] = msgspec.json.decode(said, type=tuple[str, str])
        except (zlib.error, *NO_JSON) as error:
            raise ValueError(f"a message is damaged ({error})") from None
    return prompts, messages


def _looked_up(
    connection: sqlite3.Connection, fields: str, table: str, key: str, values: Sequence[bytes]
) -> Iterator[Any]:
    for begin in range(0, len(values), _AT_ONCE):
        some = values[begin : begin + _AT_ONCE]
        blanks = ", ".join("?" * len(some))
        yield from connection.execute(f"SELECT {fields} FROM {table} WHERE {key} IN ({blanks})", some)  # noqa: S608


def _text(content: str | Sequence[Part]) -> str:
    """Returns what a message says; a picture by the beginning of its SHA-256, or of that of its address."""
    if isinstance(content, str):
        return content
    told = []
    for part in content:
        if not isinstance(part, Image):
            told.append(part.text)
            continue
        data = part.url.encode(errors="replace")
        with contextlib.suppress(ValueError):
            data = base64.b64decode(part.url.partition(";base64,")[2]) or data
        told.append(f"[picture {hashlib.sha256(data).hexdigest()[:16]}]")
    return "\n".join(told)
