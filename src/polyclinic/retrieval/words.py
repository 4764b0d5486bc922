"""The words by which passages are found: stems of English, and Chinese cut into words as jieba does.

Nothing is left out as too common: "all" is a leukaemia, and a word that every passage holds weighs next to nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from polyclinic.language.language import CHINESE
from polyclinic.retrieval.extra import library

LONGEST = 60
"""Bytes of a word; what is longer is no word."""

_CHINESE_RUN = re.compile(rf"[{CHINESE}]+")


def tantivy() -> Any:
    """Returns the library that finds words; MissingExtra where it is not installed."""
    return library("tantivy", "finds passages by their words")


@lru_cache(maxsize=1)
def analyzer() -> Any:
    """Returns what makes words of a text that went through `cut`: letters and digits, folded and stemmed."""
    t = tantivy()
    builder = t.TextAnalyzerBuilder(t.Tokenizer.simple()).filter(t.Filter.remove_long(LONGEST))
    return (
        builder.filter(t.Filter.lowercase()).filter(t.Filter.ascii_fold()).filter(t.Filter.stemmer("english")).build()
    )


def cut(text: str) -> str:
    """Returns a text with blanks around each Chinese word.

    A long word is followed by the shorter ones in it, so that it is found by these too.
    """
    if text.isascii() or _CHINESE_RUN.search(text) is None:
        return text
    jieba = library("rjieba", "cuts Chinese into words")
    return _CHINESE_RUN.sub(lambda run: f" {' '.join(jieba.cut_for_search(run[0]))} ", text)


def terms(text: str) -> list[str]:
    """Returns the words of a text, in order, each as often as it stands there."""
    found: list[str] = analyzer().analyze(cut(text))
    return found
