"""YAML as people mean it: a key that stands twice is a mistake, 12:30 is no number, and a date stays a text."""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path
from typing import Any, TypeVar, get_origin

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import check_file, decode, split_place
from polyclinic.opened_files import MAX_WRITTEN_BYTES, read_at_once

MOST_NODES = 100_000  # No file of ours or of a user's is larger; aliases of aliases would grow without end.
DEEPEST = 32  # levels of lists and mappings in one another; also what ends a text that holds itself

COMPILED = Path(__file__).with_name("shipped_yaml.json")
"""What the YAML files of the package hold, as JSON, which is read a hundred times as fast; `make docs` writes it."""

_PACKAGE = Path(__file__).parent
_UNKNOWN = re.compile(r"Object contains unknown field `(.+)`")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")

_NUMBERS_AND_SUCH = ("int", "float", "bool", "null")

T = TypeVar("T")


def read_yaml(path: Path, kind: type[T]) -> T:
    """Reads a file that holds one YAML document of a type.

    A field of type `re.Pattern[str]` holds a regular expression, or a list of them of which any may stand in a text.
    """
    check_file(path)
    try:
        written = read_at_once(path, most=MAX_WRITTEN_BYTES)
        compiled = _compiled().get(path.relative_to(_PACKAGE).as_posix()) if path.is_relative_to(_PACKAGE) else None
        if compiled is not None and compiled.sum == _sum(written):
            return msgspec.json.decode(compiled.data, type=kind, dec_hook=_pattern)
        data = parse_yaml(decode(written.removeprefix(b"\xef\xbb\xbf"), path=path))
        return msgspec.convert(data, kind, dec_hook=_pattern)
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", path=path) from None
    except msgspec.ValidationError as error:
        problem, field = split_place(str(error))
        if unknown := _UNKNOWN.fullmatch(problem):
            field = f"{field or '$'}.{unknown[1]}"
        raise BadInput(problem, path=path, line=line_of(path, field), field=field) from None
    except BadInput as error:
        raise BadInput(error.problem, path=path, line=error.line, field=error.field) from None


class _Compiled(msgspec.Struct):
    """What a YAML file of the package holds, and a hash of the file: another text is read as YAML."""

    sum: str
    data: msgspec.Raw


def compile_shipped() -> bytes:
    """Returns what `COMPILED` holds for the YAML files of the package as they are, a line each.

    The files of diseases are missing: `polyclinic.knowledge.knowledge.LINKED` holds these.
    """
    lines = []
    for path in sorted(file for file in _PACKAGE.rglob("*.yaml") if file.parent.name != "diseases"):
        written = path.read_bytes()
        data = msgspec.Raw(msgspec.json.encode(parse_yaml(written.decode())))
        name = msgspec.json.encode(path.relative_to(_PACKAGE).as_posix())
        lines.append(name + b":" + msgspec.json.encode(_Compiled(_sum(written), data)))
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


@functools.cache
def _compiled() -> dict[str, _Compiled]:
    try:
        return msgspec.json.decode(COMPILED.read_bytes(), type=dict[str, _Compiled])
    except (OSError, msgspec.DecodeError):  # what a checkout without it, or a half-written one, can do without
        return {}


def _sum(written: bytes) -> str:
    return hashlib.blake2b(written, digest_size=16).hexdigest()


def line_of(path: Path, field: str) -> int | None:
    """Returns the line, from 1, on which a field stands (`$.criteria.mild`), or what of it is there; None of `$`.

    `[...]` is some value of a mapping: the first in which the rest of the field stands.
    """
    import yaml  # noqa: PLC0415

    nodes = [
        yaml.compose(
            read_at_once(path, most=MAX_WRITTEN_BYTES).decode(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        )
    ]
    line: int | None = None
    for key, place in _STEP.findall(field):
        if place == "...":
            nodes = [value for node in nodes if isinstance(node, yaml.MappingNode) for _, value in node.value]
            continue
        if key:
            pairs = [pair for node in nodes if isinstance(node, yaml.MappingNode) for pair in node.value]
            found = [(name, value) for name, value in pairs if name.value == key]
        else:
            lists = [node.value for node in nodes if isinstance(node, yaml.SequenceNode)]
            found = [(one[int(place)], one[int(place)]) for one in lists if int(place) < len(one)]
        if not found:
            break
        line, nodes = found[0][0].start_mark.line + 1, [value for _, value in found]
    return line


def _pattern(kind: type, value: Any) -> Any:
    if get_origin(kind) is not re.Pattern:
        return value
    alternatives = msgspec.convert(value, str | list[str])
    try:
        return re.compile(alternatives if isinstance(alternatives, str) else "|".join(alternatives))
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None


def parse_yaml(text: str) -> Any:
    """Reads one YAML document into dicts, lists, texts and numbers."""
    # The import takes longer than reading most files, and not every command reads one.
    import yaml  # noqa: PLC0415

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node = yaml.compose(text, Loader=loader)
        if node is None:
            raise BadInput("the file says nothing")
        return _Nodes(yaml).read(node, "$", 0)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise BadInput(f"not YAML: {problem}", line=mark.line + 1 if mark else None) from None
    except (RecursionError, ValueError) as error:
        raise BadInput(f"not YAML: {' '.join(str(error).split())}") from None


class _Nodes:
    def __init__(self, yaml: Any) -> None:
        self._yaml = yaml
        self._scalars = yaml.constructor.SafeConstructor()
        self._count = 0

    def read(self, node: Any, field: str, depth: int) -> Any:
        self._count += 1
        if self._count > MOST_NODES or depth > DEEPEST:
            raise BadInput("too large, too deep, or holding itself", field=field, line=node.start_mark.line + 1)
        if isinstance(node, self._yaml.SequenceNode):
            return [self.read(part, f"{field}[{number}]", depth + 1) for number, part in enumerate(node.value)]
        if isinstance(node, self._yaml.MappingNode):
            return self._mapping(node, field, depth)
        kind = node.tag.rpartition(":")[2]
        # YAML 1.1 reads 12:30 as 750, in base 60.
        if kind not in _NUMBERS_AND_SUCH or ":" in node.value:
            return node.value
        return self._scalars.construct_object(node)

    def _mapping(self, node: Any, field: str, depth: int) -> dict[str, Any]:
        table: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, self._yaml.ScalarNode):
                raise BadInput("a key must be a text", field=field, line=key.start_mark.line + 1)
            if key.value in table:
                raise BadInput(f"{key.value!r} stands twice", field=field, line=key.start_mark.line + 1)
            table[key.value] = self.read(value, f"{field}.{key.value}", depth + 1)
        return table
