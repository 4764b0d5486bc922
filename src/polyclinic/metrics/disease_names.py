"""Reads the names of diseases out of a report's free text, Chinese or English, by rules.

Lines, numbers and bullets, and in Chinese commas, end a name; explanations, negations and sentences are no names. What
joins two diseases in one name ("胆囊结石伴胆囊炎", "pneumonia with effusion") stays together here: whether ICD-10 has
one code for both is only known to who links them.
"""

from __future__ import annotations

import re

from polyclinic.language.language import is_chinese

_LEAD = re.compile(r"^\s*(?:[-*•·>#]+\s*|[（(]?(?:\d{1,2}|[一二三四五六七八九十])[.、．)）:：](?!\d)\s*|[①-⑳]\s*)+")
_EMPHASIS = re.compile(r"\*\*|__|`")
_LABEL = re.compile(
    r"^(?:西医|临床|主要|次要|其他|初步|最终|入院|出院|目前|鉴别)*诊断(?:结果|结论)?(?:为|是|如下)?\s*[:：]"
    r"|^(?:(?:final|primary|secondary|main|working|most likely|clinical)\s+)*diagnos[ei]s\s*[:：]",
    re.IGNORECASE,
)
# A diagnosis of traditional Chinese medicine names a pattern, of which ICD-10 has no code.
_TRADITIONAL = re.compile(r"^中医")
_BRACKET = re.compile(r"[（(\[【][^（()）\[\]【】]*[)）\]】]")
_CHINESE_END = re.compile(r"[,，;；。:：!！]|(?<!\d)、|、(?!\d)|\.(?=\s|$)")
_ENGLISH_END = re.compile(r"[;；]|(?<!\bvs)\.(?=\s|$)|\s[-–—]\s|:(?=\s)")
_CHINESE_PROSE = re.compile(
    "患者|病人|提示|显示|表现|症状|支持|符合|建议|根据|需要|进一步|主诉|查体|检查(?!术)|病史|治疗[中后]?$|治疗方案|^给予|^接受|^已|相同$|^同[上前]"
)
_CHINESE_NEGATION = re.compile("^(?:排除|未见|未发现|否认|除外|无(?![症菌痛痫脑汗尿]))")
_ENGLISH_PROSE = re.compile(
    r"\b(?:patient|because|show(?:s|ed)?|suggests?|present(?:s|ed)|consistent with|based on|supports?|recommend)\b",
    re.IGNORECASE,
)
_ENGLISH_NEGATION = re.compile(r"^(?:no|not|without|negative for|ruled out|excluded?)\b", re.IGNORECASE)
_LONGEST_CHINESE = 40  # characters; what is longer is a sentence
_LONGEST_ENGLISH = 14  # words


def split_names(text: str) -> tuple[str, ...]:
    """Returns the names of diseases in a text, in order, each once.

    Brackets go: they hold stages, abbreviations and reasons. Of "心律失常：心房颤动" both sides are names.

    Args:
        text: the diagnosis section of a report.
    """
    names: dict[str, None] = {}
    for line in text.splitlines():
        begun = _LABEL.sub("", _LEAD.sub("", _EMPHASIS.sub("", line)).strip()).strip()
        if not _TRADITIONAL.match(begun):
            names |= dict.fromkeys(_names_in(begun))
    return tuple(names)


def _names_in(line: str) -> list[str]:
    chinese = is_chinese(line)
    end, prose, negation = (
        (_CHINESE_END, _CHINESE_PROSE, _CHINESE_NEGATION)
        if chinese
        else (_ENGLISH_END, _ENGLISH_PROSE, _ENGLISH_NEGATION)
    )
    clauses = (_LEAD.sub("", part).strip(" .-–—").strip() for part in end.split(_without_brackets(line)))
    return [
        clause
        for clause in clauses
        if len(clause) > 1
        and not prose.search(clause)
        and not negation.match(clause)
        and (len(clause) <= _LONGEST_CHINESE if chinese else len(clause.split()) <= _LONGEST_ENGLISH)
    ]


def _without_brackets(text: str) -> str:
    before = None
    while text != before:
        before, text = text, _BRACKET.sub("", text)
    return text
