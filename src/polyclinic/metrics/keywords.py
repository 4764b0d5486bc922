"""The words by which a patient's reply is told to deny, comply, call back to the matter, or ask for more.

The published lists are Chinese; these are our own, `keywords.en.yaml` and `keywords.zh.yaml`, and small on purpose.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from polyclinic.language.language import Language
from polyclinic.yaml_files import read_yaml


@functools.cache
def read_keywords(language: Language) -> dict[str, re.Pattern[str]]:
    """Reads the words of a language, by what they tell."""
    words = read_yaml(Path(__file__).with_suffix(f".{language}.yaml"), dict[str, list[str]])
    any_of = {kind: "|".join(map(re.escape, several)) for kind, several in words.items()}
    if language == "zh":
        return {kind: re.compile(pattern) for kind, pattern in any_of.items()}
    return {kind: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE) for kind, pattern in any_of.items()}


def says(kind: str, text: str, language: Language) -> bool:
    """Returns whether a reply holds a word of a kind: `denial`, `compliance`, `focus` or `guidance`."""
    return read_keywords(language)[kind].search(text.replace("’", "'")) is not None
