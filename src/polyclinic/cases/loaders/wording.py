"""JSON values as text, keys as names, and numbers with their units."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from polyclinic.errors import BadInput
from polyclinic.language.word_lists import WordLists

WORDS = WordLists(Path(__file__).with_name("words"))
"""The words of this room."""

# Names of people keep their capital inside a name ("left Achilles tendon").
_PEOPLE = frozenset(
    "Achilles Babinski Coombs Doppler Gram Hansel Hansel’s Lachman McMurray Murphy Papanicolaou Pap Phalen Phalen's "
    "Rinne Romberg Rorschach Tanner Tinel Tinel's Weber Wright".split()
)
# "X-Ray", "C-Reactive" and "Anti-Nuclear" are no double names of people, as "Dix-Hallpike" is.
_HYPHENATED = re.compile(r"(?<=\bX-)Ray|(?<=\bC-)Reactive|(?<=\bAnti-)[A-Z](?=[a-z])")
_PREFIX = r"(?:[kcdmunpfμµ]?)"
_UNIT = re.compile(
    rf"""(?:{_PREFIX}(?:g|L|l|mol|m|IU|U|Eq|Osm|s|Pa)|mm\ ?Hg|bpm|breaths|beats|lb|years)
        (?:/(?:{_PREFIX}(?:L|l|g|m2|mol)|min|minute|h|hr|hour|24h|24\ h|day))?""",
    re.VERBOSE,
)
_NUMBER_AND_UNIT = re.compile(r"(-?\d+(?:\.\d+)?) (\S.*)")


def as_text(value: Any) -> str:
    """Returns a JSON value as text: lists joined with "; ", objects as "Name: text; ...", null as nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return "; ".join(text for text in map(as_text, value) if text)
    if isinstance(value, dict):
        parts = ((readable(str(key)), as_text(part)) for key, part in value.items())
        return "; ".join(f"{name}: {text}" for name, text in parts if text)
    return str(value)


def as_object(value: Any, field: str) -> dict[str, Any]:
    """Returns the value if it is a JSON object, and refuses, with the field, what is something else."""
    if not isinstance(value, dict):
        came = "nothing" if value is None else type(value).__name__
        raise BadInput(f"an object {{...}} is needed here; there is {came}", field=field)
    return value


def readable(key: str) -> str:
    """Returns a key as a name: `Complete_Blood_Count` becomes "Complete blood count", `MRI_Brain` "MRI brain"."""
    words = _HYPHENATED.sub(lambda match: match[0].lower(), key.replace("_", " ")).split()
    return " ".join(words[:1] + [word.lower() if _is_common(word) else word for word in words[1:]])


def lower_first(name: str) -> str:
    """Returns a name as it stands inside a line: its first word in lower case, unless it is an abbreviation."""
    first, _, rest = name.partition(" ")
    return f"{first.lower() if _is_common(first) else first} {rest}".strip()


def _is_common(word: str) -> bool:
    """Tells a common noun in title case from an abbreviation, a letter ("hepatitis B") and a person."""
    return len(word) > 1 and word.istitle() and word.isalpha() and word not in _PEOPLE


def split_value(text: str) -> tuple[str | float, str]:
    """Splits "9.1 g/dL" into 9.1 and "g/dL"; whatever would not read out the same again stays whole, with unit ""."""
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match and _UNIT.fullmatch(match[2]) and f"{float(match[1]):g}" == match[1]:
        return float(match[1]), match[2]
    return text, ""
