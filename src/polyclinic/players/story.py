"""What a patient can tell, clause by clause, and which of it answers a question.

Retrieval is lexical: stemmed content words for English, character bigrams for Chinese, weighted by how rare they are in
the patient's own story; a symptom of the lexicon is the same thing in whatever words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from polyclinic.cases.presentation import Language
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.names import EXAMINATION
from polyclinic.players.patient import Patient

ENOUGH = 0.55
"""The share of a question's weight that a clause must cover to answer it."""

_EN_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9'\"])|[;\n]+\s*")
_EN_CLAUSE = re.compile(
    r",? (?:and|but) (?=(?:she|he|they|the patient|denies|reports|has|had|is|was|does|did|takes|smokes|drinks|works|lives|notes)\b)"
    r"|, (?=(?:which|but|though|although|accompanied|described|during which|no)\b)"
    r"|, (?=(?:lives|works|drinks|smokes|retired|does|takes|occasional|moderate|frequently|regularly|usually)\b)",
    re.IGNORECASE,
)
_EN_DENIAL = re.compile(
    r"^(?:(?:the )?(?:patient|child|mother|infant|parents?)s? |he |she |overall, |otherwise, )?(?:also |further |currently )*"
    r"(?:denies|denied|deny|reports no|has no|had no|have no|no|without|does not have|did not have|has not had|negative for|not)\b\s*"
    r"(?:any |having |experiencing |recent (?=\w+ ?\w*,)|associated )*",
    re.IGNORECASE,
)
_EN_LIST = re.compile(r",\s*(?:or |and )?|\s+or\s+|\s+nor\s+|\s+and\s+")
_ZH_SENTENCE = re.compile(r"[。；;！？!?\n]+")
_ZH_CLAUSE = re.compile(r"[，,]")
_ZH_DENIAL = re.compile(
    r"^(?:也|且|均|患者|患儿|既往|平素|以前|孩子)*(?:否认|没有|未诉|未见|未出现|未发现|未感到?|未感受到|不伴有?|无)(?!痛|力|法|意|诱因|名|明显诱因|间)(?:有|明显|任何|特殊)?"
)
_ZH_LIST = re.compile(r"[、或及与]|以及|和")
_NOT_TOLD = re.compile(
    r"^(?:information )?(?:not|none|no|n/?a|unknown|unremarkable|not applicable)\W*(?:specified|provided|available|reported|given|mentioned"
    r"|additional (?:symptoms?|information).*|relevant social history.*|pertinent.*)?[.\s]*$|information not|not (?:specified|provided)|no (?:additional|other)"
    r" .*(?:provided|mentioned|noted|reported)|不详$|未提供|暂无",
    re.IGNORECASE,
)  # fmt: skip
TIME = {
    "en": re.compile(
        r"\b(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|few|several|couple of)[- ](?:second|minute|hour|day|week|month|year)s?\b(?![- ]old)"
        r"|\b(?:yesterday|today|tonight|this morning|last (?:night|week|month|year)|since|ago|suddenly|sudden|gradual\w*|acute onset)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:\d|[一二两三四五六七八九十半数几多])\s*余?\s*个?\s*(?:多|余)?(?:分钟|小时|天|日|周|月|年)|昨天|今天|今晨|当日|前天|上周|近日|突然|逐渐"
    ),
}

_EN_STOP = frozenset(
    "a an the i you he she it we they my your his her its our their me him us them this that these those is are was were be been being am"
    " do does did doing have has had having can could would will shall should may might must of in on at to for with from by about as"
    " and or but if then so than too very just any some all no not there here what when where which who whom whose why how also other"
    " else more most such only own same into over under again once please tell doctor patient feel feeling felt notice noticed"
    " experience experiencing experienced report reports symptom symptoms problem problems anything something everything thing things"
    " like know let see get got ever lately recently currently now today since during before after had sort kind type describe"
    " associated related specific history medical condition conditions issue issues been going lot many much long often day bit"
    " well good sure okay right thank thanks hello hi understand sorry hear help bring brings brought currently still first present"
    " presents complain complaints significant particular certain area feels seem seems getting whether either tell say explain"
    " detail details discuss share elaborate concern concerns concerned may us up down out discomfort notable additionally additional"
    " change changes changed recent similar previous past prior episode episodes associated start started begin began".split()
)
_ZH_STOP = re.compile(
    r"您好|你好|请问|请|医生|先生|女士|小朋友|我(?:们)?|您|你|他|她|它|这(?:个|种|些|样|次|段)?|那(?:个|种|些)?|最近|近期|现在|目前|平时|当时|之前|以前|曾经?|有没有|有无|是否|是不是|会不会"
    r"|能不能|能否|可以|可不可以|告诉|描述|说说|介绍|讲讲|了解|知道|注意到|注意|发现|感觉到?|感到|觉得|出现过?|经历过?|伴随|伴有|还有|其他|其它|别的|任何|一些|一下|哪里|哪些|哪儿|哪方面|什么"
    r"|怎么样|怎样|怎么|如何|多少|几|吗|呢|吧|啊|的|了|着|过|是|有|在|和|与|及|或者?|以及|还是|等|时候|期间|时间|情况|症状|问题|具体|详细|身体|不舒服|不适|不太对劲|异常|特别|比如|例如|方面|更多"
    r"|想|需要|关于|对于|对|上|里|中|把|被|给|让|就|都|也|很|比较|当|从|到|自从|以来|第一次|开始|结果|显示|看到|部位|地方|状况|表现|进一步|主要|相关|之外|除了|变化|开始|持续|多久|多长|疾病|病史|过去|患过|得过|曾"
    r"|[，。？！、；：“”\"',.?!;:\s（）()]"
)
_ZH_SAME = (
    ("疼", "痛"), ("发烧", "发热"), ("肿块", "肿物"), ("包块", "肿物"), ("核磁共振", "MRI"), ("磁共振", "MRI"), ("核磁", "MRI"), ("彩超", "超声"),
    ("B超", "超声"), ("b超", "超声"), ("活组织检查", "活检"), ("鼻涕", "流涕"), ("胃口", "食欲"), ("拉肚子", "腹泻"), ("肚子", "腹"), ("麻痹", "麻木"),
    ("没力气", "乏力"), ("大小便", "二便"), ("浮肿", "水肿"), ("气喘", "喘"), ("喝酒", "饮酒"), ("抽烟", "吸烟"), ("出汗", "汗"), ("心慌", "心悸"),
)  # fmt: skip
_ZH_ALONE = frozenset("痛痒咳热吐泻渴烧麻晕痰喘肿汗")


class Fact:
    """One thing that the patient can tell."""

    def __init__(self, number: int, section: str, sentence: int, text: str, *, denied: bool, whole: str) -> None:
        self.number, self.section, self.sentence = number, section, sentence
        self.text, self.denied, self.whole = text, denied, whole
        self.terms: frozenset[str] = frozenset()
        self.symptoms: frozenset[str] = frozenset()
        self.named: frozenset[str] = frozenset()

    @property
    def of_examination(self) -> bool:
        """Whether it reports an examination."""
        return EXAMINATION.search(self.text) is not None


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
            read = lexicon.read(fact.text)
            fact.symptoms = frozenset(read)
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
        """Returns the facts that cover the wanted terms best, shorter ones first among equals; none if none is enough."""
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
        return sorted(facts, key=lambda f: (f.denied, len(f.text)))

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
                found += [
                    (re.sub(r"(?:病史|史|等.*)$", "", item), True)
                    for item in _ZH_LIST.split(text[begun.end() :])
                    if item
                ]
            elif text:
                found.append((text, False))
        return found
    for clause in _EN_CLAUSE.split(whole):
        text = clause.strip(" .,")
        begun = _EN_DENIAL.match(text)
        rest = text[begun.end() :] if begun else ""
        if (
            begun
            and rest
            and not re.match(
                r"(?:significant|notable|pertinent|known|relevant|history of similar)", rest, re.IGNORECASE
            )
        ):
            for item in _EN_LIST.split(rest):
                item = item.strip(" .")
                if item and not re.match(r"(?:does|did|has|is|was|reports|other .*symptoms?|any other)\b", item):
                    found.append((item, True))
        elif text:
            found.append((text, False))
    return found


def terms(text: str, language: Language) -> list[str]:
    """Returns the content terms of a text: stems, or bigrams and the words in Latin letters."""
    if language == "en":
        found = (
            stem(w) for w in re.findall(r"[a-z]+(?:'[a-z]+)?|\d+", text.casefold()) if w not in _EN_STOP and len(w) > 1
        )
        return [w for w in found if w not in _EN_STOP]
    for word, same in _ZH_SAME:
        text = text.replace(word, same)
    bigrams = []
    for run in _ZH_STOP.sub(" ", text).split():
        for part in re.findall(r"[\u3400-\u9fff]+|[A-Za-z]+(?:-[A-Za-z]+)?|\d+(?:\.\d+)?", run):
            if part[0].isascii():
                bigrams.append(part.upper())
            elif len(part) == 1:
                bigrams += [part] if part in _ZH_ALONE else []
            else:
                bigrams += [part[i : i + 2] for i in range(len(part) - 1)]
                bigrams += [c for c in part if c in _ZH_ALONE]
    return bigrams


_SAME_EN = {
    "diarrheal": "diarrhea", "vomit": "vomit", "vomiting": "vomit", "nauseous": "nausea", "feverish": "fever", "febrile": "fever",
    "breathless": "breath", "tired": "fatigu", "tiredness": "fatigu", "exhausted": "fatigu", "weak": "weak", "weakness": "weak",
    "dizzy": "dizz", "dizziness": "dizz", "itchy": "itch", "pruritus": "itch", "itching": "itch", "swollen": "swell", "urinate": "urin",
    "urination": "urin", "urinary": "urin", "pee": "urin", "bled": "bleed", "painful": "pain", "ache": "pain", "hurt": "pain",
    "sore": "pain", "tender": "pain", "ate": "eat", "appetite": "appetit", "worse": "wors", "worsen": "wors", "aggravate": "wors",
    "numbness": "numb", "stomach": "abdomen", "abdominal": "abdomen", "belly": "abdomen", "tummy": "abdomen", "throwing": "vomit",
    "lump": "mass", "smoker": "smok", "smoke": "smok", "cigarette": "smok", "tobacco": "smok", "drink": "alcohol", "wine": "alcohol",
    "beer": "alcohol", "breathing": "breath", "dyspnea": "breath", "intercourse": "sexual", "sex": "sexual", "poop": "stool",
    "bowel": "stool", "thirst": "thirst", "thirsty": "thirst", "eyesight": "vision", "sight": "vision", "visual": "vision",
    "walking": "walk", "lose": "loss", "lost": "loss", "losing": "loss", "gained": "gain", "gaining": "gain", "trips": "travel",
}  # fmt: skip


def stem(word: str) -> str:
    """Returns an English word without its ending."""
    if word in _SAME_EN:
        return _SAME_EN[word]
    for ending, least in (
        ("ingly", 4),
        ("edly", 4),
        ("ness", 4),
        ("ing", 3),
        ("ies", 3),
        ("ed", 3),
        ("ly", 4),
        ("es", 4),
        ("s", 3),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= least and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    if word in _SAME_EN:
        return _SAME_EN[word]
    return word[:-1] if word.endswith("e") and len(word) > 4 else word
