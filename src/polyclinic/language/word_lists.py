"""Words as data: a YAML file a language, whose sections become typed structs when somebody first needs them.

Where a struct has a `Pattern`, the file gives a list, any entry of which may be what is found, or a text, a regular
expression. Entries of an English list are whole words, "…" stands for any ending; in Chinese they are found anywhere.
`{name}` stands for one of the section's lists under `words`. The case of letters counts nowhere but in `(?-i:...)`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from polyclinic.language.language import Language
from polyclinic.yaml_files import read_yaml

if TYPE_CHECKING:
    Pattern = re.Pattern[str]
else:

    class Pattern:
        """A regular expression that is compiled when it is first used; most of a file's are not, in one run."""

        def __init__(self, source: str, flags: int = 0) -> None:
            self._source, self._flags = source, flags

        def __getattr__(self, name: str) -> Any:
            if name not in _METHODS:
                raise AttributeError(name)
            compiled = re.compile(self._source, self._flags)
            vars(self).update({method: getattr(compiled, method) for method in _METHODS})
            return getattr(compiled, name)


Rule = tuple[Pattern, str]
"""What is found, and what is said instead."""

T = TypeVar("T")

_METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn", "pattern", "flags")
_NAME = re.compile(r"\{([a-z_]+)\}")
_WHOLE: dict[Language, str] = {"en": r"\b(?:{})\b", "zh": "(?:{})"}


def lazy_pattern(source: str, flags: int = 0) -> Pattern:
    """Returns a regular expression that is compiled when it is first used."""
    return cast("Callable[[str, int], Pattern]", Pattern)(source, flags)


class WordLists:
    """The files of one module or room, one a language: `STEM.en.yaml` and `STEM.zh.yaml`.

    Beside a section's own lists they may name further patterns in braces.
    """

    def __init__(self, stem: Path, **patterns: str) -> None:
        self._stem, self._patterns = stem, patterns
        self._sections = functools.cache(self._read)

    def section(self, name: str, kind: type[T]) -> Callable[[Language], T]:
        """Returns what reads a section in a language, once."""
        return functools.cache(lambda language: self._typed(self._sections(language)[name], kind, language))

    def _read(self, language: Language) -> dict[str, dict[str, Any]]:
        return read_yaml(self._stem.with_name(f"{self._stem.name}.{language}.yaml"), dict[str, dict[str, Any]])

    def _typed(self, section: Mapping[str, Any], kind: type[T], language: Language) -> T:
        patterns = dict(self._patterns)
        for name, words in section.get("words", {}).items():
            patterns[name] = _either(words, patterns)

        def compiled(_: type, given: str | Sequence[str]) -> Pattern:
            if not given:
                return lazy_pattern("(?!)")
            source = _filled(given, patterns) if isinstance(given, str) else _either(given, patterns, _WHOLE[language])
            return lazy_pattern(source, re.IGNORECASE)

        fields = {name: value for name, value in section.items() if name != "words"}
        return msgspec.convert(fields, kind, dec_hook=compiled)


def _either(words: Sequence[str], patterns: Mapping[str, str], around: str = "(?:{})") -> str:
    if not all(isinstance(word, str) for word in words):
        raise TypeError("YAML takes a word for a number, or for yes or no: write it in quotes")
    return around.replace("{}", "|".join(_filled(word.replace("…", r"\w*"), patterns) for word in words))


def _filled(text: str, patterns: Mapping[str, str]) -> str:
    return _NAME.sub(lambda name: patterns[name[1]], text)


def rewritten(text: str, rules: Sequence[Rule]) -> str:
    """Returns a text after one rule after the other."""
    for found, instead in rules:
        text = found.sub(instead, text)
    return text


WORDS = WordLists(Path(__file__).with_name("words"))
"""The words of this room."""
