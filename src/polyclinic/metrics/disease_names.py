"""Reads the names of diseases out of a report's free text, Chinese or English, by rules.

Lines, numbers and bullets, and in Chinese commas, end a name; explanations, negations and sentences are no names, but
a sentence that says what is diagnosed ("初步诊断为肺炎", "you may have pneumonia") holds one. What joins two diseases
in one name ("胆囊结石伴胆囊炎", "pneumonia with effusion") stays together here: whether ICD-10 has one code for both is
only known to who links them. The words stand in `disease_names.en.yaml` and `.zh.yaml`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import read_records
from polyclinic.knowledge.disease_names.relation import Relation, relation
from polyclinic.language.language import LANGUAGES, Language, is_chinese
from polyclinic.statistics.agreement import Agreement, agreement
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
    before, text = None, _LISTED.sub(r"；\1；", line)
    while text != before:
        before, text = text, _BRACKET.sub("", text)
    names = []
    for part in rules.end.split(text):
        # Without its number, what leads to the name, and what follows it.
        name = _LEAD.sub("", part).strip(" .-–—").strip()
        if not rules.negation.match(name):
            name = rules.tail.sub("", rules.lead.sub("", name)).strip()
        length = len(name) if language == "zh" else len(name.split())
        is_name = not rules.prose.search(name) and not rules.negation.match(name)
        if len(name) > 1 and is_name and length <= rules.longest:
            names.append(name)
    return names


RELATIONS = tuple(one.value for one in Relation)


class NamePair(msgspec.Struct, frozen=True, kw_only=True):
    """Two names of diseases."""

    a: str
    b: str
    label: Relation | None = msgspec.field(default=None, name="relation")  # of a to b, by people; None if nobody says
    also: Relation | tuple[Relation, ...] = ()  # other answers that they find as good

    @property
    def labels(self) -> tuple[Relation, ...]:
        """All answers that people find good, the best first."""
        also = self.also if isinstance(self.also, tuple) else (self.also,)
        return () if self.label is None else (self.label, *also)


class ComparedPair(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Two names and what a is to b; None where a judge's answer cannot be used, or did not come, with its name."""

    a: str
    b: str
    relation: Relation | None
    labels: tuple[Relation, ...] = ()  # as in `NamePair`
    analysis: str = ""
    error: str = ""
    failed: bool = False

    @property
    def agrees(self) -> bool:
        """Whether it is as people say."""
        return self.relation in self.labels


def read_name_pairs(path: Path) -> list[NamePair]:
    """Reads JSON lines {"a", "b"}, in which "relation" and "also" may say what people find."""
    pairs = []
    try:
        for number, pair in read_records(path, NamePair, "a pair of names", keys_once=True):
            for field, name in (("$.a", pair.a), ("$.b", pair.b)):
                if not any(character.isalnum() for character in name):
                    problem = f"the name is {name!r}; a name of a disease has letters, in English or Chinese"
                    raise BadInput(problem, path=path, line=number, field=field)
            pairs.append(pair)
    except BadInput as error:
        if error.field.startswith(("$.relation", "$.also")):
            problem = f"{error.problem}; a relation is one of {', '.join(RELATIONS)}"
            raise BadInput(problem, path=path, line=error.line, field=error.field) from None
        raise
    return pairs


def compare_by_rules(pairs: Sequence[NamePair]) -> list[ComparedPair]:
    """Returns what each name is to the other, by rules."""
    return [ComparedPair(a=p.a, b=p.b, relation=relation(p.a, p.b), labels=p.labels) for p in pairs]


def agreement_with_labels(compared: Sequence[ComparedPair]) -> Agreement | None:
    """Returns how far relations agree with people's labels, on the pairs that have one; None where none has.

    Where people find several answers as good, any of them agrees. What a judge could not say counts as disagreement;
    what came to no answer at all is not counted.
    """
    labelled = [one for one in compared if one.labels and not one.failed]
    if not labelled:
        return None
    reference = [str(one.relation if one.agrees else one.labels[0]) for one in labelled]
    return agreement(reference, [one.relation and str(one.relation) for one in labelled], labels=RELATIONS)
