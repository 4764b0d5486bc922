"""Brings titles of ICD-10 and names of diseases, Chinese and English, to one wording before they are compared.

The same rules serve both sides: what is only another way to write the same words (width, Roman numerals, American
spelling, abbreviations, "carcinoma" beside "malignant neoplasm") becomes one. What ICD-10 does not code, the side of
the body, goes from both, a grade from names; hedges, stages and degrees go from names where no title has them. The
words stand in `wording.en.yaml` and `wording.zh.yaml`.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import msgspec

from polyclinic.language.language import Language
from polyclinic.yaml_files import read_yaml

_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4"}
_ROMAN_NUMBER = re.compile(r"(?<![a-z])(?:iv|i{1,3})(?![a-z])")
_CHINESE_NUMBER = re.compile("[一二三四](?=[度级型期])")
_CHINESE_DIGITS = str.maketrans("一二三四", "1234")
_BLANK = re.compile(r"\s+")
_PUNCTUATION = re.compile(r"[^\w\s+%?-]|(?<!\d)[+%]|_")
_ROUND = re.compile(r"\([^()]*\)")
_SQUARE = re.compile(r"\[([^\[\]]*)\]")
_BLANKS: dict[Language, str] = {"en": " ", "zh": ""}


class Wording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of a language; its file says of each what it is for."""

    terms: list[tuple[re.Pattern[str], str]]
    side: re.Pattern[str]
    cuts: list[re.Pattern[str]]
    qualifiers: re.Pattern[str]
    joints: re.Pattern[str]
    grade: re.Pattern[str] | None = None


@functools.cache
def read_wording(language: Language) -> Wording:
    """Reads the words of a language."""
    return read_yaml(Path(__file__).with_suffix(f".{language}.yaml"), Wording)


def title_wordings(title: str, language: Language) -> tuple[str, ...]:
    """Returns the wordings under which a title can be met, the title itself first.

    ICD-10 puts words that change nothing into round brackets and other names into square ones.
    """
    text = _terms(_folded(title), language)
    plain = _SQUARE.sub("", text)
    others = [name for found in _SQUARE.findall(text) for name in found.split("/")]
    versions = (text, _ROUND.sub("", plain), plain, *others, text.replace("未特指的", ""))
    return _distinct(_words(version, language) for version in dict.fromkeys(versions))


def name_wordings(name: str, language: Language) -> tuple[str, ...]:
    """Returns the wordings of a disease's name, or of several that are joined, the fullest first.

    The first is without side and grade, the others without hedge, stage and degree too.
    """
    wording = read_wording(language)
    text = _terms(_folded(name), language)
    full = _words(_SQUARE.sub("", _ROUND.sub(" ", text)), language)
    versions = [full if wording.grade is None else wording.grade.sub("", full)]
    for cut in wording.cuts:
        rest = cut.sub("", versions[-1])
        versions.append(_terms(rest, language) if language == "zh" else rest)
    return _distinct(versions)


def _folded(text: str) -> str:
    """Returns a text in one width and case, with Arabic numerals for types and degrees."""
    text = unicodedata.normalize("NFKC", text).lower()
    text = _ROMAN_NUMBER.sub(lambda match: _ROMAN[match[0]], text)
    return _CHINESE_NUMBER.sub(lambda match: match[0].translate(_CHINESE_DIGITS), text)


def _terms(text: str, language: Language) -> str:
    text = _BLANK.sub(_BLANKS[language], text)
    for pattern, term in read_wording(language).terms:
        text = pattern.sub(term, text)
    return text


def _words(text: str, language: Language) -> str:
    """Returns a text without side and punctuation, except the marks inside numbers."""
    return read_wording(language).side.sub("", _PUNCTUATION.sub(_BLANKS[language], text))


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in (" ".join(text.split()) for text in texts) if len(text) > 1))
