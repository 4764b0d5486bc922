"""Makes a value that a JSON Schema allows, as a well-behaved model would: the same one for the same generator."""

from __future__ import annotations

import random
from typing import Any

WORDS = "cough fever since two days night better worse never left right chest pain after meals none known mild".split()


def instance(schema: dict[str, Any], rng: random.Random, defs: dict[str, Any] | None = None) -> Any:  # noqa: PLR0912
    """Returns a value that a schema made from types allows; patterns and formats are not followed."""
    defs = schema.get("$defs", {}) if defs is None else defs
    if "$ref" in schema:
        return instance(defs[schema["$ref"].rsplit("/", 1)[-1]], rng, defs)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return instance(rng.choice(schema[key]), rng, defs)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = rng.choice(kind)
    match kind:
        case "object":
            return {name: instance(part, rng, defs) for name, part in schema.get("properties", {}).items()}
        case "array":
            fewest = schema.get("minItems", 0)
            most = min(schema.get("maxItems", fewest + 2), fewest + 2)
            if "prefixItems" in schema:
                return [instance(part, rng, defs) for part in schema["prefixItems"]]
            return [instance(schema.get("items") or {}, rng, defs) for _ in range(rng.randint(fewest, most))]
        case "string":
            text = " ".join(rng.choices(WORDS, k=rng.randint(1, 6)))
            return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength", len(WORDS) * 8)]
        case "integer" | "number":
            low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
            high = schema.get("maximum", schema.get("exclusiveMaximum", low + 101) - 1)
            return rng.randint(int(low), max(int(low), int(high)))
        case "boolean":
            return rng.random() < 0.5
        case _:
            return None


def damage(value: Any, how: str) -> Any:
    """Returns the value with one thing wrong: "wrong-type", "missing-field" or "no-option"."""
    if not isinstance(value, dict) or not value:
        return {"unexpected": value}
    name = next(iter(value))
    if how == "missing-field":
        return {key: part for key, part in value.items() if key != name}
    if how == "no-option":
        return {key: "an option that does not exist" if isinstance(part, str) else part for key, part in value.items()}
    return {**value, name: {"not": "the type asked for"}}
