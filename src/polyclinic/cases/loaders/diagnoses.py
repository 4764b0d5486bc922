"""Lists of diagnoses and of reasons, out of numbered or separated text."""

from __future__ import annotations

import re

from polyclinic.cases.report import Diagnosis

_LINE_NUMBER = re.compile(r"^\s*(?:[-•*]\s*|[（(]?\d{1,2}\s*[.．、)）]\s*(?!\d))")
_OPEN, _CLOSE = "(（[【“", ")）]】”"
# Each is tried only where the ones before it divide nothing: a comma inside a numbered item belongs to the item.
_SEPARATORS = ("\n", "；;", "、", "，,")


def split_diagnoses(text: str) -> tuple[Diagnosis, ...]:
    """Returns the diagnoses of a text, without their numbers, in their order.

    Understands "1. ... 2. ..." with or without line breaks, and lists by line, semicolon or comma; what stands in
    brackets is never divided, and neither are commas inside numbered items.
    """
    names = _numbered(text.strip())
    for marks in _SEPARATORS:
        if len(names) == 1:
            names = split_outside(names[0], marks)
    bare = (_LINE_NUMBER.sub("", name).strip(" \n\t。.；;，,、") for name in names)
    return tuple(Diagnosis(name) for name in dict.fromkeys(bare) if name)


def split_points(text: str) -> tuple[str, ...]:
    """Returns the lines of a text as items, without their numbers."""
    lines = (_LINE_NUMBER.sub("", line).strip() for line in text.splitlines())
    return tuple(line for line in lines if line)


def split_outside(text: str, marks: str) -> list[str]:
    """Splits a text at any of the marks that does not stand in brackets or quotation marks."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in _OPEN:
            depth += 1
        elif letter in _CLOSE:
            depth = max(0, depth - 1)
        elif letter in marks and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _numbered(text: str) -> list[str]:
    """Splits at 1, 2, 3 ... in this order, so that numbers inside a name ("type 2", "2.5 cm") divide nothing."""
    starts: list[tuple[int, int]] = []
    at, number = 0, 1
    while True:
        # "1." or, as some records have it, a bare "2" after a semicolon; "2型", "3级" belong to a name.
        dotted = rf"(?<!\d){number}\s*[.．、)）]\s*(?!\d(?!\d?\s*型))"
        bare = rf"(?<=[；;\n]){number}(?![\d.．型级期度])" if number > 1 else rf"^{number}(?![\d.．型级期度\s-])"
        match = re.compile(f"{dotted}|{bare}").search(text, at)
        if match is None or (number == 1 and match.start()):
            break
        starts.append(match.span())
        at, number = match.end(), number + 1
    if not starts:
        return [text]
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return [text[begin:end] for (_, begin), end in zip(starts, ends, strict=True)]
