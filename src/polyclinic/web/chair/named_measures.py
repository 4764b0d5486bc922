"""What a point of a treatment is at its core, and whether a report names that, and does not deny it.

"Oral rehydration salts after every loose stool and food as tolerated" is named by who writes "oral rehydration salts":
what stands behind "after", "until" or "if" says how, and is not asked for. Words are compared, not what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from polyclinic.language.overlap import pieces

HALF = 0.5
"""From which share of its words on a measure counts as named; of exactly half of them the last must be one."""

_CONDITION_BEFORE = re.compile(
    r"^\s*(?:(?:if|where|when|outside|unless|from|under)\b.*:\s|(?:if|where|when|once|after|before|in case of)\b[^,:]*,"
    r"|[^：]*(?:[时期]|岁[^：]*)：|[如若][^，,：]*[，,：])\s*",
    re.IGNORECASE,
)
_QUALIFIER = re.compile(
    r"\b(?:after|until|till|if|when|where|while|once|before|within|unless|then|every"
    r"|as (?:needed|tolerated|long|soon))\b.*"
    r"|(?:直至|直到|除非|[，,]能|(?<=..)[如若待]).*",
    re.IGNORECASE | re.DOTALL,
)
_PURPOSE = re.compile(r"\b(?:for|against|because)\b.*", re.IGNORECASE | re.DOTALL)
_TIME_BEFORE = re.compile(
    r"^[^，,；、]{0,12}?(?:期间|(?:分钟|小时|天|日|周|月)[内后]|[后时]|(?<=.)前(?!列))(?:内|行|给予|服(?=口服))?"
)
_BETWEEN = re.compile(r"[,;:，；：、]|\band\b|[和及并]", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:!?\n，。；：！？、]|\.(?!\d)|\b(?:but|and|instead)\b|[但改]", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if|when|where|unless)\b", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:avoid\w*|stop\w*|withhold\w*|discontinu\w*|contraindicated|never|quit\w*|cessation|don't|no|not"
    r"|without(?!\s+(?:delay|waiting)))\b"
    r"|不需要?|无需|不必|不用|不要|不给|不应|不宜|不再|禁用|禁止|避免|停用|停止|勿|(?<!禁)忌",
    re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|never|no longer)\s+(?:be\s+)?(?:needed|necessary|indicated|required|given|used|recommended|advised)"
    r"|\bcontraindicated|\bcessation|不需要?|无需(?:使用)?|不必|不用|禁用|停用|暂停)\s*$",
    re.IGNORECASE,
)
_RETURN = re.compile(
    r"\b(?:come back|back at once|seen? again|returns?|review(?:ed)?|follow[- ]?up)\b"
    r"|复诊|复查$|随访|随诊|返院|再来|就诊",
    re.IGNORECASE,
)
_TO_RETURN = re.compile(r"^[^；]*(?:复诊|随访|随诊|返院|就诊)$")  # in Chinese the reasons stand before it
_OF_DENIAL = frozenset({"help"})


def affirmed_and_denied(text: str) -> tuple[str, str]:
    """Returns what a text says is to be done, and what it says is not."""
    affirmed, denied = [], []
    for clause in _CLAUSE.split(text):
        condition = _CONDITION.search(clause)
        # "If not better" denies nothing that is to be done.
        said = clause if condition is None else clause[: condition.start()]
        found = _DENIAL.search(said)
        start = 0 if _DENIED_BEFORE.search(said) else len(clause) if found is None else found.start()
        affirmed.append(clause[:start])
        denied.append(clause[start:])
    return "\n".join(affirmed), "\n".join(denied)


def without_condition(text: str) -> str:
    """Returns a point without what says first for whom it is."""
    return _CONDITION_BEFORE.sub("", text) or text


def without_qualifiers(text: str) -> str:
    """Returns a point without the conditions before it and behind it."""
    bare = without_condition(text)
    bare = _TIME_BEFORE.sub("", bare) or bare
    return _QUALIFIER.sub("", bare).strip(" ,，;；") or text


def names_measure(point: str, given: Sequence[str], whole: str = "") -> bool:
    """Returns whether a report names a point that is no drug: its first measure, or most of all of them.

    To come back is named where a reason or time of the point stands with it, which `whole` holds where the point is
    cut short.
    """
    done, left = affirmed_and_denied("\n".join(given))
    core = without_qualifiers(point)
    bare = _PURPOSE.sub("", core)
    # "Test for chlamydia" is no test for something else.
    measures = [part.strip() for part in _BETWEEN.split(bare if len(_words(bare)) > 1 else core) if _words(part)]
    if not measures:
        return False
    if _RETURN.search(measures[0]) or _TO_RETURN.search(core):
        return any(_names_return(whole or point, line) for line in given)
    to_do, to_leave = affirmed_and_denied(measures[0])
    # Who is to smoke no more has been told so by "stop", "no" and "never" alike.
    left_out = _DENIAL.sub(" ", to_leave)
    if pieces(left_out):
        return says(left_out, left) or (bool(pieces(to_do) - _OF_DENIAL) and says(to_do, done))
    return says(measures[0], done) or says(" ".join(m for m in measures if not _RETURN.search(m)), done)


def says(measure: str, text: str) -> bool:
    """Returns whether most words of a measure stand in a text; of exactly half of them its last."""
    share = _share(measure, text)
    return share > HALF or (share == HALF and bool(_last(measure) & pieces(text)))


def _share(measure: str, text: str) -> float:
    wanted = _words(measure)
    return len(wanted & pieces(text)) / len(wanted) if wanted else 0.0


def _words(text: str) -> frozenset[str]:
    """Returns the pieces of a text without its numbers, which name nothing."""
    return frozenset(piece for piece in pieces(text) if not piece[0].isdigit())


def _last(measure: str) -> frozenset[str]:
    words = measure.split() if measure.isascii() else [measure.rstrip()[-2:]]
    return next((_words(word) for word in reversed(words) if _words(word)), frozenset())


def _names_return(point: str, line: str) -> bool:
    if _RETURN.search(line) is None:
        return False
    wanted = pieces(_RETURN.sub(" ", point, count=1))
    return not wanted or bool(wanted & pieces(_RETURN.sub(" ", line, count=1)))
