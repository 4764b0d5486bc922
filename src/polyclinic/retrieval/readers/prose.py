"""Passages out of plain text and Markdown: whole paragraphs together, long ones cut between sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from polyclinic.errors import BadInput
from polyclinic.files import read_lines
from polyclinic.language.language import chinese_characters
from polyclinic.retrieval.store import NewPassage

MOST = 1_000
"""Characters of a passage, as in MedRAG's corpora; a Chinese one counts for two and a half, as it says as much."""

_CHINESE = 2.5
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = re.compile(r"\s*(```|~~~)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])")
_WORD = re.compile(r"\s+")


def read_prose(path: Path, called: str) -> Iterator[tuple[int, NewPassage]]:
    """Yields passages with the lines that they begin in; their titles are the headings above them, or the file's name.

    Their ids are what the file is `called`, and their number in it.

    Raises:
        BadInput: the file cannot be read, or holds headings only, or NUL bytes.
    """
    name = path.name.removesuffix(".gz")
    markdown = name.lower().endswith((".md", ".markdown"))
    headings: list[tuple[int, str]] = []
    parts: list[tuple[int, str]] = []
    number, last, fenced = 0, -1, False

    def passages() -> Iterator[tuple[int, NewPassage]]:
        nonlocal number
        title = " > ".join(text for _, text in headings) or Path(name).stem
        for line, text in _together(parts):
            number += 1
            yield line, NewPassage(f"{called}-{number}", title, text)
        parts.clear()

    for line, raw in read_lines(path):
        if "\0" in raw:
            raise BadInput("NUL bytes, and no text; name a text file", path=path, line=line)
        text = raw.strip()
        fenced ^= markdown and _FENCE.match(text) is not None
        heading = _HEADING.match(text) if markdown and not fenced else None
        if heading is not None:
            yield from passages()
            level = len(heading[1])
            headings = [(above, title) for above, title in headings if above < level] + [(level, heading[2])]
        elif parts and line == last + 1:
            begun, paragraph = parts[-1]
            parts[-1] = (begun, f"{paragraph}\n{text}")
        else:
            parts.append((line, text))
        last = line if heading is None else -1
    yield from passages()
    if not number:
        raise BadInput("headings only; a text is needed", path=path)


def _together(paragraphs: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Puts paragraphs together as long as they fit, with the line of the first."""
    gathered: list[str] = []
    begun = 0
    for line, paragraph in paragraphs:
        for piece in _pieces(paragraph):
            if gathered and _weight("\n\n".join([*gathered, piece])) > MOST:
                yield begun, "\n\n".join(gathered)
                gathered = []
            if not gathered:
                begun = line
            gathered.append(piece)
    if gathered:
        yield begun, "\n\n".join(gathered)


def _pieces(paragraph: str) -> Iterator[str]:
    """Cuts a paragraph that is too long between its sentences, and a sentence that is too long between its words."""
    if _weight(paragraph) <= MOST:
        yield paragraph
        return
    piece = ""
    for sentence in _SENTENCE.split(paragraph):
        for part in [sentence] if _weight(sentence) <= MOST else _words(sentence):
            if piece and _weight(f"{piece} {part}") > MOST:
                yield piece
                piece = ""
            blank = " " if piece and piece[-1].isascii() else ""
            piece = f"{piece}{blank}{part}"
    if piece:
        yield piece


def _words(sentence: str) -> Iterator[str]:
    step = int(MOST // _CHINESE)
    for word in _WORD.split(sentence):
        yield from (word[start : start + step] for start in range(0, len(word), step))


def _weight(text: str) -> float:
    return len(text) + (_CHINESE - 1) * chinese_characters(text)
