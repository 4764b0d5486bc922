"""Reading and writing the user's files.

Every way a file can be wrong is a `BadInput` with one clear line, and nothing is half-written.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from polyclinic.errors import BadInput, meant
from polyclinic.opened_files import MAX_FILE_BYTES, MAX_WRITTEN_BYTES, check_kind, read_at_once, unpacked

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode

MAX_RECORD_BYTES = 16 * 2**20
"""No case, trace line or array element is larger; what is, is a mistake, and would only exhaust memory."""

NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises where bytes are not the JSON that is looked for."""

_DATABASE = b"SQLite format 3\0"
_LOCK = ".lock"
_NAMED = 3
_LOOKED_AT = 1_000  # names of a folder among which one that was misspelt is looked for
_BEGINNING = 200  # bytes of a line that is too long


def check_file(path: Path) -> None:
    """Checks that the path is a file that can be read: neither missing, empty nor too large, and no directory."""
    try:
        if not path.exists():
            near = ""
            with suppress(OSError):
                near = meant(path.name, [one.name for one in islice(path.parent.iterdir(), _LOOKED_AT)])
            raise BadInput(f"no such file{near}", path=path)
        check_kind(path)
        size = path.stat().st_size
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None
    if size == 0 and path.is_file():
        raise BadInput("the file is empty; at least one line is needed", path=path)
    if size > MAX_FILE_BYTES:
        raise BadInput(f"the file is {size / 2**30:.1f} GiB; at most {MAX_FILE_BYTES >> 30} GiB are read", path=path)


def no_folder(path: Path) -> str:
    """Returns what is wrong with what is no folder."""
    return "this is a file, and no folder" if path.exists() else "no such folder"


class ReadLine(NamedTuple):
    """A line that is not blank: number, text (the beginning, of a line that is too long), and what is wrong with it."""

    number: int
    text: str
    broken: str = ""


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the lines that are not blank, with their numbers from 1; a file ending in .gz is unpacked."""
    for number, text, broken in read_any_lines(path):
        if broken:
            raise BadInput(broken, path=path, line=number)
        yield number, text


def read_any_lines(path: Path) -> Iterator[ReadLine]:
    """Yields the lines as `read_lines`, those that are broken too."""
    check_file(path)
    found = False
    try:
        with unpacked(path) as file:
            number = 0
            while raw := file.readline(MAX_RECORD_BYTES + 1):
                number += 1
                raw = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                if len(raw) > MAX_RECORD_BYTES:
                    begin, rest = raw[:_BEGINNING], raw
                    while rest and not rest.endswith(b"\n"):
                        rest = file.readline(MAX_RECORD_BYTES)
                    line = ReadLine(number, begin.decode(errors="replace"), too_large())
                else:
                    try:
                        line = ReadLine(number, raw.decode())
                    except UnicodeDecodeError as error:
                        line = ReadLine(number, raw.decode(errors="replace"), _no_utf8(error, raw))
                if line.broken or line.text.strip():
                    found = True
                    yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(f"cannot be unpacked ({error})", path=path) from None
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None
    if not found:
        raise BadInput("the file holds blank lines only; at least one record is needed", path=path)


def read_records(
    path: Path, kind: type[T], what: str, *, keys_once: bool = False, bad: list[BadInput] | None = None
) -> Iterator[tuple[int, T]]:
    """Yields JSON objects, one a line, with line numbers; errors call them `what`, and go to `bad` if it is given."""
    decoder = msgspec.json.Decoder(kind)
    for number, line, broken in read_any_lines(path):
        problem, field = broken, ""
        if not problem:
            try:
                record = decoder.decode(line)
            except msgspec.ValidationError as error:
                problem, field = split_place(str(error))
                problem = f"not {what}: {problem}"
            except msgspec.DecodeError as error:
                problem = f"not JSON ({error}); there is one object a line"
            except RecursionError:
                problem = "the JSON is nested too deeply"
            else:
                if keys_once and (twice := key_twice(line)):
                    problem = f"{twice!r} stands twice in {what}; a key stands once"
        if not problem:
            yield number, record
            continue
        told = BadInput(problem, path=path, line=number, field=field)
        if bad is None:
            raise told
        bad.append(told)


def key_twice(line: str) -> str:
    """Returns a key that stands twice in an object of valid JSON, "" where none does."""
    found: list[str] = []

    def keep(pairs: list[tuple[str, object]]) -> None:
        keys = [key for key, _ in pairs]
        found.extend(key for key in keys if keys.count(key) > 1)

    json.loads(line, object_pairs_hook=keep)
    return found[0] if found else ""


def record_as(record: object, kind: type[T]) -> T:
    """Returns a record that is laid out as one of our types, field by field."""
    try:
        return msgspec.convert(record, kind)
    except msgspec.ValidationError as error:
        problem, field = split_place(str(error))
        raise BadInput(problem, field=field) from None


def too_large() -> str:
    """Returns what is wrong with a record that passes `MAX_RECORD_BYTES`."""
    return f"the record is larger than {MAX_RECORD_BYTES >> 20} MiB, the most that one may hold"


def decode(raw: bytes, *, path: Path) -> str:
    """Decodes UTF-8, or says at which byte it is none."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise BadInput(_no_utf8(error, raw), path=path) from None


def _no_utf8(error: UnicodeDecodeError, raw: bytes) -> str:
    return f"not UTF-8 (byte {error.start + 1} of the line is 0x{raw[error.start]:02x}); save it as UTF-8"


def read_toml(path: Path) -> dict[str, Any]:
    """Reads a TOML file."""
    import tomllib  # noqa: PLC0415 - whoever names no such file does without its reader

    check_file(path)
    try:
        return tomllib.loads(decode(read_at_once(path, most=MAX_WRITTEN_BYTES), path=path))
    except tomllib.TOMLDecodeError as error:
        at = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        told = str(error)[: at.start()] if at else str(error).partition(" (at ")[0]
        raise BadInput(f"not TOML: {told}", path=path, line=int(at[1]) if at else None) from None
    except RecursionError:
        raise BadInput("not TOML that can be read: it is nested too deeply", path=path) from None
    except ValueError as error:
        raise BadInput(f"not TOML that can be read: {str(error).partition(';')[0]}", path=path) from None


def check_writable(path: Path, *, unlike: Path | None = None, begins: bytes = b"") -> None:
    """Checks, before a long run, that its result can be written in the end.

    Not over its input (`unlike`), nor over a database, nor what a run has left; where it is said how what is written
    `begins`, nor over what begins otherwise.
    """
    _check_place(path)
    if unlike is not None and path.exists() and unlike.exists() and path.samefile(unlike):
        raise BadInput("this is the file that is read; name another one to write to", path=path)
    if path.is_file() and (path.suffix == _LOCK or is_result(path.resolve())):
        raise BadInput("this is a part of what a run has left; name another file to write to", path=path)
    if (head := _head(path, len(begins))) and head.lower() != begins.lower():
        raise BadInput("there is a file of another kind; name another, or move that away first", path=path)


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise BadInput("this is a directory; name a file in it", path=path)
    if not path.parent.is_dir():
        raise BadInput(f"there is no folder {path.parent}; make it first", path=path)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadInput("may not be written to", path=path)
    if _head(path, len(_DATABASE)) == _DATABASE:
        raise BadInput("this is a run, a journal or another database; name another file to write to", path=path)


class _Left(msgspec.Struct):
    files: list[str] = []


def is_result(path: Path) -> bool:
    """Whether a file belongs to the results of a run, by the record in its folder."""
    record = path.with_name("results.json")
    with suppress(BadInput, *NO_JSON):
        left = msgspec.json.decode(read_at_once(record), type=_Left)
        return path.name in (record.name, "items.jsonl", "calls.jsonl", *left.files)
    return False


def _head(path: Path, n: int) -> bytes:
    """Returns the first bytes of a file, none of what is no file."""
    with suppress(OSError):
        if path.is_file():  # a pipe would be waited for
            with path.open("rb") as file:
                return file.read(n)
    return b""


def make_folder(path: Path, *, parents: bool = False) -> None:
    """Makes a folder for results, with its `parents` if wanted, or takes one that can be written to."""
    try:
        _check_folder(path, parents=parents)
        path.mkdir(parents=parents, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot be made ({error.strerror})", path=path) from None


def _check_folder(path: Path, *, parents: bool = False) -> None:
    if path.is_dir():
        if not os.access(path, os.W_OK):
            raise BadInput("may not be written to", path=path)
    elif path.exists():
        raise BadInput("this is a file; name a folder", path=path)
    elif not parents:
        if not path.parent.is_dir():
            raise BadInput(f"there is no folder {path.parent}; make it first", path=path)
        if not os.access(path.parent, os.W_OK):
            raise BadInput("cannot be made (Permission denied)", path=path)


def check_new_folder(path: Path, *, besides: Collection[str] = ()) -> None:
    """Checks that a folder can be made, or has only the names `besides` and those that begin with a full stop."""
    _check_folder(path)
    there = path.iterdir() if path.is_dir() else ()
    held = [one.name for one in there if not one.name.startswith(".") and one.name not in besides]
    if held:
        shown = ", ".join(sorted(held)[:_NAMED]) + (f" and {len(held) - _NAMED} more" if len(held) > _NAMED else "")
        raise BadInput(f"the folder holds {shown}; name another folder, or move that away first", path=path)


def make_empty_folder(path: Path, *, besides: Collection[str] = ()) -> None:
    """Makes a folder for the results of a run, and refuses one that holds those of another; see `check_new_folder`."""
    check_new_folder(path, besides=besides)
    make_folder(path)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yields a path beside that of a file; what is written there takes the file's place in the end, or nothing does."""
    _check_place(path)
    temporary = None
    try:
        special = path.exists() and not path.is_file()
        number, name = tempfile.mkstemp(dir=None if special else path.parent, prefix=f".{path.name}.")
        os.close(number)
        temporary = Path(name)
        yield temporary
        if special:  # a device or a pipe is written to, and never replaced
            with temporary.open("rb") as written, path.open("wb") as device:
                shutil.copyfileobj(written, device)
            return
        # A temporary file is private to its maker; what takes its place gets the rights that any new file gets.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:
        raise BadInput(f"cannot be written ({error.strerror or error})", path=path) from None
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Writes a value as a JSON document that people can read, whole or not at all."""
    write_text(path, msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def write_text(path: Path, text: str) -> None:
    """Writes a whole file or nothing, as `whole` does."""
    with whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def json_lines(records: Iterable[object]) -> str:
    """Returns records as JSON, one a line."""
    return "".join(_encode(record).decode() + "\n" for record in records)


_EXPECTED = re.compile(r"Expected `([^`]+)`(?:, got `([^`]+)`)?(.*)", re.DOTALL)
_WORDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "a text",
    "bool": "yes or no",
    "null": "nothing",
    "array": "a list",
    "object": "a table of names and values",
}


def in_plain_words(problem: str) -> str:
    """Returns what msgspec says of a value in words of whoever writes the file: "a number or nothing"."""
    if not (said := _EXPECTED.match(problem)):
        return problem
    wanted = " or ".join(_WORDS.get(one, one) for one in said[1].split(" | "))
    came = f", and {_WORDS.get(said[2], said[2])} came" if said[2] else ""
    return f"{wanted}{said[3]} is needed{came}"


def split_place(message: str) -> tuple[str, str]:
    """Splits msgspec's "problem - at `$.field`" into the problem and the field ("" where it names none)."""
    problem, _, place = message.partition(" - at ")
    # Of a key it says "`key` in `$.field`".
    return problem, place.removeprefix("`key` in ").strip("`")
