"""Multiple-choice options and right keys, in the many ways that data sets write them."""

from __future__ import annotations

import ast
import re
import string
import unicodedata
from collections.abc import Mapping
from typing import Any

import msgspec

from polyclinic.cases.loaders.fields import as_text
from polyclinic.errors import BadInput

_LETTER = re.compile(r"(?:^|[,，;；、\n])\s*(?:[(（]([A-Z])[)）]|([A-Z])[.．、:：)])\s*(\w)")
_MARKED = re.compile(r"\s*\(?([A-Z])(?:[.．、:：]|\))\s*(.*)", re.DOTALL)


def read_options(value: Any, field: str) -> dict[str, str]:
    """Returns the options as key to text, in their order.

    An object keeps its keys. An array, an array literal in a text, and plain lines get letters. A text is split at its
    letters ("A. ..., B. ..." or "(A) ... (B) ..."), which must follow the alphabet, so that commas inside survive.

    Raises:
        BadInput: no options can be read, or a key or letter stands before two of them.
    """
    if isinstance(value, str):
        value = literal(value)
    if isinstance(value, str):
        if twice := _letter_twice(value):
            raise BadInput(f"the letter {twice} stands before two options; each once", field=field)
        value = _split_letters(value) or [line for line in value.splitlines() if line.strip()]
    if isinstance(value, list):
        if twice := _key_twice(value):
            raise BadInput(f"the letter {twice} stands before two options; each once", field=field)
        value = _lettered(value)
    if not isinstance(value, dict) or len(value) < 2:
        raise BadInput(
            "two or more options are needed: an object, an array, or text such as 'A. ..., B. ...'", field=field
        )
    return {str(key).strip(): as_text(text) for key, text in value.items()}


def same_options(options: Mapping[str, str]) -> tuple[str, str] | None:
    """Returns the keys of two options in the same text but for case, width and blanks; None where there are none."""
    first: dict[str, str] = {}
    for key, text in options.items():
        bare = "".join(unicodedata.normalize("NFKC", text).casefold().split())
        if bare in first:
            return first[bare], key
        first[bare] = key
    return None


def read_keys(value: Any, options: dict[str, str]) -> tuple[str, ...]:
    """Returns the keys of the right options: of "A, C", "a, c", "AC", ["A", "C"] or an option's own text.

    What is none of the options is returned as it came, for the check of the file to report.
    """
    if isinstance(value, list):
        return tuple(key for part in value for key in read_keys(part, options))
    text = as_text(value)
    if not text or text in options:
        return (text,) if text else ()
    by_text = [key for key, option in options.items() if _bare(option) == _bare(text)]
    if by_text:
        return (by_text[0],)
    parts = [part.strip("().． ") for part in re.split(r"[,，、;；\s]+", text) if part.strip("().． ")]
    if len(parts) == 1 and all(letter in options for letter in parts[0]):
        parts = list(parts[0])
    # A letter by itself may be small; several together would be a word.
    return tuple(part if part in options or part.upper() not in options else part.upper() for part in parts)


def _bare(option: str) -> str:
    marked = _MARKED.fullmatch(option)
    return (marked[2] if marked else option).strip().casefold()


def literal(text: Any) -> Any:
    """Returns what a text says in JSON or as Python writes it, an array or an object; else what came, as it came."""
    if not isinstance(text, str) or not text.lstrip().startswith(("[", "{")):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _split_letters(text: str) -> dict[str, str]:
    starts: list[tuple[int, int]] = []
    at = 0
    for letter in string.ascii_uppercase:
        mark = re.compile(rf"(?:^|(?<=[\s,，;；、]))(?:\({letter}\)|（{letter}）|{letter}[.．、:：)])\s*")
        match = mark.search(text, at)
        if match is None:
            break
        starts.append(match.span())
        at = match.end()
    if len(starts) < 2 or text[: starts[0][0]].strip():
        return {}
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return {
        letter: text[begin:end].strip().rstrip(",，;；、").rstrip()
        for letter, (_, begin), end in zip(string.ascii_uppercase, starts, ends, strict=False)
    }


def _letter_twice(text: str) -> str:
    """Returns a letter that stands before two options of a text; "" where none does.

    "Sepsis by B. cereus" is no option B: a letter counts at the beginning or behind what parts options, and not before
    a small letter where the first option has a large one.
    """
    found = [(match[1] or match[2], match[3]) for match in _LETTER.finditer(text)]
    capital = bool(found) and found[0][1].isupper()
    letters = [letter for letter, first in found if not (capital and first.islower())]
    return next((letter for letter in letters if letters.count(letter) > 1), "")


def _key_twice(values: list[Any]) -> str:
    """Returns a key or letter that stands before two options of an array; "" where none does."""
    if values and all(isinstance(v, dict) and {"key", "value"} <= v.keys() for v in values):
        keys = [as_text(v["key"]) for v in values]
    else:
        marked = [_MARKED.fullmatch(as_text(value)) for value in values]
        keys = [m[1] for m in marked if m] if all(marked) else []
    return next((key for key in keys if keys.count(key) > 1), "")


def _lettered(values: list[Any]) -> dict[str, str]:
    if values and all(isinstance(v, dict) and {"key", "value"} <= v.keys() for v in values):
        return {as_text(v["key"]): as_text(v["value"]) for v in values}
    texts = [as_text(value) for value in values]
    marked = [_MARKED.fullmatch(text) for text in texts]
    letters = string.ascii_uppercase
    if all(m and m[1] == letter for m, letter in zip(marked, letters, strict=False)):
        texts = [m[2] for m in marked if m]
    return dict(zip(letters, texts, strict=False))
