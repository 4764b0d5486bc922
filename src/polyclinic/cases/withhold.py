"""Takes out of a text what a patient must not say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from polyclinic.language.folding import SENTENCE, Folded, fold_term
from polyclinic.language.language import CHINESE

_CLAUSE = re.compile(r"[，,]|(?<![，,])\s(?=(?:but|and (?:he|she|they|I|has|was|had)|which|because|although)\b)")
_DANGLING = re.compile(r"^(?:which|who|that|with|including|such as|because|as|for|of|due to)\b", re.IGNORECASE)
_JOINT = re.compile(rf"^\s*(?:but|and|so|or|但是?|并且?|而且?|且)(?:\s+|(?<=[{CHINESE}]))", re.IGNORECASE)
_OPEN, _CLOSE = "([（【“", ")]）】”"


def withhold(text: str, terms: Iterable[str]) -> str:
    """Takes out of a text the clauses that hold a term, so that a patient can say the rest.

    Of a sentence with several clauses only those with a term go; where the rest could not stand by itself, or the
    term spans clauses, the whole sentence goes. In what is returned no term is left.
    """
    wanted = tuple(dict.fromkeys(fold_term(term) for term in terms if term.strip()))
    if not _holds(text, wanted):
        return text
    kept = []
    for sentence, end in _sentences(text):
        rest = _without_clauses(sentence, wanted) if _holds(sentence, wanted) else sentence
        if rest.strip():
            kept.append(rest + end)
        elif "\n" in end and kept and not kept[-1].endswith("\n"):
            kept.append("\n")
    result = "".join(kept).strip()
    # A term that spans sentences can only be broken by dropping them all.
    return "" if _holds(result, wanted) else result


def _holds(text: str, wanted: tuple[str, ...]) -> bool:
    folded = Folded(text)
    return any(folded.find(term) >= 0 for term in wanted)


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    begin = 0
    for end in SENTENCE.finditer(text):
        blank = re.compile(r"\s*").match(text, end.end())
        stop = blank.end() if blank else end.end()
        yield text[begin : end.start()], text[end.start() : stop]
        begin = stop
    yield text[begin:], ""


def _without_clauses(sentence: str, wanted: tuple[str, ...]) -> str:
    marks = [mark for mark in _CLAUSE.finditer(sentence) if not _in_brackets(sentence, mark.start())]
    starts = [0, *(mark.start() for mark in marks)]
    clauses = [sentence[a:b] for a, b in zip(starts, [*starts[1:], len(sentence)], strict=True)]
    held = [_holds(clause, wanted) for clause in clauses]
    if not any(held) or all(held):
        return ""
    rest = ""
    for order, clause in enumerate(clauses):
        bare = clause.lstrip("，, ")
        # What only qualifies a clause that goes, goes with it.
        held[order] = held[order] or (order > 0 and held[order - 1] and bool(_DANGLING.match(bare)))
        if not held[order]:
            rest += clause if rest else _JOINT.sub("", bare)
    if held[0] and rest:
        rest = rest[0].upper() + rest[1:]
    return "" if _holds(rest, wanted) else rest


def _in_brackets(text: str, at: int) -> bool:
    before = text[:at]
    return sum(map(before.count, _OPEN)) > sum(map(before.count, _CLOSE))
