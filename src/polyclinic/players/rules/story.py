"""What a patient can tell, clause by clause, and which of it answers a question.

Retrieval is lexical: stemmed content words for English, character bigrams for Chinese, weighted by how rare they are in
the patient's own story; a symptom of the lexicon is the same thing in whatever words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from polyclinic.knowledge.examination_words import EXAMINATION, LABORATORY_VALUE
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.language.language import Language
from polyclinic.language.stems import terms
from polyclinic.players.roles.patient import Patient

ENOUGH = 0.55
"""The share of a question's weight that a clause must cover to answer it."""

_EN_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9'\"])|[;\n]+\s*")
_EN_CLAUSE = re.compile(
    r",? (?:and|but) (?=(?:she|he|they|the patient|denies|reports|has|had|is|was|does|did"
    r"|takes|smokes|drinks|works|lives|notes)\b)"
    r"|, (?=(?:which|but|though|although|accompanied|described|during which|no)\b)"
    r"|, (?=(?:lives|works|drinks|smokes|retired|does|takes|occasional|moderate|frequently|regularly|usually)\b)",
    re.IGNORECASE,
)
_EN_DENIAL = re.compile(
    r"^(?:(?:the )?(?:patient|child|mother|infant|parents?)s? |he |she |overall, "
    r"|otherwise, )?(?:also |further |currently )*"
    r"(?:denies|denied|deny|reports no|has no|had no|have no|no|without|does not have"
    r"|did not have|has not had|negative for)\b\s*"
    r"(?:any |having |experiencing |recent (?=\w+ ?\w*,)|associated )*",
    re.IGNORECASE,
)
_EN_LABEL = re.compile(r"^[A-Z][\w/ -]{1,25}:\s+(?=[A-Z])")
_EN_LIST = re.compile(r",\s*(?:or |and )?|\s+or\s+|\s+nor\s+|\s+and\s+")
_ZH_SENTENCE = re.compile(r"[。；;！？!?\n]+")
# A measured value, and whether it is high or low, belong to the name before them: "血清钾，4.0mmol/L，N".
_ZH_VALUE = r"\s*(?:[<>＜＞≤≥]?\d[\d.,*×x^]*\s*(?:%|‰|/|[a-zA-Zμ]+/)|(?:弱?阳|阴)\s*性|[HLN](?![A-Za-z]))"
_ZH_CLAUSE = re.compile(rf"[，,](?!{_ZH_VALUE})")
_ZH_MEASURED = re.compile(rf"[，,]{_ZH_VALUE}")
_ZH_DENIAL = re.compile(
    r"^(?:也|且|均|患者|患儿|既往|平素|以前|孩子)*(?:否认|没有|未诉|未见|未出现|未发现|未感到?|未感受到|不伴有?|无)(?!痛|力|法|意|诱因|名|明显诱因|间)(?:有|明显|任何|特殊)?"
)
_ZH_LIST = re.compile(r"[、或及与]|以及|和")
_NOT_TOLD = re.compile(
    r"^(?:information )?(?:not|none|no|n/?a|unknown|unremarkable"
    r"|not applicable)\W*(?:specified|provided|available|reported|given|mentioned"
    r"|additional (?:symptoms?|information).*|relevant social history.*|pertinent.*)?[.\s]*$"
    r"|information not|not (?:specified|provided)|no (?:additional|other)"
    r" .*(?:provided|mentioned|noted|reported)|不详$|未提供|暂无",
    re.IGNORECASE,
)
TIME = {
    "en": re.compile(
        r"\b(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|few|several"
        r"|couple of)[- ](?:second|minute|hour|day|week|month|year)s?\b(?![- ]old)"
        r"|\b(?:yesterday|today|tonight|this morning|last (?:night|week|month|year)|since|ago"
        r"|suddenly|sudden|gradual\w*|acute onset)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:\d|[一二两三四五六七八九十半数几多])\s*余?\s*个?\s*(?:多|余)?(?:分钟|小时|天|日|周|月|年)|昨天|今天|今晨|当日|前天|上周|近日|突然|逐渐"
    ),
}


class Fact:
    """One thing that the patient can tell."""

    def __init__(self, number: int, section: str, sentence: int, text: str, *, denied: bool, whole: str) -> None:
        self.number, self.section, self.sentence = number, section, sentence
        self.text, self.denied, self.whole = text, denied, whole
        self.terms: frozenset[str] = frozenset()
        self.symptoms: frozenset[str] = frozenset()
        self.direct: frozenset[str] = frozenset()
        self.named: frozenset[str] | None = None

    @property
    def of_examination(self) -> bool:
        """Whether it reports an examination or a measured value."""
        return any(words.search(self.text) for words in (EXAMINATION, LABORATORY_VALUE, _ZH_MEASURED))


class Story:
    """Everything that a patient can tell, in order, and the weights of its words."""

    def __init__(self, patient: Patient, lexicon: Lexicon) -> None:
        self.language: Language = patient.presentation.language
        self._lexicon = lexicon
        self.facts: list[Fact] = []
        sections = [("complaint", patient.presentation.complaint), *patient.history.sections()]
        if patient.presentation.about:
            sections.append(("about", patient.presentation.about))
        sentence = 0
        seen: set[str] = set()
        for section, text in sections:
            for whole in (_ZH_SENTENCE if self.language == "zh" else _EN_SENTENCE).split(text):
                sentence += 1
                if not whole.strip() or _NOT_TOLD.search(whole.strip()):
                    continue
                for clause, denied in _clauses(whole, self.language):
                    key = clause.casefold()
                    if key in seen or clause.endswith(("不详", "未提供")):
                        continue
                    seen.add(key)
                    fact = Fact(len(self.facts), section, sentence, clause, denied=denied, whole=whole.strip())
                    fact.terms = frozenset(terms(clause, self.language))
                    self.facts.append(fact)
        for fact in self.facts:
            mentions = lexicon.mentions(fact.text)
            fact.direct = frozenset(symptom for symptom, _ in mentions)
            fact.symptoms = fact.direct.union(*(lexicon.ancestors(s) for s, present in mentions if present))
        counts = Counter(term for fact in self.facts for term in fact.terms)
        total = len(self.facts) + 1
        self._rare = math.log(total / 0.5 + 1)
        self._weights = {term: math.log(total / n + 1) for term, n in counts.items()}
        self.topic = frozenset(t for f in self.facts if f.section == "complaint" for t in f.terms)

    def weight(self, term: str) -> float:
        """Returns how much a term says: more where it is rare, little where it only names the complaint."""
        weight = self._weights.get(term, self._rare)
        return weight * 0.4 if term in self.topic else weight

    def cover(self, wanted: Iterable[str], fact: Fact) -> float:
        """Returns the share of the wanted terms' weight that a fact covers."""
        wanted = list(wanted)
        total = sum(map(self.weight, wanted))
        return sum(self.weight(t) for t in wanted if t in fact.terms) / total if total else 0.0

    def best(self, wanted: frozenset[str], among: Iterable[Fact] | None = None, enough: float = ENOUGH) -> list[Fact]:
        """Returns the facts that cover the wanted terms best, shorter ones first among equals."""
        if not wanted:
            return []
        scored = [
            (self.cover(wanted, f), -len(f.terms), -f.number, f) for f in (self.facts if among is None else among)
        ]
        scored = [s for s in scored if s[0] >= enough]
        if not scored:
            return []
        top = max(scored)[0]
        return [s[3] for s in sorted(scored, reverse=True) if s[0] > top - 0.05][:2]

    def with_symptom(self, symptom: str) -> list[Fact]:
        """Returns the facts that speak of a symptom: those that affirm it first, single symptoms before sentences."""
        facts = [f for f in self.facts if symptom in f.symptoms and not f.of_examination]
        return sorted(facts, key=lambda f: (f.denied, symptom not in f.direct, len(f.text)))

    def section(self, *names: str) -> list[Fact]:
        """Returns the facts of some sections."""
        return [f for f in self.facts if f.section in names]


def _clauses(whole: str, language: Language) -> list[tuple[str, bool]]:
    """Splits a sentence into clauses, each with whether it is the thing denied."""
    found: list[tuple[str, bool]] = []
    if language == "zh":
        for clause in _ZH_CLAUSE.split(whole):
            text = clause.strip()
            begun = _ZH_DENIAL.match(text)
            if begun and len(text) - begun.end() > 0:
                items = [re.sub(r"(?:病史|史|等.*)$", "", item) for item in _ZH_LIST.split(text[begun.end() :])]
                for tail in ("过敏", "接触"):
                    # "无药物、食物过敏史" denies both allergies.
                    if items[-1].endswith(tail):
                        items = [item if item.endswith(tail) else item + tail for item in items]
                found += [(item, True) for item in items if item]
            elif text:
                found.append((text, False))
        return found
    for clause in _EN_CLAUSE.split(whole):
        text = _EN_LABEL.sub("", clause.strip(" .,"))
        begun = _EN_DENIAL.match(text)
        rest = text[begun.end() :] if begun else ""
        if (
            begun
            and rest
            and not re.match(
                r"(?:significant|notable|pertinent|known|relevant|history of similar)", rest, re.IGNORECASE
            )
        ):
            for item in (part.strip(" .") for part in _EN_LIST.split(rest)):
                if item and not re.match(r"(?:does|did|has|is|was|reports|other .*symptoms?|any other)\b", item):
                    found.append((item, True))
        elif text:
            found.append((text, False))
    return found
