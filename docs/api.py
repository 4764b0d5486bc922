"""The reference of the public names, from their signatures and docstrings; `make docs` writes it to docs/api.md."""

import importlib
import inspect
import re
import types
from enum import Enum
from typing import Any

import msgspec

ROOMS = (
    "polyclinic",
    "polyclinic.cases",
    "polyclinic.visits",
    "polyclinic.players",
    "polyclinic.models",
    "polyclinic.questions",
    "polyclinic.answering",
    "polyclinic.methods",
    "polyclinic.evaluations.exams",
    "polyclinic.evaluations.patient_simulator",
    "polyclinic.hospital",
    "polyclinic.testing",
)
_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):$")
_ITEM = re.compile(r"^ {4}(\*{0,2}\w+)(?: \(.*\))?: (.*)")


def reference() -> str:
    """Returns every room with its public names; a name stands where it is met first."""
    parts = ["# From Python\n\nEvery public name, by the room that it is imported from.\n"]
    told: dict[int, str] = {}
    for room in ROOMS:
        module = importlib.import_module(room)
        parts.append(f"## `{room}`\n\n{_text(inspect.getdoc(module) or '')}")
        for name in module.__all__:
            thing = getattr(module, name)
            known = told.setdefault(id(thing), room)
            if known != room:
                parts.append(f"### `{name}`\n\nAs in `{known}`.\n")
            elif not callable(thing):
                parts.append(f"### `{name}`\n\n{_kind(thing)}\n")
            else:
                parts.append(f"### `{name}`\n\n```py\n{_head(name, thing)}\n```\n\n{_text(_docstring(thing))}")
    return "\n".join(parts)


def _kind(value: object) -> str:
    keys = f": {', '.join(f'`{key}`' for key in value)}" if isinstance(value, dict) else ""
    return f"A `{type(value).__name__}`{keys}."


def _docstring(thing: Any) -> str:
    own = thing.__doc__ if not isinstance(thing, type) or "__doc__" in vars(thing) else None
    return inspect.cleandoc(own or "")


def _head(name: str, thing: Any) -> str:
    if isinstance(thing, type) and issubclass(thing, msgspec.Struct):
        fields = [one.name if one.required else f"{one.name}=..." for one in msgspec.structs.fields(thing)]
        return _call(f"class {name}", fields)
    if isinstance(thing, type) and getattr(thing, "_is_protocol", False):
        return f"class {name}(Protocol)"
    if isinstance(thing, type) and issubclass(thing, Enum):
        return f"class {name}({thing.__base__.__name__})"
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return f"class {name}"
    shown = [_parameter(one) for one in signature.parameters.values()]
    for place, one in enumerate(signature.parameters.values()):
        if one.kind is one.KEYWORD_ONLY:
            shown.insert(place, "*")
            break
    if isinstance(thing, type):
        return _call(f"class {name}", shown)
    word = "async def" if inspect.iscoroutinefunction(thing) else "def"
    returned = "" if signature.return_annotation is signature.empty else f" -> {signature.return_annotation}"
    return _call(f"{word} {name}", shown, returned)


def _parameter(one: inspect.Parameter) -> str:
    stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    annotation = "" if one.annotation is one.empty else f": {one.annotation}"
    if one.default is one.empty:
        return f"{stars}{one.name}{annotation}"
    default = one.default.value if isinstance(one.default, Enum) else one.default
    plain = isinstance(default, str | int | float | types.NoneType)
    return f"{stars}{one.name}{annotation} = {repr(default) if plain else '...'}"


def _call(start: str, parts: list[str], end: str = "") -> str:
    whole = f"{start}({', '.join(parts)}){end}"
    return whole if len(whole) <= 100 else f"{start}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def _text(docstring: str) -> str:
    """Returns a docstring as Markdown: sections in italics, what they list as lists, examples as code."""
    lines: list[str] = []
    within = False
    for line in docstring.splitlines():
        if section := _SECTION.match(line):
            within = True
            lines += [f"*{section[1]}*", ""]
        elif within and (item := _ITEM.match(line)):
            lines.append(f"- `{item[1]}`: {item[2]}")
        elif within and line.startswith("    "):
            listed = bool(lines) and lines[-1].startswith(("- ", "  "))
            lines.append(f"{'  ' if listed else ''}{line.strip()}")
        else:
            within = within and not line.strip()
            lines.append(line)
    return "\n".join(lines).strip() + "\n"
