"""Splits a case file into its records: JSON lines, a JSON array, a JSON object, or CSV; or a folder's .json files.

Lines are read one after the other, so a file of lines never has to fit into memory.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import MAX_RECORD_BYTES, ReadLine, check_file, decode, read_any_lines, too_large
from polyclinic.opened_files import opened, unpacked

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_BOM = b"\xef\xbb\xbf"
_BYTE = re.compile(r"\(byte (\d+)\)")
_JSON_NAMES = {list: "an array", str: "a text", bool: "true or false", int: "a number", float: "a number"}


class Element(msgspec.Struct, frozen=True, kw_only=True):
    """One record of a file, not yet read.

    Attributes:
        part: what `number` counts; an `object` is a whole file, which begins in line `number`.
    """

    path: Path
    number: int  # the line, from 1; in an array, the element, from 1
    order: int  # which record of the file it is, from 1; blank lines do not count
    text: str
    part: Literal["line", "element", "object"] = "line"
    broken: str = ""  # what is wrong with it before anybody decodes it; "" where nothing is

    def bad(self, problem: str, field: str = "") -> BadInput:
        """Returns the error that names this record's place."""
        part = "element" if self.part == "element" else "line"
        return BadInput(problem, path=self.path, line=self.number, part=part, field=field)

    def fields(self) -> dict[str, Any]:
        """Decodes the record."""
        if self.broken:
            raise self.bad(self.broken)
        try:
            value = msgspec.json.decode(self.text.rstrip())
        except RecursionError:
            raise self.bad("the JSON is nested too deeply") from None
        except msgspec.DecodeError as error:
            raise self.malformed(str(error)) from None
        if not isinstance(value, dict):
            raise self.bad(f"a case is a JSON object, {{...}}; this is {_JSON_NAMES.get(type(value), 'null')}")
        return value

    def malformed(self, message: str) -> BadInput:
        """Returns the error of a decoder with its place."""
        cut_off = "truncated" in message
        problem = f"the JSON is cut off ({message})" if cut_off else f"not JSON ({message})"
        if self.part != "object":
            return self.bad(problem)
        at = _BYTE.search(message)
        before = self.text.rstrip().encode()[: int(at[1]) if at and not cut_off else None]
        if "trailing" in message:
            problem += "; several objects stand one a line, or in an array"
        return BadInput(problem, path=self.path, line=self.number + before.count(b"\n"))


def read_elements(path: Path) -> Iterator[Element]:
    """Yields the records of a file, whichever way it strings them together."""
    if path.is_dir():
        yield from _folder(path)
        return
    check_file(path)
    if path.suffix.lower() in _DELIMITERS:
        yield from _rows(path)
        return
    lines = read_any_lines(path)
    first = next(lines)
    begin = first.text.lstrip()
    if begin.startswith("["):
        if path.is_file():
            with unpacked(path) as file:
                raw = file.read().removeprefix(_BOM)
        else:  # a pipe, which can be read only once
            raw = "".join(_whole(path, line) for line in chain([first], lines)).encode()
        yield from _array(path, raw)
    elif begin.startswith("{"):
        yield from _lines_or_object(path, first, lines)
    else:
        _whole(path, first)
        raise BadInput(
            f"begins with {begin[:12].strip()!r}; a case file holds JSON objects: one a line, in an array, or just one",
            path=path,
            line=first.number,
        )


def _whole(path: Path, line: ReadLine) -> str:
    """Returns the text of a line; a BadInput where it is broken."""
    if line.broken:
        raise BadInput(line.broken, path=path, line=line.number)
    return line.text


def _folder(path: Path) -> Iterator[Element]:
    files = sorted(one for one in path.glob("*.json") if one.is_file())
    if not files:
        raise BadInput("this is a directory; name a file in it, or a directory of .json files", path=path)
    order = 0
    for file in files:
        for element in read_elements(file):
            order += 1
            yield msgspec.structs.replace(element, order=order)


def read_rows(path: Path, *, strict: bool = False, delimiters: str = "") -> Iterator[tuple[int, list[str]]]:
    """Yields the rows of a table that are not blank, with the lines in which they begin.

    If several `delimiters` are possible, it is the one that is most frequent in the first line.
    """
    csv.field_size_limit(MAX_RECORD_BYTES)
    before = 0
    try:
        with opened(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
            begin = raw.peek().partition(b"\n")[0].decode(errors="replace")
            usual = _DELIMITERS.get(path.suffix.lower(), ",")
            rows = csv.reader(file, delimiter=max(delimiters or usual, key=begin.count), strict=strict)
            for cells in rows:
                number, before = before + 1, rows.line_num
                if any(cell.strip() for cell in cells):
                    yield number, cells
    except UnicodeDecodeError:
        raise BadInput("not UTF-8; save it as UTF-8", path=path) from None
    except csv.Error as error:
        raise BadInput(f"no table ({error})", path=path, line=before + 1 if strict else None) from None
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None


def _rows(path: Path) -> Iterator[Element]:
    """Yields the rows of a table whose first row has the names of the columns, each as a JSON object of texts."""
    rows = read_rows(path)
    _, names = next(rows, (0, []))
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"the column {twice!r} stands twice; each once", path=path, line=1)
    order = 0
    for order, (number, cells) in enumerate(rows, start=1):
        other = len(cells) != len(names)
        broken = f"{len(cells)} cells came; the first row names {len(names)} columns" if other else ""
        text = msgspec.json.encode(dict(zip(names, cells, strict=False))).decode()
        yield Element(path=path, number=number, order=order, text=text, broken=broken)
    if not order:
        raise BadInput("the table has no rows; at least one is needed below the names of the columns", path=path)


def _lines_or_object(path: Path, first: ReadLine, lines: Iterator[ReadLine]) -> Iterator[Element]:
    begun, size = [first], 0
    # A good line is handed on before the next is read, so that what is wrong with that one comes after it.
    if first.broken or not _is_json(first.text):
        while size <= MAX_RECORD_BYTES and (line := next(lines, None)) is not None:
            begun.append(line)
            size += len(line.text.encode())
        parts = ["\n" * (line.number - before.number - 1) + line.text for before, line in pairwise(begun)]
        text = "".join((first.text, *parts))
        # Lines of a file of lines begin with a brace at the margin; the second line of one object is indented or a key.
        if len(begun) > 1 and (not begun[1].text.startswith("{") or _is_json(text)):
            for line in begun:
                _whole(path, line)
            if size > MAX_RECORD_BYTES:
                raise BadInput(too_large(), path=path, line=begun[-1].number)
            yield Element(path=path, number=first.number, order=1, text=text, part="object")
            return
    for order, (number, text, broken) in enumerate(chain(begun, lines), start=1):
        yield Element(path=path, number=number, order=order, text=text, broken=broken)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _array(path: Path, raw: bytes) -> Iterator[Element]:
    try:
        elements = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError) as error:
        whole = Element(path=path, number=1, order=1, text=raw.decode(errors="replace"), part="object")
        raise whole.malformed(str(error)) from None
    for number, element in enumerate(map(bytes, elements), start=1):
        broken = too_large() if len(element) > MAX_RECORD_BYTES else ""
        try:
            text = decode(element, path=path)
        except BadInput as error:
            text, broken = element.decode(errors="replace"), error.problem
        yield Element(path=path, number=number, order=number, text=text, part="element", broken=broken)
    if not elements:
        raise BadInput("the array is empty; at least one record is needed", path=path)
