"""Whether a doctor's turn orders an examination: read off its words, for the study of how orders are followed."""

from __future__ import annotations

import re

from polyclinic.knowledge.examination_words import EXAMINATION
from polyclinic.knowledge.names import Names
from polyclinic.language.language import Language

_SENTENCE = re.compile(r"(?<=[。；;！!？?\n])|(?<=\.)(?=\s)")
_QUESTION = re.compile(r"[?？]|吗")
_BARE = 60  # A short sentence that is a name and little more ("Chest X-ray.") is an order.
_ORDERS: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:please|(?:would|'d) like|want|needs?|should|must|order\w*|recommend\w*|suggest\w*|advis\w*|arrang\w+"
        r"|schedul\w+|let(?:'s| us| me)|go for|have (?:an?|some)|get (?:an?|some)|i(?:'ll| will)|we(?:'ll| will)"
        r"|can you (?:have|get|do)|could you (?:have|get|do))\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"请|建议|需要|必须|做一?[下个次项]|去做|先做|要做|安排|开一?[个张项]|查一?下|完善|进行|拍一?[个张]|麻烦"
    ),
}
_LOOKS_BACK: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:ha(?:ve|s|d) (?:you|your|it|he|she|they|there) (?:ever |already |recently )?"
        r"(?:had|been|done|got|undergone)"
        r"|did (?:you|they|the)|(?:show(?:s|ed|n)?|reveal(?:s|ed)|confirm(?:s|ed)|suggests|indicat(?:es|ed)|was|were)\b"
        r"|according to|based on)",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"做过|查过|拍过|检查过|有没有做|是否做|显示|提示|表明|根据|结果(?:是|为|如何|怎么样|正常|出来)"),
}


def orders(text: str, language: Language, names: Names) -> bool:
    """Whether a doctor's turn orders an examination by its name."""
    naming = [one for one in _SENTENCE.split(text) if one.strip() and names_examination(one, names)]
    forward = [one for one in naming if not _LOOKS_BACK[language].search(one)]
    return any(_ORDERS[language].search(one) or (len(one) < _BARE and not _QUESTION.search(one)) for one in forward)


def names_examination(text: str, names: Names) -> bool:
    """Whether a text names an examination, or plainly speaks of one."""
    if EXAMINATION.search(text):
        return True
    return any(key.startswith(("examination", "physical")) for named in names.find(text) for key in named.keys)
