"""Words by which a text speaks of examinations and results, whether or not the knowledge has them."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from polyclinic.language.language import LANGUAGES
from polyclinic.language.word_lists import Pattern, WordLists

WORDS = WordLists(Path(__file__).with_name("words"))
"""The words of this room."""


class _ExaminationWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fishing: Pattern
    examination: Pattern
    body: Pattern


_words = WORDS.section("examinations", _ExaminationWords)
_ENGLISH, _CHINESE = map(_words, LANGUAGES)


def _either(english: Pattern, chinese: Pattern) -> Pattern:
    return re.compile(f"{english.pattern}|{chinese.pattern}", re.IGNORECASE)


FISHING = _either(_ENGLISH.fishing, _CHINESE.fishing)
"""Words that ask for more than is named."""

EXAMINATION = _either(_ENGLISH.examination, _CHINESE.examination)
"""Words by which a text speaks of an examination, whether or not the knowledge has it."""

LABORATORY_VALUE = re.compile(
    r"\d\s*(?:[x×*]\s*10\s*\^?\s*\d+\s*/\s*[Ll]|(?:m?g|[µμu]g|ng|pg|k?U|m?I?U|[mµμu]?mol|mEq"
    r"|Eq|cells|g)\s*/\s*(?:d?[Ll]|m[Ll]|mm|h)"
    r"|/\s*(?:mm3|mm³|[µμu]L|HPF|LPF)|mm\s*Hg|fL\b|[Bb]pm|次/分|mOsm|dBHL|HU\b)"
    r"|\d+\s*/\s*\d+\s*mm\s*Hg|/(?:mm3|mm³|[µμu][Ll])\b|(?:体温|T)[:：]?\s*3[5-9]\.\d",
)
"""Numbers that only a measurement can give."""

MEASURED = re.compile(
    r"\s*(?:[<>＜＞≤≥]?\d[\d.,*×x^]*\s*(?:%|‰|/|[a-zA-Zμ]+/)|(?:弱?阳|阴)\s*性|(?-i:[HLN])(?![A-Za-z]))"
)
"""What is measured, or how it came out: behind a comma it belongs to the name before it ("血清钾，4.0mmol/L，N")."""

TECHNIQUE = re.compile(
    r"(?:CTA?|MRI?|MRA|X|ultrasou?n|ultraso|scan|B\s*超|彩超|超声|核磁|磁共振|平片|造影|增强)", re.IGNORECASE
)
_BODY = _ENGLISH.body.pattern
_BODY_BEFORE = re.compile(rf"{_BODY}[ -]$|{_CHINESE.body.pattern}(?:的|平扫|增强)?\s*$|-$", re.IGNORECASE)
_BODY_AFTER = re.compile(rf"^(?: scans?| imaging)? (?:of|to) (?:the |your |his |her )?(?:\w+ )?{_BODY}", re.IGNORECASE)


def is_elsewhere(text: str, start: int, end: int) -> bool:
    """Whether a technique is named for another part of the body ("head CT") than its bare name stands for."""
    if not TECHNIQUE.match(text[start:end]):
        return False
    before = _BODY_BEFORE.search(text[max(0, start - 16) : start])
    return before is not None or _BODY_AFTER.match(text[end : end + 32]) is not None
