"""Searching a text for terms.

A term stands in a text regardless of case, of full and half width, of blanks and of the form of quotation marks and
dashes; Latin words only as whole words. Abbreviations keep their case, or "(ALL)" would be found in every text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from polyclinic.language.language import CHINESE

ABBREVIATION = re.compile(r"(?=.*[A-Z].*[A-Z])[A-Za-z0-9-]{3,8}")
SENTENCE = re.compile(r"[。；;！？!?\n]|\.(?=\s|$)")
"""What ends a sentence."""

_MARKS = str.maketrans("‘’ʼ`´“”„«»‐‑‒–—−", "'" * 5 + '"' * 5 + "-" * 6)
_BLANKS = re.compile(r"\s+")
_BESIDE_CHINESE = re.compile(f"(?<=[{CHINESE}。、]) | (?=[{CHINESE}。、])")
_WORD = re.compile(r"[a-z0-9]")
_EXCERPT = 40


class Folded:
    """A text made ready for searching."""

    def __init__(self, text: str) -> None:
        self.cased = tidy(text)
        self.plain = self.cased.casefold()

    def find(self, term: str) -> int:
        """Returns where a folded term stands as whole words, or -1."""
        text = self.cased if ABBREVIATION.fullmatch(term) else self.plain
        at = text.find(term)
        while at >= 0:
            end = at + len(term)
            before, after = text[at - 1 : at].lower(), text[end : end + 1].lower()
            inside = (_WORD.match(before) and _WORD.match(term[:1].lower())) or (
                _WORD.match(after) and _WORD.match(term[-1:].lower())
            )
            number = term[:1].isdigit() and before in {".", ","} and text[at - 2 : at - 1].isdigit()
            if not inside and not number:
                return at
            at = text.find(term, at + 1)
        return -1

    def around(self, at: int, length: int) -> str:
        """Returns the words around a place."""
        text = self.cased if len(self.cased) == len(self.plain) else self.plain
        begin, end = max(0, at - _EXCERPT), at + length + _EXCERPT
        return f"{'…' if begin else ''}{text[begin:end].strip()}{'…' if end < len(text) else ''}"


def tidy(text: str) -> str:
    """Returns a text in one width, with one form of marks, and without blanks beside Chinese."""
    if text.isascii():
        return " ".join(text.replace("`", "'").split())
    plain = unicodedata.normalize("NFKC", text).translate(_MARKS)
    return _BESIDE_CHINESE.sub("", _BLANKS.sub(" ", plain)).strip()


def fold_term(term: str) -> str:
    """Returns a term as `Folded.find` takes it."""
    folded = tidy(term)
    return folded if ABBREVIATION.fullmatch(folded) else folded.casefold()


def stands_in(text: str, terms: Iterable[str]) -> str | None:
    """Returns the first of the terms that stands in the text, or None."""
    folded = Folded(text)
    return next((term for term in terms if folded.find(fold_term(term)) >= 0), None)
