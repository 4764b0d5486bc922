"""Which language a text is in: English or Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")

CHINESE = "\u3400-\u9fff"
"""The Chinese characters, as a range inside the square brackets of a regular expression."""

_CHARACTER = re.compile(f"[{CHINESE}]")
_LATIN = re.compile(r"[A-Za-z]")


def is_chinese(text: str) -> bool:
    """Returns whether any Chinese character stands in a text."""
    return _CHARACTER.search(text) is not None


def chinese_characters(text: str) -> int:
    """Returns how many Chinese characters a text has."""
    return len(_CHARACTER.findall(text))


def language_of(texts: Iterable[str]) -> Language:
    """Returns `zh` where the texts are mainly Chinese, for all the Latin abbreviations of a laboratory report."""
    whole = "".join(texts)
    return "zh" if 3 * chinese_characters(whole) > len(_LATIN.findall(whole)) else "en"
