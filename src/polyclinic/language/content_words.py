"""The words of a question or a record that say something: stems for English, character bigrams for Chinese."""

from __future__ import annotations

import functools
import re
import unicodedata
from functools import lru_cache
from typing import Any

import msgspec

from polyclinic.language.language import CHINESE, Language, is_chinese
from polyclinic.language.word_lists import WORDS, Pattern, Rule, rewritten

_ENGLISH = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+")
_CHINESE = re.compile(rf"[{CHINESE}]+|[A-Za-z]+(?:-[A-Za-z]+)?|\d+(?:\.\d+)?")


class _EnglishContent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stop: frozenset[str]
    same: tuple[tuple[str, ...], ...]


class _ChineseContent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stop: Pattern
    same: tuple[Rule, ...]
    alone: frozenset[str]


_english = WORDS.section("content", _EnglishContent)
_chinese = WORDS.section("content", _ChineseContent)


def terms(text: str, language: Language) -> list[str]:
    """Returns the content terms of a text: stems, or bigrams and the words in Latin letters."""
    return _stems(text) if language == "en" else _bigrams(text)


def _stems(text: str) -> list[str]:
    stop = _english("en").stop
    found = (stem(word) for word in _ENGLISH.findall(text.casefold()) if word not in stop and len(word) > 1)
    return [word for word in found if word not in stop]


@functools.lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Returns what is left of an English word without its ending; words that mean the same have one stem."""
    plain = plain_stem(word)
    return _same().get(plain, plain)


@functools.lru_cache(maxsize=1 << 16)
def plain_stem(word: str) -> str:
    """Returns what is left of an English word in small letters without its ending."""
    plain: str = _stemmer().stemWord(word)
    return plain


@functools.cache
def _same() -> dict[str, str]:
    return {_stemmer().stemWord(word): group[0] for group in _english("en").same for word in group}


@functools.cache
def _stemmer() -> Any:
    # It loads the stemmers of thirty languages, and Chinese needs none.
    import snowballstemmer  # noqa: PLC0415

    return snowballstemmer.stemmer("english")


def _bigrams(text: str) -> list[str]:
    words = _chinese("zh")
    text = rewritten(re.sub(r"\s+", "", text), words.same)
    found = []
    for part in _CHINESE.findall(words.stop.sub(" ", text)):
        if part[0].isascii():
            found.append(part.upper())
        else:
            found += [part[i : i + 2] for i in range(len(part) - 1)]
            found += [c for c in part if c in words.alone]
    return found


_RUN = re.compile(rf"[{CHINESE}]+|\d+(?:\.\d+)?|[^\W\d_{CHINESE}]+")


_words = WORDS.section("overlap", dict[str, frozenset[str]])
_PLURAL = 4  # letters from which on a final s is taken for one


@lru_cache(maxsize=8192)
def pieces(text: str) -> frozenset[str]:
    """Returns the pairs of neighbouring Chinese characters, and the words and numbers, of a text; case aside."""
    found = set()
    fillers = _words("en")["fillers"]
    for run in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
        if is_chinese(run):
            found |= {run[i : i + 2] for i in range(len(run) - 1)} or {run}
        elif run not in fillers:
            found.add(run.removesuffix("s") if len(run) >= _PLURAL and not run.endswith("ss") else run)
    return frozenset(found)


def coverage(reference: str, given: str) -> float:
    """Returns how much of a reference stands in what was given, 0 to 1; 0 where the reference says nothing."""
    wanted = pieces(reference)
    return len(wanted & pieces(given)) / len(wanted) if wanted else 0.0


def resemblance(first: str, second: str) -> float:
    """Returns Dice's coefficient of two texts, 0 to 1."""
    a, b = pieces(first), pieces(second)
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 0.0
