"""Search over everything that was said: each record read once, as much at a time as a reader waits for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from polyclinic.errors import UserError
from polyclinic.web.browse.documents import Documents
from polyclinic.web.browse.showing import said

LONGEST = 200
"""Letters of a question."""

_SECONDS = 2.0
_HITS = 100
_AROUND = 90  # letters beside what was found


def said_in(documents: Documents, id: str) -> Iterator[tuple[int, int, int, str, str]]:
    """Yields all that was said in a holding: file, line, where in the record, who, and the text."""
    one = documents.library.holding(id)
    if one.holds == "journal":
        return
    for place, lines in enumerate(documents.lines_of(one)):
        for line in lines:
            try:
                record = documents.record(id, place, line)["record"]
            except UserError:
                continue
            yield from ((place, line, seq, who, text) for seq, who, text in said(record))


def search(documents: Documents, question: str, begin: int) -> dict[str, Any]:
    """Returns where all words of a question were said together.

    Args:
        documents: what is searched.
        question: words; a text has to hold each of them.
        begin: which record comes first; what an earlier answer called `next`.

    Returns:
        `hits`, how many records were `looked` at of how many (`total`), and the `next`, None at the end.
    """
    words = question[:LONGEST].casefold().split()
    places = [
        (id, place, line)
        for id, one in documents.library.look().items()
        if one.holds != "journal"
        for place, lines in enumerate(_lines(documents, id))
        for line in lines
    ]
    hits: list[dict[str, Any]] = []
    until = time.monotonic() + _SECONDS
    number = begin
    while words and number < len(places) and len(hits) < _HITS and time.monotonic() < until:
        id, place, line = places[number]
        hits += _found(documents, id, place, line, words)
        number += 1
    done = number >= len(places) or not words
    return {"hits": hits, "looked": number, "total": len(places), "next": None if done else number}


def _lines(documents: Documents, id: str) -> list[list[int]]:
    try:
        return list(documents.lines_of(documents.library.holding(id)))
    except UserError:
        return []


def _found(documents: Documents, id: str, place: int, line: int, words: list[str]) -> Iterator[dict[str, Any]]:
    if not documents.may_hold(id, place, line, words):
        return
    try:
        record = documents.record(id, place, line)["record"]
    except UserError:
        return
    for seq, who, text in said(record):
        low = text.casefold()
        if all(word in low for word in words):
            yield {"id": id, "file": place, "line": line, "seq": seq, "who": who, "text": _around(text, words[0])}


def _around(text: str, word: str) -> str:
    at = max(text.casefold().find(word), 0)
    begin, end = max(at - _AROUND, 0), at + len(word) + _AROUND
    return ("… " if begin else "") + text[begin:end].strip() + (" …" if end < len(text) else "")
