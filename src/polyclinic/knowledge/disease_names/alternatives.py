"""Where a name names several diseases: alternatives ("influenza or asthma", 哮喘/慢阻肺), and lists of diagnoses.

A mark or a word that joins divides a name into parts; whether diseases stand on both sides of it, or what only
says more of one ("Fracture of femur, left"), is for who reads them. Brackets are not looked into. Behind "with", "due
to" or "without", what joins joins what stands beside the disease; only a comma goes back to it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from polyclinic.knowledge.disease_names.segments import SEPARATORS
from polyclinic.knowledge.disease_names.vocabulary import NameVocabulary

Joint = Literal["", "or", "and", ","]

_OR = frozenset("/?？")
_OPENING, _CLOSING = frozenset("(（[【"), frozenset(")）]】")
_LINES = re.compile(r"\s*[\n\r|。]+\s*")
_NUMBERED = re.compile(r"(?:^|(?<=[\s,;，；、。]))[(（]?\d{1,2}\s?[.)）、．](?=\s*[^\W\d])")


class JoinedPart(NamedTuple):
    """A row of units between two joints; `joint` is the one before it."""

    joint: Joint
    row: tuple[str, ...]


def one_line(name: str) -> str:
    """Returns a name on one line, with a semicolon between lines and for bars, full stops and numbers of a list."""
    name = _LINES.sub("; ", name.strip(" \t\n\r|。"))
    return " ".join(_NUMBERED.sub("; ", name).strip("; ").split())


def joined(row: tuple[str, ...]) -> str:
    """Returns units as a name."""
    text = row[0] if row else ""
    for last, unit in itertools.pairwise(row):
        text += unit if not last.isascii() and not unit.isascii() else f" {unit}"
    return text


def parts_of(row: tuple[str, ...], words: NameVocabulary, *, at_and: bool = False) -> list[JoinedPart]:
    """Returns what stands between the marks and words that may join diseases, "and" only `at_and`."""
    parts: list[JoinedPart] = []
    begun, depth, linked = 0, 0, False
    joint: Joint = ""
    for begin, end, found in _joints(row, words):
        if row[begin] in _OPENING or row[begin] in _CLOSING:
            depth += 1 if row[begin] in _OPENING else -1
        elif found == "link":
            linked = True
        elif depth <= 0 and (found != "and" or at_and) and (not linked or row[begin] in ",，;；"):
            parts.append(JoinedPart(joint, row[begun:begin]))
            begun, joint, linked = end, found, False
    parts.append(JoinedPart(joint, row[begun:]))
    return [part for part in parts if part.row]


def choices_of(row: tuple[str, ...], words: NameVocabulary) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yields a name with the one and with the other of two words that "or" joins ("type 1 or type 2 diabetes").

    Where the words may be cut in several ways there are several pairs, that with the longest words first.
    """
    spans = list(_spans(row, words))
    for place in range(1, len(spans) - 1):
        begin, end, found = spans[place]
        if found == "or" and not spans[place - 1][2] and not spans[place + 1][2]:
            for first in dict.fromkeys((spans[place - 1][0], begin - 1)):
                for behind in dict.fromkeys((spans[place + 1][1], *_ends(row, end, words))):
                    yield row[:begin] + row[behind:], row[:first] + row[end:]


def _ends(row: tuple[str, ...], begin: int, words: NameVocabulary) -> list[int]:
    return [*reversed([end for end, _ in words.starting(row, begin)]), begin + 1]


def _joints(row: tuple[str, ...], words: NameVocabulary) -> Iterator[tuple[int, int, Joint | Literal["link"]]]:
    for begin, end, found in _spans(row, words):
        if found:
            yield begin, end, found


def _spans(row: tuple[str, ...], words: NameVocabulary) -> Iterator[tuple[int, int, Joint | Literal["link"]]]:
    """Yields the words of a row, the longest first, and whether they join."""
    at = 0
    while at < len(row):
        if row[at] in SEPARATORS:
            yield at, at + 1, "or" if row[at] in _OR else ","
            at += 1
            continue
        end, word = max(words.starting(row, at), key=lambda found: found[0], default=(at + 1, None))
        found = word.atoms[0] if word is not None and word.kind == "link" else ""
        link: Joint | Literal["link"] = ""
        if found == "or":
            link = "or"
        elif found == "and":
            link = "and"
        elif found and found not in ("of", "not"):
            link = "link"
        yield at, end, link
        at = end
