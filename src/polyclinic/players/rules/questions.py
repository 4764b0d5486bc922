"""What a doctor asks for: the symptoms and circumstances that a question names."""

from __future__ import annotations

import functools
import re

import msgspec

from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.language.language import Language
from polyclinic.language.stems import terms


class Part(msgspec.Struct, frozen=True):
    """One thing that is asked for.

    Attributes:
        name: how to call it when it is not there; "" where it is better left unnamed.
        terms: its content terms.
        symptom: the lexicon's symptom, where it is one.
    """

    name: str
    terms: frozenset[str]
    symptom: str | None = None


_CUE = re.compile(
    r"请问|想问|想了解|能否|能不能|可以(?:告诉|描述|说)|有没有|是否|有无|会不会|是不是|什么|多久|怎么|如何|哪|多少|几(?!乎)|告诉我|描述|吗|呢"
)
_BEGIN = re.compile(r".*(?:请问|想问(?:一下|问)?|想了解(?:一下)?)")


def core(text: str, language: Language) -> str:
    """Returns the part of a doctor's sentences that asks, without what it comments on first."""
    if language == "en":
        return re.sub(
            r"^.*?\b(?:i see|i noticed?|i understand|you (?:said|mentioned)) [^.?]*?[.,] (?=\w)",
            "",
            text,
            flags=re.IGNORECASE,
        )
    found = []
    for sentence in re.split(r"(?<=[。？?！])", text):
        clauses = re.split(r"(?<=[，,])", _BEGIN.sub("", sentence))
        begin = next((i for i, clause in enumerate(clauses) if _CUE.search(clause)), 0)
        found.append("".join(clauses[begin:]))
    return "".join(found)


_EN_LEAD = re.compile(
    r"^.*?\b(?:have you (?:had|noticed|experienced|been (?:having|experiencing|feeling)|felt"
    r"|ever had|seen|recently had)"
    r"|(?:do|did|does) you(?:r \w+)? (?:also |ever |currently |still )?(?:have|had|notice"
    r"|experience|feel|suffer from|get)"
    r"|are you (?:having|experiencing|feeling)|(?:is|are|was|were) there|(?:noticed"
    r"|experiencing|experienced|having)|any)\b"
    r"(?: any| some| signs of| symptoms (?:of|like|such as)| problems with| trouble with"
    r"| changes in| issues with| difficulty with)*",
    re.IGNORECASE,
)
_EN_PART = re.compile(
    r",\s*(?:or |and |any )*|\s+or\s+(?:any )?|\?+|;|\s+and\s+(?:any )?|\s*/\s*|(?<=\w)\.(?=\s"
    r"|$)|\b(?:such as|like|including)\b"
)
_EN_TAIL = re.compile(
    r"\s*\b(?:recently|lately|at all|before|currently|right now|these days|with (?:it|this"
    r"|that)|as well|too|today|(?:in|over|during) the (?:past|last)"
    r".*|since .*|associated with .*|along with .*|at the moment|otherwise|at (?:any"
    r"|this) (?:point|time)|that you.*|you(?:'ve| have) .*)$",
    re.IGNORECASE,
)
_ZH_WHETHER = re.compile(r"有没有|是否|有无|会不会|是不是")
_ZH_BESIDE = re.compile(r"除了[^，。]{1,16}?(?:之外|以外|外)")
_ZH_PART = re.compile(r"[，。？?、；;]|或者?是?|还是|以及|和|及|与|吗|呢")


@functools.lru_cache(maxsize=4096)
def parts(text: str, language: Language, lexicon: Lexicon) -> tuple[Part, ...]:
    """Splits a question into what it asks for; none where it names nothing."""
    found: list[Part] = []
    for sentence in re.split(r"(?<=[?？。！])|(?<=\.)\s", text):
        if not sentence.strip():
            continue
        known = lexicon.question(sentence)
        if known is not None:
            found.append(Part(lexicon.symptoms[known].name.get(language), frozenset(), known))
            continue
        if language == "en":
            lead = _EN_LEAD.match(sentence)
            asked = sentence[lead.end() :] if lead else sentence
            several = lead is not None
        else:
            asked, cues = _ZH_WHETHER.subn("", _ZH_BESIDE.sub("", sentence))
            several = cues > 0
        pieces = (_EN_PART if language == "en" else _ZH_PART).split(asked) if several else [asked]
        for piece in pieces:
            found += _part(piece, language, lexicon, nameable=several)
    asked_as = _questions(lexicon).get(_bare(text))
    if asked_as is not None:
        # The knowledge's own question means its symptom, in whatever words it is put; the doctor's words name it.
        named = found[0].name if len(found) == 1 and found[0].symptom == asked_as else ""
        name = named or lexicon.symptoms[asked_as].name.get(language)
        return (Part(name, frozenset(terms(text, language)), asked_as),)
    return tuple(found)


@functools.lru_cache(maxsize=16)
def _questions(lexicon: Lexicon) -> dict[str, str]:
    """Returns the knowledge's own question for each symptom, to the symptom."""
    return {_bare(s.question.get(lexicon.language)): s.id for s in lexicon.symptoms.values() if s.question.en}


def _bare(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()


def _part(piece: str, language: Language, lexicon: Lexicon, *, nameable: bool) -> list[Part]:
    symptoms = list(dict.fromkeys(symptom for symptom, _ in lexicon.mentions(piece)))
    wanted = frozenset(terms(piece, language))
    if len(symptoms) > 1:
        return [Part(lexicon.symptoms[s].name.get(language), frozenset(), s) for s in symptoms]
    if symptoms:
        rest = frozenset(terms(lexicon.unread(piece), language))
        symptom = lexicon.symptoms[symptoms[0]]
        # "chest pain when breathing in" is more than "chest pain", but chest pain answers it.
        return [Part(_name(piece, language) or symptom.name.get(language), wanted if rest else frozenset(), symptom.id)]
    if not wanted:
        return []
    return [Part(_name(piece, language) if nameable else "", wanted)]


def _name(piece: str, language: Language) -> str:
    if language == "en":
        name = _EN_TAIL.sub("", piece.strip(" .,?!:")).strip(" .,?!:")
        name = re.sub(r"^(?:any|some|an?|the|other|your|have|had|with|of)\s+", "", name, flags=re.IGNORECASE)
        name = re.sub(r"\byour\b", "my", name)
        return (
            name
            if 0 < len(name.split()) <= 5
            and not re.match(r"(?:you|do|did|is|are|it|to|has|been|what|how)\b", name, re.IGNORECASE)
            else ""
        )
    name = re.sub(
        r"^(?:您|你|最近|近期|感觉到?|感到|觉得|出现过?|有|任何|明显|的|发现|注意到|伴随|伴有|其他|其它|有过|比如|例如|经历过|是)+",
        "",
        piece.strip(" ，。？"),
    )
    name = re.sub(r"(?:等)?(?:的)?(?:症状|情况|现象|感觉|表现|问题|不适|史)?(?:了|吗|呢|过|等)*$", "", name)
    return name if 1 <= len(name) <= 8 else ""
