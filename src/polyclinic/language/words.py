"""Words as the published metrics count them: jieba's for Chinese, Porter's stems for English; ROUGE-1 and likeness.

Both splitters belong to the extra `evals` and are loaded when the first text comes; where one is not installed,
`MissingExtra` says so.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import Any

import msgspec
from rapidfuzz.distance import Indel

from polyclinic.errors import MissingExtra
from polyclinic.language.language import Language

_NOT_LATIN = re.compile(r"[^a-z0-9]+")
_PUNCTUATION = re.compile(r"[^\w\s]")
# jieba cuts what is not Chinese into runs of letters and digits, a decimal and a percent sign; its quick twin keeps
# dates and hyphened words whole.
_LATIN_PART = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)")
_SHORT = 3
_TEXTS = 4096


class Overlap(msgspec.Struct, frozen=True):
    """ROUGE-1: the share of a text that stands in the reference, and of the reference in the text, 0 to 1."""

    precision: float
    recall: float


@lru_cache(maxsize=_TEXTS)
def chinese_words(text: str) -> tuple[str, ...]:
    """Returns the words of a Chinese text as jieba 0.42 cuts them, blanks and punctuation included."""
    words: list[str] = []
    for word in _extra("rjieba").cut(text):
        if len(word) > 1 and word.isascii() and not word.isalnum():
            words += [part for part in _LATIN_PART.split(word) if part]
        else:
            words.append(word)
    return tuple(words)


@lru_cache(maxsize=_TEXTS)
def english_stems(text: str) -> tuple[str, ...]:
    """Returns the stems of an English text: runs of letters and digits, lower case, stemmed from four letters on."""
    return tuple(_stem(word) if len(word) > _SHORT else word for word in _NOT_LATIN.sub(" ", text.lower()).split())


@lru_cache(maxsize=2**16)
def _stem(word: str) -> str:
    return str(_stemmer().stem(word))


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    return _extra("nltk.stem.porter").PorterStemmer()


@lru_cache(maxsize=4)
def _extra(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        problem = f"{name}, which cuts text into words, is not installed: pip install 'polyclinic[evals]'"
        raise MissingExtra(problem) from None


def rouge_1(text: str, reference: str, language: Language) -> Overlap:
    """Returns ROUGE-1 (Lin 2004) as aie-saps computed it.

    English as `rouge-score` does it: stems, each counted as often as it stands in both. Chinese as `rouge-chinese`
    does it: words by jieba, each counted once. A text without words has precision and recall 0.
    """
    said, wanted = _counted(text, language), _counted(reference, language)
    shared = (said & wanted).total()
    return Overlap(*(shared / words.total() if words else 0.0 for words in (said, wanted)))


def _counted(text: str, language: Language) -> Counter[str]:
    if language == "zh":
        return Counter({word for word in chinese_words(text) if word.strip()})
    return Counter(english_stems(text))


def likeness(text: str, reference: str, language: Language) -> float:
    """Returns the normalised Levenshtein ratio of two texts, 0 to 1, in which a substitution costs two.

    Chinese is compared as words with blanks between them, English as it is written. Nothing is like an empty text.
    """
    if not text or not reference:
        return 0.0
    if language == "zh":
        text, reference = " ".join(chinese_words(text)), " ".join(chinese_words(reference))
    return float(Indel.normalized_similarity(text, reference))


def distinct_2(parts: list[str], language: Language) -> float:
    """Returns distinct-2 (Li et al. 2016) without punctuation: different bigrams ÷ words, 0 to 1; 0 without words.

    Chinese is cut by jieba, English at blanks, where case and form are kept.
    """
    whole = " ".join(parts)
    pieces = chinese_words(whole) if language == "zh" else (whole,)
    words = [word for piece in pieces for word in _PUNCTUATION.sub("", piece).split()]
    return len(set(pairwise(words))) / len(words) if words else 0.0
