"""Reads the names of diseases out of a report's free text, Chinese or English, by rules.

Lines, numbers and bullets, and in Chinese commas, end a name; explanations, negations and sentences are no names, but
a sentence that says what is diagnosed ("初步诊断为肺炎", "you may have pneumonia") holds one. What joins two diseases
in one name ("胆囊结石伴胆囊炎", "pneumonia with effusion") stays together here: whether ICD-10 has one code for both is
only known to who links them. The words stand in `disease_names.en.yaml` and `.zh.yaml`.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import msgspec

from polyclinic.language.language import LANGUAGES, Language, is_chinese
from polyclinic.yaml_files import read_yaml

_LEAD = re.compile(r"^\s*(?:[-*•·>#]+\s*|[（(]?(?:\d{1,2}|[一二三四五六七八九十])[.、．)）:：](?!\d)\s*|[①-⑳]\s*)+")
_EMPHASIS = re.compile(r"\*\*|__|`")
# At least three things of three letters or more, without numbers: no stages, levels, sides and organs.
_NAMED = r"(?:[^（()）、，；\w]|[^\W\dA-Za-z_]){3,}"
_LISTED = re.compile(rf"[（(]({_NAMED}(?:、{_NAMED}){{2,}})[)）]")
_BRACKET = re.compile(r"[（(\[【][^（()）\[\]【】]*[)）\]】]")


class _NameRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    label: re.Pattern[str]
    lead: re.Pattern[str]
    tail: re.Pattern[str]
    end: re.Pattern[str]
    prose: re.Pattern[str]
    negation: re.Pattern[str]
    longest: int
    traditional: re.Pattern[str] | None = None


@functools.cache
def _rules(language: Language) -> _NameRules:
    return read_yaml(Path(__file__).with_suffix(f".{language}.yaml"), _NameRules)


def split_names(text: str) -> tuple[str, ...]:
    """Returns the names of diseases in the diagnosis section of a report, in order, each once.

    Brackets go: they hold stages, abbreviations and reasons; but one that lists three things or more names them. Of
    "心律失常：心房颤动" both sides are names.
    """
    names: dict[str, None] = {}
    for line in text.splitlines():
        begun = _LEAD.sub("", _EMPHASIS.sub("", line)).strip()
        for language in LANGUAGES:
            begun = _rules(language).label.sub("", begun)
        names |= dict.fromkeys(_names_in(begun.strip()))
    return tuple(names)


def _names_in(line: str) -> list[str]:
    language: Language = "zh" if is_chinese(line) else "en"
    rules = _rules(language)
    if rules.traditional is not None and rules.traditional.match(line):
        return []
    clauses = (_bare(part, rules) for part in rules.end.split(_without_brackets(line)))
    return [
        clause
        for clause in clauses
        if len(clause) > 1
        and not rules.prose.search(clause)
        and not rules.negation.match(clause)
        and (len(clause) if language == "zh" else len(clause.split())) <= rules.longest
    ]


def _bare(part: str, rules: _NameRules) -> str:
    """Returns a part of a line without number, without what leads to a name in it and what stands behind it."""
    text = _LEAD.sub("", part).strip(" .-–—").strip()
    if rules.negation.match(text):
        return text
    return rules.tail.sub("", rules.lead.sub("", text)).strip()


def _without_brackets(text: str) -> str:
    text = _LISTED.sub(r"；\1；", text)
    before = None
    while text != before:
        before, text = text, _BRACKET.sub("", text)
    return text
