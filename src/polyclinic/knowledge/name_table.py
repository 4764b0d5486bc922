"""A table of names, found in text by their words."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from polyclinic.knowledge.examination_words import WORDS, is_elsewhere
from polyclinic.language.language import CHINESE

_TOKEN = re.compile(rf"[{CHINESE}]|[^\W_{CHINESE}]+|[%#]")
_BRACKETS = re.compile(r"[(（\[]([^()（）\[\]]*)[)）\]]")
_SUFFIX_ZH = re.compile(r"(?:检查|检测|测定|试验|化验|扫描)$")
_SUFFIX_EN = re.compile(r"\s(?:tests?|levels?|assays?|measurements?)$", re.IGNORECASE)


class _NameWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    generic: frozenset[str]
    same: dict[str, str] = {}


_words = WORDS.section("names", _NameWords)
_SAME = _words("en").same
_GENERIC = _words("en").generic | _words("zh").generic


class Named(NamedTuple):
    """A name as it stands in a text: from `start` to `end`, and what it is a name of."""

    text: str
    start: int
    end: int
    keys: frozenset[str]


def words(text: str) -> list[tuple[str, int, int]]:
    """Returns the words of a text in the form in which names are compared, each Chinese character a word."""
    return [(_word(m[0]), m.start(), m.end()) for m in _TOKEN.finditer(text)]


def _word(token: str) -> str:
    word = token.casefold()
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) and word.isascii():
        word = word[:-1]
    return _SAME.get(word, word)


@functools.lru_cache(maxsize=1 << 16)
def key_of(name: str) -> str:
    """Returns a name in the form in which names are compared."""
    return " ".join(_word(token) for token in _TOKEN.findall(name))


def is_generic(key: str) -> bool:
    """Whether a name, as `key_of` gives it, says nothing by itself."""
    return all(word in _GENERIC for word in key.split(" "))


@functools.lru_cache(maxsize=1 << 16)
def _variants(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((name, *_shorter(name))))


def _shorter(name: str) -> Iterator[str]:
    inside = [m[1] for m in _BRACKETS.finditer(name)]
    outside = _BRACKETS.sub(" ", name).strip()
    short = [v for text in (outside, name) for v in (_SUFFIX_ZH.sub("", text), _SUFFIX_EN.sub("", text)) if v != text]
    for variant in (outside, *short, *(i for i in inside if 1 < len(i) <= 12)):
        if len(variant) > 1 and not is_generic(key_of(variant)):
            yield variant


class NameTable:
    """Names by their words, over those of another table."""

    def __init__(self, under: NameTable | None = None) -> None:
        self.owners: dict[str, frozenset[str]] = {}
        self.lengths: dict[str, frozenset[int]] = {}
        self.under = under

    def add(self, name: str, owner: str, *, as_it_is: bool = False) -> None:
        """Adds a name, and unless it is to stay as it is, its shorter forms."""
        for variant in (name,) if as_it_is else _variants(name):
            key = key_of(variant)
            if key:
                self.enter(key, owner)

    def enter(self, key: str, owner: str) -> None:
        """Adds a name in its compared form."""
        self.owners[key] = self.get(key) | {owner}
        first, _, rest = key.partition(" ")
        self.lengths[first] = self.starts(first) | {1 + (rest.count(" ") + 1 if rest else 0)}

    def get(self, key: str) -> frozenset[str]:
        """Returns what a name in its compared form is a name of."""
        return self.owners.get(key) or (frozenset() if self.under is None else self.under.get(key))

    def starts(self, first: str) -> frozenset[int]:
        """Returns how many words the names have that begin with this one."""
        return self.lengths.get(first) or (frozenset() if self.under is None else self.under.starts(first))

    def find(self, text: str) -> list[Named]:
        """Returns the names that stand in a text, in order; longer ones win over shorter ones that they hold."""
        tokens = words(text)
        found, at = [], 0
        while at < len(tokens):
            for length in sorted(self.starts(tokens[at][0]), reverse=True):
                window = tokens[at : at + length]
                if len(window) < length:
                    continue
                owners = self.get(" ".join(word for word, _, _ in window))
                if owners and is_elsewhere(text, window[0][1], window[-1][2]):
                    owners = frozenset(o for o in owners if "=" in o or o.startswith("finding"))
                if owners and not _runs_over(text[window[0][1] : window[-1][2]], owners):
                    start, end = window[0][1], window[-1][2]
                    found.append(Named(text[start:end], start, end, owners))
                    at += length
                    break
            else:
                at += 1
        return found


def _runs_over(text: str, owners: frozenset[str]) -> bool:
    """Whether a name would run over the end of a sentence or of a list; over a colon only an item's beside its own."""
    if re.search(r"[;；。\n]", text):
        return True
    return re.search("[:：]", text) is not None and not any(owner.startswith("finding") for owner in owners)
