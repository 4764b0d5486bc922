"""Words: cutting text into clauses, hearing yes and no."""

from __future__ import annotations

import re

_CLAUSES = {
    "en": re.compile(r"[.,;:!?\n]+|\band\b|\bwith\b|\bor\b", re.IGNORECASE),
    "zh": re.compile(r"[，。；：、！？,.;:!?\s]+|伴有?|以及|并且"),
}

_NO = {
    "en": re.compile(
        r"^\W*(?:no\b|not\b|none\b|never\b|nothing\b|could you\b"
        r"|i (?:do not|don't|have no|haven't|have not|did not|didn't|cannot|can't)\b|.*\bnot had (?:it|that)\b)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"^\W*(?:医生，?)?(?:我家孩子|我|孩子|家里人)?(?:从来|都|也)?(?:没|不|无|记不|说不)"
        r"|^\W*(?:医生，?)?(?:您|你)?(?:能|可以)(?:不能|否)?|^\W*医生，(?:这个|这项)检查我?没"
        r"|^\W*这个没什么|^.*还没有做过"
    ),
}
_YES = {
    "en": re.compile(r"^\W*(?:yes|yeah|yep|indeed|i do\b|i have\b(?! no\b| not\b| never\b)|that's right)", re.I),
    "zh": re.compile(r"^\W*(?:是|有|对|嗯|我有|会|确实)"),
}


def clauses(text: str, language: str) -> list[str]:
    """Returns the clauses of a text that say something, without what divides them."""
    return [c.strip() for c in _CLAUSES[language].split(text) if c and any(ch.isalpha() for ch in c)]


def denies(text: str, language: str) -> bool | None:
    """Returns whether an answer begins as a no (True) or as a yes (False); None where it begins as neither."""
    if _NO[language].match(text):
        return True
    return False if _YES[language].match(text) else None
