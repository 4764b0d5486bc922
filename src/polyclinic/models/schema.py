"""JSON Schema from types, as constrained decoders want it.

Every object is closed and all its fields are required, references are inlined, and the root is an object.
"""

from __future__ import annotations

import functools
from typing import Any

import msgspec

DROPPED = frozenset({"title", "default", "discriminator", "description"})
"""Keywords that some constrained decoders refuse. A `description` stays where it is a field's, see `_closed`."""


class Form(msgspec.Struct, frozen=True):
    """What an answer must look like; the decoder reads the value or the object around it, `bare` the value itself."""

    schema: dict[str, Any]  # JSON Schema, with an object at its root; `text` is the same as JSON
    strict: bool  # whether every object in it is closed, so that servers that want that ("strict") take it
    wrapped: bool  # whether the value stands in a field "answer", because it is no object itself
    decoder: msgspec.json.Decoder[Any]
    bare: msgspec.json.Decoder[Any]
    text: str


@functools.lru_cache(maxsize=512)
def form_of(answer: Any) -> Form:
    """Returns the form of an answer: a type that msgspec knows, or a tuple of the strings that are allowed."""
    if isinstance(answer, tuple):
        if not answer:
            raise TypeError("an answer needs at least one option to choose from")
        part: dict[str, Any] = {"enum": list(answer)}
        answer = str
    else:
        (part,), defs = msgspec.json.schema_components((answer,), ref_template="#/$defs/{name}")
        try:
            part = _closed(part, defs)
        except RecursionError:
            part = {**_closed(part, {}), "$defs": {name: _closed(body, {}) for name, body in defs.items()}}
    wrapped = part.get("type") != "object"
    if wrapped:
        outer = {"$defs": part.pop("$defs")} if "$defs" in part else {}
        fields = {"answer": part}
        part = {"type": "object", "properties": fields, "required": ["answer"], "additionalProperties": False, **outer}
    bare = msgspec.json.Decoder(answer)
    decoder = msgspec.json.Decoder(msgspec.defstruct("Wrapped", [("answer", answer)])) if wrapped else bare
    text = msgspec.json.encode(part).decode()
    return Form(schema=part, strict=_is_strict(part), wrapped=wrapped, decoder=decoder, bare=bare, text=text)


def form_of_schema(schema: dict[str, Any]) -> Form:
    """Returns the form of an answer whose JSON Schema somebody else made. It is read as any JSON."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
    text = msgspec.json.encode(schema).decode()
    return Form(schema=schema, strict=_is_strict(schema), wrapped=False, decoder=decoder, bare=decoder, text=text)


def _closed(node: Any, defs: dict[str, Any], inside: frozenset[str] = frozenset()) -> Any:
    """Returns the schema with its objects closed and its references, as far as `defs` holds them, put in place."""
    if isinstance(node, list):
        return [_closed(part, defs, inside) for part in node]
    if not isinstance(node, dict):
        return node
    name = node["$ref"].rsplit("/", 1)[-1] if "$ref" in node else None
    if name in inside:
        raise RecursionError(name)
    if name in defs:
        merged = {key: part for key, part in node.items() if key == "description"}
        return {**_closed(defs[name], defs, inside | {name}), **merged}
    closed = {
        key: _closed(part, defs, inside) for key, part in node.items() if key not in DROPPED and key != "properties"
    }
    if "properties" in node:
        closed["properties"] = {
            key: {**_closed(part, defs, inside), **{k: part[k] for k in ("description",) if k in part}}
            for key, part in node["properties"].items()
        }
        closed["required"] = list(node["properties"])
        closed["additionalProperties"] = False
    elif node.get("type") == "object" and "additionalProperties" not in node:
        closed.update(properties={}, required=[], additionalProperties=False)
    return closed


def _is_strict(node: Any) -> bool:
    """Tells whether all objects are closed and all parts have a type."""
    if isinstance(node, list):
        return all(map(_is_strict, node))
    if not isinstance(node, dict):
        return True
    if node.get("type") == "object" and node.get("additionalProperties") is not False:
        return False
    return all(map(_is_strict, node.values()))
