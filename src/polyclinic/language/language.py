"""Which language a text is in: English or Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

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


def length(text: str) -> int:
    """Returns how long a text is: characters where it holds Chinese, else words between single blanks; 0 if blank."""
    if not text.strip():
        return 0
    return len(text) if is_chinese(text) else text.count(" ") + 1


def language_of(texts: Iterable[str]) -> Language:
    """Returns `zh` where the texts are mainly Chinese, for all the Latin abbreviations of a laboratory report."""
    whole = "".join(texts)
    if whole.isascii():
        return "en"
    return "zh" if 3 * chinese_characters(whole) > len(_LATIN.findall(whole)) else "en"


def capitalised(text: str) -> str:
    """Returns a text with a capital at its beginning; a Chinese one as it is."""
    return text[:1].upper() + text[1:]


def uncapitalised(text: str) -> str:
    """Returns a text with a small letter at its beginning, as it stands behind other words."""
    return text[:1].lower() + text[1:]


class Marks(msgspec.Struct, frozen=True):
    """What stands between items, clauses, groups of items, sentences and words, with the blank that belongs there.

    `stop`, at the end of a sentence, has none.
    """

    item: str
    comma: str
    colon: str
    semicolon: str
    stop: str
    blank: str


MARKS: dict[Language, Marks] = {
    "en": Marks(item=", ", comma=", ", colon=": ", semicolon="; ", stop=".", blank=" "),
    "zh": Marks(item="、", comma="，", colon="：", semicolon="；", stop="。", blank=""),
}
